import { outsideDeadlines } from '../limits/deadline.ts'

/**
 * Work that repeats after an interval, beside the requests: one run at a time in a process, the last one awaited when the process
 * ends. Processes on the same database are not coordinated here: work for only one of them takes a lock.
 */
export interface Periodic {
  /** Runs at once, as at that time (default: now). A call during a run waits for that run. */
  run(at?: Date): Promise<void>
  /** No more runs; resolves when the current one has ended. */
  close(): Promise<void>
}

export interface PeriodicOptions {
  /** Milliseconds from one run to the next. */
  readonly every: number
  /** While true, runs are skipped. */
  readonly paused: () => boolean
  /** Long work checks now and then whether it should stop. `at`: the time that it should use as now, if given. */
  readonly work: (stopped: () => boolean, at?: Date) => Promise<void>
  /** Most runs have no caller: a failure is reported here, and the next run tries again. */
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
