/** Removes results of runs that no export refers to any more, and old downloads. */
import type { Logger } from 'pino'
import type { EventLog } from '../events/service.ts'
import type { Jobs } from '../jobs/service.ts'
import type { Db } from '../platform/postgres/db.ts'
import { createPeriodic, type Periodic } from '../platform/process/periodic.ts'
import { about } from './log.ts'
import { givenUp, removePart } from './runs.ts'
import { removeExpired } from './store.ts'

export interface CleanDeps {
  readonly db: Db
  readonly jobs: Pick<Jobs, 'register'>
  readonly events: EventLog
  readonly log: Logger
  /** Days after which downloads are removed; 0: never. */
  readonly expireDays: () => number
  readonly paused: () => boolean
  readonly clock: () => Date
}

const hour = 3_600_000
const batch = 100
/** Rows that are deleted with one statement. */
const rows = 5000

export function createCleaning({ db, jobs, events, log, expireDays, paused, clock }: CleanDeps): Periodic {
  jobs.register('exports.clean', () => clean(() => false), 'standard')

  async function clean(stopped: () => boolean): Promise<void> {
    for (;;) {
      const ids = await givenUp(db, batch)
      for (const id of ids) {
        while (!stopped() && (await db.transaction((tx) => removePart(tx, id, rows))));
      }
      if (ids.length < batch || stopped()) return
    }
  }

  return createPeriodic({
    every: hour,
    paused,
    async work(stopped, at) {
      const days = expireDays()
      const before = new Date((at ?? clock()).getTime() - days * 24 * hour)
      if (days > 0) {
        for (let gone = batch; gone === batch && !stopped(); ) {
          gone = await db.transaction(async (tx) => {
            const removed = await removeExpired(tx, before, batch)
            await events.append(
              tx,
              removed.map((one) => ({
                ...about(null, one),
                type: 'OBJECT_DELETE' as const,
                info: { state: one.state },
              })),
            )
            return removed.length
          })
        }
      }
      await clean(stopped)
    },
    onFailure: (error) => log.error({ err: error }, 'results of exports could not be removed'),
  })
}
