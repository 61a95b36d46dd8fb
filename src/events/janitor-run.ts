import type { NewEvent } from './log.ts'

/** What a janitor tells besides, such as the `system_object_ids` of what it purged. */
type More = Readonly<Record<string, unknown>>

/** The events of a run of a janitor, or of a batch of it (specification, event types `JANITOR` and `JANITOR_ERROR`). */
export interface JanitorRun {
  /** `count` things are done, one line of `log` for each, or for what they have in common. */
  done(count: number, log: readonly string[], more?: More): NewEvent
  /** `count` things were done before. */
  failed(error: Error, count: number, log: readonly string[], more?: More): NewEvent
}

/** Begins a run: what it took is counted from here. `now` in milliseconds. */
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
