/** How much longer than a small batch the rest behind it is, and its end in milliseconds. */
const factor = 3
const longest = 300

/**
 * Rests between small batches, so that saves that trickle in gather: to index them one by one costs more than to save
 * them. A search finds them that much later, unless somebody waits for them.
 */
export function createRest() {
  let end: (() => void) | null = null
  return {
    /** Behind a batch that took so many milliseconds. */
    async take(took: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, Math.min(factor * took, longest))
      end = resolve
      await promise
      clearTimeout(timer)
      end = null
    },

    /** Somebody waits for what is in the queue. */
    cut(): void {
      end?.()
    },
  }
}
