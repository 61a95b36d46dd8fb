/**
 * Backups over the interface: the same archive as from the command, in a location. A job writes it beside the data of the process
 * first and then stores it in the location under its hash, so that an incomplete one is never available.
 */
import { join } from 'node:path'
import type { EventLog } from '../events/service.ts'
import type { FileService } from '../files/service.ts'
import { type Jobs, openKeys } from '../jobs/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { Config } from '../platform/config/config.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import { type NeededRight, requireRight } from '../platform/http/system-right.ts'
import type { Db, Queryable, Tx } from '../platform/postgres/db.ts'
import { scrubText } from '../platform/secrets/secrets.ts'
import { assertFormat, type BackupConfig, backupFormats } from './formats.ts'
import { createBackupInspection } from './inspection.ts'
import { fileName, makeBackup, removeContent } from './make.ts'
import type { Backup, BackupOpts } from './schema.ts'
import type { StoredBackup } from './store.ts'
import * as store from './store.ts'

export { createAlarms } from './alarms/service.ts'
export type { BackupContents, ListedBackup } from './backup/listing.ts'
export { assertFormat as assertBackupFormat } from './formats.ts'
export { createBackupSchedule } from './schedule.ts'

export const manageBackups: NeededRight = { name: 'system.backup' }

export interface BackupDeps {
  readonly db: Db
  readonly jobs: Pick<Jobs, 'enqueue' | 'register'>
  readonly events: Pick<EventLog, 'append'>
  readonly config: BackupConfig & Pick<Config, 'readOnly'>
  /** Where backups are stored; null: nowhere. */
  readonly place: FileService['backupPlace']
  readonly storeOf: FileService['storeOf']
  readonly names: (
    from: Queryable,
    ids: readonly number[],
  ) => Promise<ReadonlyMap<number, { readonly displayname: string }>>
  readonly actorsOf: (from: Queryable, ids: readonly number[]) => Promise<ReadonlyMap<number, Actor>>
  /** Sends a notification to administrators. */
  readonly alarm: (subject: string, text: string) => Promise<void>
  readonly alarmWithin: (tx: Tx, subject: string, text: string) => Promise<void>
}

export type BackupService = ReturnType<typeof createBackupService>

const job = 'backup.make'
const maxAttempts = 3
const keyOf = (id: number): string => `${job}:${id}`
const endedEachTime = `The service was ended in each of the ${maxAttempts} attempts.`

