/** A notification within this process: the sender does not know the listeners, so that an early component can notify later ones. */
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
