import { AppError } from '../platform/errors.ts'

export interface Limiter {
  /**
   * Runs `work` when one of the places is free. Those who wait take turns by `share`, and within one in the order of calls:
   * who asks for much waits for themselves.
   * @throws {AppError} `TooManyAttempts` at once when too many of this share are waiting already, `ServiceUnavailable` when
   * too many of all are.
   */
  run<T>(work: () => Promise<T>, share?: string): Promise<T>
}

export interface LimiterSizes {
  places: number
  maxWaiting: number
  /** Of one share; as many as of all where nothing is said. */
  maxWaitingOfShare?: number
}

/** Seconds after which the place of somebody who was sent away may be free. */
const comeBackAfter = 1

/** At most `places` works at a time and `maxWaiting` that wait: bounds the memory of expensive work. */
export function createLimiter({ places, maxWaiting, maxWaitingOfShare = maxWaiting }: LimiterSizes): Limiter {
  /** In the order of their turns. */
  const shares = new Map<string, (() => void)[]>()
  let waiting = 0
  let free = places

  function leave(): void {
    const [next] = shares
    if (!next) {
      free++
      return
    }
    const [share, queue] = next
    const start = queue.shift()
    shares.delete(share)
    if (queue.length > 0) shares.set(share, queue)
    waiting--
    start?.()
  }

  function wait(share: string): Promise<void> {
    const queue = shares.get(share) ?? []
    if (queue.length >= maxWaitingOfShare) throw new AppError('TooManyAttempts', { retry_after: comeBackAfter })
    if (waiting >= maxWaiting) throw new AppError('ServiceUnavailable')
    shares.set(share, queue)
    waiting++
    return new Promise((resolve) => queue.push(resolve))
  }

  return {
    async run(work, share = '') {
      if (free > 0) free--
      else await wait(share)
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}