export function createBackupService(deps: BackupDeps) {
  const { db, jobs, events, config, place, storeOf, names, actorsOf, alarm, alarmWithin } = deps
  const folder = join(config.dataDir, 'backups')

  jobs.register<{ id: number }>(
    job,
    async ({ id }, { isLastAttempt, signal }) => {
      const backup = await store.findBackup(db, id)
      if (backup?.status !== 'running') return
      const began = Date.now()
      try {
        const stored = await makeBackup({ db, config, folder, place, storeOf, alarm, signal }, backup)
        await end(backup, began, { status: 'done', place: stored })
      } catch (error) {
        const message = scrubText((error as Error).message).slice(0, 1000)
        await store.noteLine(db, id, message)
        if (signal.aborted || !isLastAttempt) throw error
        await fail(backup, began, message)
        throw error
      }
    },
    'backup',
    { attempts: maxAttempts, end: ({ id }) => breakOff(id) },
  )

  /** Ends a backup whose process was ended in each attempt. */
  async function breakOff(id: number): Promise<void> {
    const backup = await store.findBackup(db, id)
    if (backup?.status !== 'running') return
    await store.noteLine(db, id, endedEachTime)
    await fail(backup, backup.createdAt.getTime(), endedEachTime)
  }

  async function fail(backup: StoredBackup, began: number, message: string): Promise<void> {
    await end(backup, began, { status: 'error', place: await leftContent(backup.id) }, message)
  }

  /** Takes away what a failed backup has stored; what cannot be taken away stays named, and goes with the record. */
  async function leftContent(id: number): Promise<store.BackupEnd['place']> {
    const backup = await store.findBackup(db, id)
    if (!backup || backup.locationId === null || backup.sha256 === null) return null
    const { locationId, sha256 } = backup
    return removeContent(storeOf, backup).then(
      () => null,
      () => ({ locationId, sha256, size: null }),
    )
  }

  /** Does nothing when it had already ended. */
  async function end(backup: StoredBackup, began: number, ended: store.BackupEnd, error?: string): Promise<void> {
    await db.transaction(async (tx) => {
      if (!(await store.endBackup(tx, backup.id, ended))) return
      const actor = backup.userId === null ? null : ((await actorsOf(tx, [backup.userId])).get(backup.userId) ?? null)
      const info = {
        Started: new Date(began).toISOString(),
        Elapsed: `${((Date.now() - began) / 1000).toFixed(3)}s`,
        BackupOpts: { format: backup.format, include_events: backup.includeEvents, id: backup.id },
        ...(error === undefined ? {} : { Error: error }),
      }
      const type = ended.status === 'done' ? 'BACKUP_DONE' : 'BACKUP_FAILED'
      await events.append(tx, [{ type, actor, basetype: 'backup', objectId: backup.id, info }])
      if (error === undefined) return
      await alarmWithin(tx, 'A backup has failed', `Backup ${backup.id} has failed: ${error}`)
    })
  }

  async function render(backups: readonly StoredBackup[]): Promise<Backup[]> {
    const users = await names(db, [...new Set(backups.flatMap(({ userId }) => userId ?? []))])
    return backups.map((backup) => ({
      id: backup.id,
      created_at: backup.createdAt.toISOString(),
      ...(backup.finishedAt && { finished_at: backup.finishedAt.toISOString() }),
      ...(backup.userId !== null && {
        create_user: {
          _basetype: 'user' as const,
          user: { _id: backup.userId, _generated_displayname: users.get(backup.userId)?.displayname ?? '' },
        },
      }),
      status: backup.status,
      ...(backup.size !== null && { stats: statsOf(backup, backup.size) }),
      opts: { format: backup.format, include_events: backup.includeEvents },
      log: backup.log.map(({ at, msg }) => ({ created_at: new Date(at).toISOString(), msg })),
    }))
  }

  /** @throws {AppError} `BackupNotFound` */
  async function find(id: number): Promise<StoredBackup> {
    const backup = await store.findBackup(db, id)
    if (backup) return backup
    throw new AppError('BackupNotFound', { id })
  }

  /** Begins a backup in the transaction; null while another one is in progress. */
  async function beginWithin(tx: Tx, backup: store.NewBackup): Promise<StoredBackup | null> {
    const begun = await store.insertBackup(tx, backup)
    if (begun) await jobs.enqueue(tx, job, { id: begun.id }, { key: keyOf(begun.id), maxAttempts })
    return begun
  }

  return {
    beginWithin,

    /**
     * Begins a backup. @throws {AppError} `FormatNotSupported`; `ServerGeneric` without a location, or while another one is in
     * progress.
     */
    async begin(actor: Actor, { format, include_events: includeEvents = true }: BackupOpts): Promise<Backup> {
      requireRight(actor, manageBackups)
      await assertFormat(db, config, format)
      if (!place()) {
        const name = 'location_defaults.backups'
        throw badRequest(`${name} of the base configuration must name a location that can be written to.`, { name })
      }
      const backup = await db.transaction(async (tx) => {
        const begun = await beginWithin(tx, { userId: actor.userId, format, includeEvents, scheduled: false })
        if (!begun) throw badRequest('A backup is being made already.', { name: 'format' })
        return begun
      })
      return (await render([backup]))[0] as Backup
    },

    /** Ends backups that say that they are being made but whose job was lost or has ended. To be called once, with the jobs ready. */
    async wake(): Promise<void> {
      const running = (await store.listHeads(db)).filter(({ status }) => status === 'running')
      const open = await openKeys(
        db,
        running.map(({ id }) => keyOf(id)),
      )
      for (const { id } of running.filter((backup) => !open.has(keyOf(backup.id)))) await breakOff(id)
    },

    /** For the console, which checks `system.root` itself. */
    inspection: createBackupInspection({ db, folder, storeOf }),

    /** Newest first. */
    async list(actor: Actor): Promise<Backup[]> {
      requireRight(actor, manageBackups)
      return render(await store.listBackups(db))
    },

    /** @throws {AppError} `BackupNotFound` */
    async read(actor: Actor, id: number): Promise<Backup> {
      requireRight(actor, manageBackups)
      return (await render([await find(id)]))[0] as Backup
    },

    /** Removes a backup with its archive. @throws {AppError} `BackupNotFound`, `DeleteNotSupported` while it is in progress. */
    async remove(actor: Actor, id: number): Promise<void> {
      requireRight(actor, manageBackups)
      const backup = await find(id)
      if (backup.status === 'running') throw new AppError('DeleteNotSupported', { id })
      // An archive without a record is better than a record without an archive.
      const removed = await db.transaction((tx) => store.removeBackup(tx, id))
      if (removed?.sha256 && removed.locationId !== null) await storeOf(removed.locationId).remove(removed.sha256)
    },

    /** The archive. @throws {AppError} `BackupNotFound`, also while it does not exist yet */
    async archive(actor: Actor, id: number) {
      requireRight(actor, manageBackups)
      const backup = await find(id)
      const { sha256, size, locationId, finishedAt } = backup
      if (sha256 === null || size === null || locationId === null) throw new AppError('BackupNotFound', { id })
      const there = storeOf(locationId)
      if ((await there.size(sha256)) !== size)
        throw new AppError('BackupNotFound', { id }, { message: 'The archive is gone.' })
      return { sha256, size, store: there, createdAt: finishedAt ?? backup.createdAt, fileName: fileName(backup) }
    },
  }
}

function statsOf(backup: StoredBackup, filesize: number): NonNullable<Backup['stats']> {
  const mimetype = backupFormats[backup.format]?.mimetype ?? 'application/octet-stream'
  return { filesize, mimetype, filename: fileName(backup) }
}
