/**
 * Archives of short entries hardly ever wait for anything, and several of them would fill each turn of the event loop. So one of them
 * works at a time, for a moment, and all other requests get their turn in between.
 */

/** Milliseconds of a turn. */
const longest = 2

export interface Turn {
  /** Whether the turn is over. */
  over(): boolean
  /** Resolves when the next one begins. */
  next(): Promise<void>
}

/** @param now milliseconds of a clock that does not go back */
export function createTurns(now: () => number): () => Turn {
  const waiting: (() => void)[] = []

  function wake(): void {
    waiting.shift()?.()
    if (waiting.length > 0) setImmediate(wake)
  }

  return () => {
    let since = now()
    return {
      over: () => now() - since >= longest,
      async next() {
        const { promise, resolve } = Promise.withResolvers<void>()
        waiting.push(resolve)
        if (waiting.length === 1) setImmediate(wake)
        await promise
        since = now()
      },
    }
  }
}
