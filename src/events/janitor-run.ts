import type { NewEvent } from './log.ts'

/** Further data of a janitor's event, such as the `system_object_ids` of purged objects. */
type More = Readonly<Record<string, unknown>>

/** The events of a run of a janitor, or of a batch of it (specification, event types `JANITOR` and `JANITOR_ERROR`). */
export interface JanitorRun {
  /** The event for `count` processed things, with one line of `log` for each, or one line for all of them. */
  done(count: number, log: readonly string[], more?: More): NewEvent
  /** The event for a failure; `count` things were processed before it. */
  failed(error: Error, count: number, log: readonly string[], more?: More): NewEvent
}

/** Starts a run: its duration is measured from here. `now` in milliseconds. */
export function janitorRun(type: string, batchSize: number, now: () => number = Date.now): JanitorRun {
  const begun = now()
  const told = (count: number, log: readonly string[], more: More) => ({
    type,
    run_time: (now() - begun) / 1000,
    batch_size: batchSize,
    count,
    log,
    ...more,
  })
  return {
    done: (count, log, more = {}) => ({ type: 'JANITOR', actor: null, info: told(count, log, more) }),
    failed: (error, count, log, more = {}) => ({
      type: 'JANITOR_ERROR',
      actor: null,
      info: { ...told(count, log, more), error: error.message },
    }),
  }
}
