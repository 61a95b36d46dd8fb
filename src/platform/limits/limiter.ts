import { AppError } from '../errors.ts'
import { createShares } from './shares.ts'

export interface Limiter {
  /**
   * Runs `work` when one of the places is free. Those who wait take turns by `share`, and within one in the order of calls:
   * who asks for much waits for themselves.
   * @throws {AppError} `TooManyAttempts` when too many of this share are waiting already, or when this is the last one of the
   * share that has most waiting and another one needs the place; `ServiceUnavailable` when as many shares wait as may.
   */
  run<T>(work: () => Promise<T>, share?: string): Promise<T>
}

export interface LimiterSizes {
  concurrency: number
  maxWaiting: number
  /** Of one share; as many as of all where nothing is said. */
  maxWaitingOfShare?: number
}

/** Seconds after which the place of somebody who was sent away may be free. */
const comeBackAfter = 1

/** At most `concurrency` works at a time and `maxWaiting` that wait: bounds the memory of expensive work. */
export function createLimiter({ concurrency, maxWaiting, maxWaitingOfShare = maxWaiting }: LimiterSizes): Limiter {
  const full = () => new AppError('ServiceUnavailable')
  const line = { most: maxWaiting, mostOfOne: maxWaitingOfShare, full, taken: sentAway, displaced: sentAway }
  const shares = createShares(concurrency, line, 0)
  return { run: (work, share = '') => shares.run(share, work) }
}

function sentAway(): AppError {
  return new AppError('TooManyAttempts', { retry_after: comeBackAfter })
}
