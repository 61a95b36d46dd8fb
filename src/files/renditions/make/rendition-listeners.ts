/** Notifies listeners when this process has finished renditions of a file. */
export function createRenditionListeners() {
  const waiting = new Map<number, Set<() => void>>()

  return {
    tell(fileId: number): void {
      for (const told of waiting.get(fileId) ?? []) told()
    },

    /** Calls `told` whenever renditions of the file have changed, until the returned function is called. */
    listen(fileId: number, told: () => void): () => void {
      const ofFile = waiting.get(fileId) ?? new Set()
      waiting.set(fileId, ofFile.add(told))
      return () => {
        ofFile.delete(told)
        if (ofFile.size === 0 && waiting.get(fileId) === ofFile) waiting.delete(fileId)
      }
    },
  }
}

export type RenditionListeners = ReturnType<typeof createRenditionListeners>
