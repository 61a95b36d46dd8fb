import { AppError } from './errors.ts'
import type { Lifetime } from './lifetime.ts'

export interface PlacesOptions {
  /** How many work at the same time. */
  readonly places: number
  /** How many may wait; whoever comes then is refused. */
  readonly waiting?: number
  /** Milliseconds that somebody waits before being refused. */
  readonly patience?: number
}

export interface Places {
  /**
   * Does the work when a place is free.
   * @throws {AppError} `TooManyHeavyRequests` when too many wait already, or none became free in time.
   */
  run<T>(lifetime: Lifetime, work: () => Promise<T>): Promise<T>
  readonly taken: number
  readonly waiting: number
}

/** A small number of places for heavy requests, so that small ones always find processor and connections. */
export function createPlaces({ places, waiting: most = 100, patience = 30_000 }: PlacesOptions): Places {
  let taken = 0
  /** In the order of their arrival; each is told that it has the place of one that has left. */
  const queue = new Set<() => void>()

  function wait(lifetime: Lifetime): Promise<void> {
    if (queue.size >= most) throw busy()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = (): boolean => {
      clearTimeout(timer)
      forget()
      return queue.delete(enter)
    }
    const enter = (): void => {
      leave()
      resolve()
    }
    const timer = setTimeout(() => leave() && reject(busy()), patience)
    const forget = lifetime.onOver(() => leave() && reject(lifetime.over ?? busy()))
    queue.add(enter)
    return promise
  }

  return {
    async run(lifetime, work) {
      lifetime.check()
      if (taken < places) taken++
      else await wait(lifetime)
      try {
        return await work()
      } finally {
        const [next] = queue
        if (next) next()
        else taken--
      }
    },
    get taken() {
      return taken
    },
    get waiting() {
      return queue.size
    },
  }
}

function busy(): AppError {
  return new AppError('TooManyHeavyRequests', { retry_after: 5 })
}
