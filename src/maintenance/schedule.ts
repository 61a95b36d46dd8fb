/** Daily backups, made by the process that checks first, and deleted when the retention no longer keeps them. */
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
  /** Begins a backup in the transaction; null while another one is in progress. */
  readonly beginWithin: (tx: Tx, backup: store.NewBackup) => Promise<object | null>
  readonly storeOf: FileService['storeOf']
  readonly settings: () => BaseConfig['backup_scheduler']
  readonly paused: () => boolean
}

/** Another backup is in progress. */
class Busy extends Error {}

const minute = 60_000
const day = 86_400_000
/** Days for which records of failed backups are kept. */
const failuresKept = 30

export interface BackupSchedule extends Periodic {
  /** Removes backups that are no longer to be kept, without a new backup. */
  keep(): Promise<void>
}

export function createBackupSchedule(deps: BackupScheduleDeps): BackupSchedule {
  const { db, log, events, beginWithin, storeOf, settings, paused } = deps

  /** Begins the backup for the latest time of the schedule, if none was begun for it: several missed times lead to one backup. */
  async function begin(now: Date): Promise<void> {
    const { hour, timezone, format, include_events } = settings()
    const moment = latestTime({ hours: [hour], timezone }, now)
    if (!moment) return
    const begun = db.transaction(async (tx) => {
      if (!(await store.takeMoment(tx, moment))) return
      const backup = { userId: null, format, includeEvents: include_events, scheduled: true }
      if (!(await beginWithin(tx, backup))) throw new Busy()
    })
    // The time is not marked as done then: the next attempt follows when the other backup is finished.
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
    // An archive without a record is better than a record without an archive.
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

/** The last time of a daily schedule that is not after `now`; a change of the clock sometimes skips an hour. */
function latestTime(schedule: Schedule, now: Date): Date | null {
  let latest: Date | null = null
  let next = nextTime(schedule, new Date(now.getTime() - 3 * day))
  while (next && next <= now) {
    latest = next
    next = nextTime(schedule, next)
  }
  return latest
}
