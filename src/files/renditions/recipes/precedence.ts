import { setTimeout as sleep } from 'node:timers/promises'

export interface PrecedenceOptions {
  /** Milliseconds without urgent work until other work continues: usually the next upload follows at once. */
  readonly pause?: number
  /** The same after urgent work was announced. */
  readonly arrival?: number
  /** Most milliseconds that other work waits. */
  readonly longest?: number
}

export type Precedence = ReturnType<typeof createPrecedence>

/** Runs urgent work first: other work waits for it, though not for ever. */
export function createPrecedence({ pause = 50, arrival = 4 * pause, longest = 10_000 }: PrecedenceOptions = {}) {
  let urgent = 0
  /** The time from which other work may continue. */
  let quietFrom = Number.NEGATIVE_INFINITY

  function waitFor(time: number): void {
    quietFrom = Math.max(quietFrom, performance.now() + time)
  }

  return {
    /** To be called when urgent work is about to come: other work waits until it should have begun. */
    expect: (): void => waitFor(arrival),

    /** Runs urgent work. */
    async ahead<T>(work: () => Promise<T>): Promise<T> {
      urgent++
      try {
        return await work()
      } finally {
        urgent--
        waitFor(pause)
      }
    },

    /** Resolves when other work may run; `most`: milliseconds that it waits at most. */
    async turn(signal: AbortSignal, most: number = longest): Promise<void> {
      const deadline = performance.now() + most
      while (!signal.aborted) {
        const now = performance.now()
        const wait = urgent > 0 ? pause : quietFrom - now
        if (wait <= 0 || now >= deadline) return
        await sleep(Math.min(wait, Math.max(1, deadline - now)), undefined, { signal }).catch(() => {})
      }
    },
  }
}
