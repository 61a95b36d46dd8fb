/** Backups that are made each day, by whichever process looks first, and that go when they are none of those to be kept. */
import type { Logger } from 'pino'
import type { BaseConfig } from '../config/service.ts'
import { type EventLog, janitorRun } from '../events/service.ts'
import type { FileService } from '../files/service.ts'
import type { Db, Tx } from '../platform/postgres/db.ts'
import { createPeriodic, type Periodic } from '../platform/process/periodic.ts'
import { nextTime, type Schedule } from '../platform/values/schedule.ts'
import { keptBackups } from './retention.ts'
import * as store from './store.ts'

export interface BackupScheduleDeps {
  readonly db: Db
  readonly log: Pick<Logger, 'warn' | 'error'>
  readonly events: Pick<EventLog, 'append'>
  /** Begins a backup in the transaction; null while another one is made. */
  readonly beginWithin: (tx: Tx, backup: store.NewBackup) => Promise<object | null>
  readonly storeOf: FileService['storeOf']
  readonly settings: () => BaseConfig['backup_scheduler']
  readonly paused: () => boolean
}

/** Another backup is being made. */
class Busy extends Error {}

const minute = 60_000
const day = 86_400_000
/** Days for which records of backups that have failed are kept. */
const failuresKept = 30

export interface BackupSchedule extends Periodic {
  /** Removes what is not to be kept, without a new backup. */
  keep(): Promise<void>
}

export function createBackupSchedule(deps: BackupScheduleDeps): BackupSchedule {
  const { db, log, events, beginWithin, storeOf, settings, paused } = deps

  /** Begins the backup of the latest moment of the schedule, where none was begun for it: what was missed is made once. */
  async function begin(now: Date): Promise<void> {
    const { hour, timezone, format, include_events } = settings()
    const moment = latestTime({ hours: [hour], timezone }, now)
    if (!moment) return
    const begun = db.transaction(async (tx) => {
      if (!(await store.takeMoment(tx, moment))) return
      const backup = { userId: null, format, includeEvents: include_events, scheduled: true }
      if (!(await beginWithin(tx, backup))) throw new Busy()
    })
    // The moment is not taken then: its turn comes when the other one is made.
    await begun.catch((error: unknown) => {
      if (!(error instanceof Busy)) throw error
    })
  }

  async function keep(now: Date): Promise<void> {
    const { keep_daily: daily, keep_weekly: weekly, keep_monthly: monthly, timezone } = settings()
    const report = janitorRun('backup_expire', 1)
    const removed = await db.transaction(async (tx) => {
      const there = await store.scheduledBackups(tx)
      const done = there.filter(({ status }) => status === 'done')
      const kept = keptBackups(done, { daily, weekly, monthly, timezone })
      const failuresFrom = new Date(now.getTime() - failuresKept * day)
      const gone = there.filter(({ id, status, createdAt }) =>
        status === 'done' ? !kept.has(id) : status === 'error' && createdAt < failuresFrom,
      )
      return gone.length === 0 ? [] : removeAll(tx, gone)
    })
    // Rather an archive that nothing names than a record of one that is gone.
    for (const { id, sha256, locationId } of removed) {
      if (sha256 === null || locationId === null) continue
      await storeOf(locationId)
        .remove(sha256)
        .catch((error: unknown) => log.warn({ err: error, backup: id, sha256 }, 'an archive could not be removed'))
    }

    async function removeAll(tx: Tx, gone: readonly { readonly id: number }[]) {
      const rows = await store.removeBackups(
        tx,
        gone.map(({ id }) => id),
      )
      // Another process may have been quicker.
      if (rows.length === 0) return rows
      const lines = rows.map(({ id, createdAt }) => `backup ${id} of ${createdAt.toISOString()}`)
      await events.append(tx, [report.done(rows.length, lines)])
      return rows
    }
  }

  let keeping: Promise<void> | null = null
  const tell = (error: Error) => log.error({ err: error }, 'backups of the schedule could not be made or removed')
  const periodic = createPeriodic({
    every: minute,
    paused: () => paused() || !settings().active,
    async work(_, at = new Date()) {
      await begin(at)
      await keep(at)
    },
    onFailure: tell,
  })
  return {
    ...periodic,
    keep() {
      if (paused() || !settings().active) return Promise.resolve()
      keeping ??= keep(new Date())
        .catch(tell)
        .finally(() => {
          keeping = null
        })
      return keeping
    },
  }
}

/** The last moment of a daily schedule that is not after `now`; a clock that goes on leaves an hour out at times. */
function latestTime(schedule: Schedule, now: Date): Date | null {
  let latest: Date | null = null
  let next = nextTime(schedule, new Date(now.getTime() - 3 * day))
  while (next && next <= now) {
    latest = next
    next = nextTime(schedule, next)
  }
  return latest
}
