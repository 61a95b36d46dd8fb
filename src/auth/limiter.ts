import { AppError } from '../platform/errors.ts'

export interface Limiter {
  /**
   * Runs `work` when one of the places is free, in the order of calls.
   * @throws {AppError} `ServiceUnavailable` at once when too many are waiting already.
   */
  run<T>(work: () => Promise<T>): Promise<T>
}

/** At most `places` works at a time and `maxWaiting` that wait: bounds the memory of expensive work. */
export function createLimiter({ places, maxWaiting }: { places: number; maxWaiting: number }): Limiter {
  const waiting: (() => void)[] = []
  let free = places
  const leave = (): void => {
    const next = waiting.shift()
    if (next) next()
    else free++
  }
  return {
    async run(work) {
      if (free > 0) free--
      else if (waiting.length >= maxWaiting) throw new AppError('ServiceUnavailable')
      else await new Promise<void>((resolve) => waiting.push(resolve))
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}
