/** Starts scheduled runs when they are due, once among all processes. */
import type { Logger } from 'pino'
import type { EventLog } from '../events/service.ts'
import type { Jobs } from '../jobs/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { Db, Queryable } from '../platform/postgres/db.ts'
import { createPeriodic, type Periodic } from '../platform/process/periodic.ts'
import { nextOfAll } from '../platform/values/schedule.ts'
import { about } from './log.ts'
import { enqueueRuns } from './run/queue.ts'
import { beginRuns } from './runs.ts'
import { findExports, lockDue, setNextRuns, setStates } from './store.ts'

export interface ScheduleDeps {
  readonly db: Db
  readonly jobs: Pick<Jobs, 'enqueueAll'>
  readonly events: EventLog
  readonly log: Logger
  readonly actorsOf: (from: Queryable, ids: readonly number[]) => Promise<ReadonlyMap<number, Actor>>
  /** True: no run is started (`export_scheduler.active`, read-only mode). */
  readonly paused: () => boolean
  readonly clock: () => Date
}

const every = 10_000
/** Exports that are started together. */
const batch = 100

/** Runs missed while the service was down start once. */
export function createSchedules({ db, jobs, events, log, actorsOf, paused, clock }: ScheduleDeps): Periodic {
  async function beginDue(now: Date): Promise<number> {
    return db.transaction(async (tx) => {
      const due = await lockDue(tx, now, batch)
      if (due.length === 0) return 0
      const actors = await actorsOf(tx, [...new Set(due.map(({ userId }) => userId))])
      const known = await findExports(
        tx,
        due.map(({ id }) => id),
      )
      await setNextRuns(
        tx,
        due.map(({ id, userId, schedules }) => ({ id, at: actors.has(userId) ? nextOfAll(schedules, now) : null })),
      )
      const idle = known.filter(({ state }) => state !== 'pending' && state !== 'processing')
      const able = idle.filter(({ userId }) => actors.has(userId))
      const gone = idle.filter(({ userId }) => !actors.has(userId))
      if (gone.length > 0) {
        log.warn({ exports: gone.map(({ id }) => id) }, 'scheduled exports end: their users may not sign in any more')
      }
      await setStates(
        tx,
        gone.map(({ id }) => id),
        'failed',
      )
      const info = { state: 'failed', error: 'The user of the export may not sign in any more.' }
      await events.append(tx, [
        ...gone.map((stored) => ({ ...about(null, stored), type: 'EXPORT_FAILED' as const, info })),
        ...able.map((stored) => ({
          ...about(actors.get(stored.userId) ?? null, stored),
          type: 'OBJECT_UPDATE' as const,
          info: { state: 'pending' },
        })),
      ])
      const begun = await beginRuns(
        tx,
        able.map(({ id }) => id),
      )
      await enqueueRuns(tx, jobs, begun)
      return due.length
    })
  }

  return createPeriodic({
    every,
    paused,
    async work(stopped, at) {
      while (!stopped() && (await beginDue(at ?? clock())) === batch);
    },
    onFailure: (error) => log.error({ err: error }, 'scheduled exports could not begin'),
  })
}
