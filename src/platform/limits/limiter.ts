import { AppError } from '../errors.ts'
import { createShares } from './shares.ts'

export interface Limiter {
  /**
   * Runs `work` when one of the places is free. Waiting works take turns by `share`, and within a share in the order of calls: a
   * share with many requests only delays itself.
   * @throws {AppError} `TooManyAttempts` when too many of this share are waiting already, or when this is the last one of the share
   * with most waiting and another share needs the place; `ServiceUnavailable` when the maximum number of shares is waiting.
   */
  run<T>(work: () => Promise<T>, share?: string): Promise<T>
}

export interface LimiterSizes {
  concurrency: number
  maxWaiting: number
  /** Limit for one share; the default is the limit of all. */
  maxWaitingOfShare?: number
}

/** Seconds after which a refused caller may find a place. */
const comeBackAfter = 1

/** At most `concurrency` works at a time, and at most `maxWaiting` that wait: limits the memory of expensive work. */
export function createLimiter({ concurrency, maxWaiting, maxWaitingOfShare = maxWaiting }: LimiterSizes): Limiter {
  const full = () => new AppError('ServiceUnavailable')
  const line = { most: maxWaiting, mostOfOne: maxWaitingOfShare, full, taken: sentAway, displaced: sentAway }
  const shares = createShares(concurrency, line, 0)
  return { run: (work, share = '') => shares.run(share, work) }
}

function sentAway(): AppError {
  return new AppError('TooManyAttempts', { retry_after: comeBackAfter })
}
