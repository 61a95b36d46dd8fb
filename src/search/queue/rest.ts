/** The length of a rest as a multiple of the batch before it, and its maximum in milliseconds. */
const factor = 3
const longest = 300

/**
 * Rests between small batches, so that a slow flow of saves is gathered: to index them one by one costs more than to save them. A
 * search finds them that much later, unless a request waits for them.
 */
export function createRest() {
  let end: (() => void) | null = null
  return {
    /** Rests after a batch that took this number of milliseconds. */
    async take(took: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, Math.min(factor * took, longest))
      end = resolve
      await promise
      clearTimeout(timer)
      end = null
    },

    /** Ends the rest, because a request waits for an entry in the queue. */
    cut(): void {
      end?.()
    },
  }
}
