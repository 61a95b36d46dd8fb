import { setTimeout as sleep } from 'node:timers/promises'

export interface PrecedenceOptions {
  /** Milliseconds without urgent work until other work continues: usually the next upload follows at once. */
  readonly pause?: number
  /** Most milliseconds that other work waits. */
  readonly longest?: number
}

export type Precedence = ReturnType<typeof createPrecedence>

/** Runs urgent work first: other work waits for it, though not for ever. */
export function createPrecedence({ pause = 50, longest = 10_000 }: PrecedenceOptions = {}) {
  let urgent = 0
  /** When urgent work was last seen. */
  let last = Number.NEGATIVE_INFINITY

  return {
    /** To be called when urgent work is about to come: other work waits for the pause before it continues. */
    expect(): void {
      last = performance.now()
    },

    /** Runs urgent work. */
    async ahead<T>(work: () => Promise<T>): Promise<T> {
      urgent++
      try {
        return await work()
      } finally {
        urgent--
        last = performance.now()
      }
    },

    /** Resolves when other work may run; `most`: milliseconds that it waits at most. */
    async turn(signal: AbortSignal, most: number = longest): Promise<void> {
      const deadline = performance.now() + most
      while (!signal.aborted) {
        const now = performance.now()
        const wait = urgent > 0 ? pause : last + pause - now
        if (wait <= 0 || now >= deadline) return
        await sleep(Math.min(wait, Math.max(1, deadline - now)), undefined, { signal }).catch(() => {})
      }
    },
  }
}
