import { AppError } from '../errors.ts'

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
  places: number
  maxWaiting: number
  /** Of one share; as many as of all where nothing is said. */
  maxWaitingOfShare?: number
}

/** Seconds after which the place of somebody who was sent away may be free. */
const comeBackAfter = 1

interface Waiting {
  readonly start: () => void
  readonly sendAway: (reason: AppError) => void
}

/** At most `places` works at a time and `maxWaiting` that wait: bounds the memory of expensive work. */
export function createLimiter({ places, maxWaiting, maxWaitingOfShare = maxWaiting }: LimiterSizes): Limiter {
  /** In the order of their turns. */
  const shares = new Map<string, Waiting[]>()
  let waiting = 0
  let free = places

  function leave(): void {
    const [next] = shares
    if (!next) {
      free++
      return
    }
    const [share, queue] = next
    const first = queue.shift()
    shares.delete(share)
    if (queue.length > 0) shares.set(share, queue)
    waiting--
    first?.start()
  }

  /** Whoever has most waiting gives a place to somebody who has fewer. @throws {AppError} where nobody has more. */
  function makeRoom(own: number): void {
    let longest: Waiting[] = []
    for (const queue of shares.values()) if (queue.length > longest.length) longest = queue
    if (longest.length <= own + 1) throw new AppError('ServiceUnavailable')
    waiting--
    longest.pop()?.sendAway(sentAway())
  }

  function wait(share: string): Promise<void> {
    const queue = shares.get(share) ?? []
    if (queue.length >= maxWaitingOfShare) throw sentAway()
    if (waiting >= maxWaiting) makeRoom(queue.length)
    shares.set(share, queue)
    waiting++
    return new Promise((start, sendAway) => queue.push({ start, sendAway }))
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

function sentAway(): AppError {
  return new AppError('TooManyAttempts', { retry_after: comeBackAfter })
}
