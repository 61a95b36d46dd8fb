import { outsideDeadlines } from '../limits/deadline.ts'

/**
 * Work that comes again after a while, beside the requests: one run at a time in a process, the last one awaited when the
 * process ends. Processes on the same database know nothing of each other here: work that one is to do takes a lock.
 */
export interface Periodic {
  /** At once, as at that time (now, where none is said). Whoever comes while it runs waits for that run. */
  run(at?: Date): Promise<void>
  /** No more runs; resolves when the one that there is has ended. */
  close(): Promise<void>
}

export interface PeriodicOptions {
  /** Milliseconds from one run to the next. */
  readonly every: number
  /** Runs are left out meanwhile. */
  readonly paused: () => boolean
  /** A long one asks now and then whether it is to end. `at`: the time that it is to take it to be, where that is said. */
  readonly work: (stopped: () => boolean, at?: Date) => Promise<void>
  /** Nobody waits for most runs: a failure ends here, and the next run tries again. */
  readonly onFailure: (error: Error) => void | Promise<void>
}

export function createPeriodic({ every, paused, work, onFailure }: PeriodicOptions): Periodic {
  let running: Promise<void> | null = null
  let stopped = false

  function run(at?: Date): Promise<void> {
    if (stopped || paused()) return Promise.resolve()
    running ??= outsideDeadlines(() => work(() => stopped, at))
      .catch(onFailure)
      .finally(() => {
        running = null
      })
    return running
  }

  const timer = setInterval(() => void run(), every).unref()
  return {
    run,
    async close() {
      stopped = true
      clearInterval(timer)
      await running
    },
  }
}
