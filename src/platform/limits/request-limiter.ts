import { AppError } from '../errors.ts'
import type { Deadline } from './deadline.ts'
import { createShares } from './shares.ts'

export interface RequestLimiterOptions {
  /** Number of requests that work at the same time; one more for a caller without any. */
  readonly concurrency: number
  /**
   * Maximum number of waiting requests. When it is reached, the new one is refused, or the last one of the caller with most
   * waiting.
   */
  readonly waiting?: number
  /** Maximum number of waiting requests of one caller. */
  readonly waitingOfCaller?: number
  /** Milliseconds that a request waits before it is refused. */
  readonly patience?: number
}

export interface RequestLimiter {
  /**
   * Does the work when a place is free: callers take turns.
   * @throws {AppError} `TooManyHeavyRequests` when too many wait already, or none became free in time.
   */
  run<T>(deadline: Deadline, work: () => Promise<T>): Promise<T>
  readonly taken: number
  readonly waiting: number
}

/** Limits how many heavy requests run at a time, so that small ones always find processor and connections. */
export function createRequestLimiter({
  concurrency,
  waiting: most = 100,
  waitingOfCaller = most,
  patience = 30_000,
}: RequestLimiterOptions): RequestLimiter {
  const ofOne = { quota: 'svc.quotas.heavyRequests', most: waitingOfCaller }
  const shares = createShares(concurrency, { most, mostOfOne: waitingOfCaller, full: busy, taken: () => busy(ofOne) })

  return {
    async run(deadline, work) {
      deadline.check()
      const stop = new AbortController()
      const forget = deadline.onOver(() => stop.abort(deadline.over ?? busy()))
      const timer = setTimeout(() => stop.abort(busy()), patience)
      const begin = (): Promise<unknown> => {
        clearTimeout(timer)
        forget()
        return work()
      }
      try {
        return (await shares.run(deadline.who, begin, stop.signal)) as Awaited<ReturnType<typeof work>>
      } finally {
        clearTimeout(timer)
        forget()
      }
    },
    get taken() {
      return shares.running
    },
    get waiting() {
      return shares.waiting
    },
  }
}

function busy(parameters: Record<string, unknown> = {}): AppError {
  return new AppError('TooManyHeavyRequests', { ...parameters, retry_after: 5 })
}
