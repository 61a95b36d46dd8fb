/**
 * Something happened in this process that others may want to know: who tells does not know who listens, so that what is
 * made early can tell what is made later.
 */
export interface Signal {
  raise(): void
  /** Calls `listener` each time, until the returned function is called. */
  listen(listener: () => void): () => void
}

export function createSignal(): Signal {
  const listeners = new Set<() => void>()
  return {
    raise() {
      for (const listener of listeners) listener()
    },
    listen(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
