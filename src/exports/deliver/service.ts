/** Downloads of results of runs, with the rights that the user of the export has at that time (decision 70). */
import type { EventLog, NewEvent } from '../../events/service.ts'
import type { Delivery } from '../../files/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { outsideDeadlines } from '../../platform/limits/deadline.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { version } from '../../platform/version.ts'
import { countFiles, findFile, folderEntries, objectsIn } from '../files.ts'
import { about } from '../log.ts'
import { type ExportFile, isDone, type StoredExport } from '../model.ts'
import * as runs from '../runs.ts'
import { findExports } from '../store.ts'
import type { ArchiveEntry } from './archive.ts'
import { createEntries, type EntryDeps } from './entries.ts'
import type { FolderEntries } from './index-page.ts'
import type { Fetched } from './model.ts'
import type { PackageKind } from './packages/model.ts'
import { packaged } from './packages/packages.ts'
import { type Taken, toldExport, toldFiles } from './told.ts'

export interface DeliverDeps extends EntryDeps {
  readonly events: EventLog
  readonly actorOf: (from: Queryable, userId: number) => Promise<Actor | null>
  readonly externalUrl: string
}

export type Deliveries = ReturnType<typeof createDeliveries>

/** Events that are written with one statement. */
const eventsAtATime = 1000

export function createDeliveries(deps: DeliverDeps) {
  const { db, events } = deps
  const { open, entriesOf } = createEntries(deps)
  /** Events that are not written yet. */
  const logging = new Set<Promise<unknown>>()

  /** @throws {AppError} `FileNotDone` while there is no result, `InsufficientRights` where its user is no longer active */
  async function fetched(stored: StoredExport, caller: Actor | null): Promise<Fetched> {
    const { runId } = stored
    if (runId === null || !(isDone(stored.state) || (caller && (await isWithPlugins(stored, runId))))) {
      throw new AppError('FileNotDone', { _id: stored.id, state: stored.state })
    }
    const owner = await deps.actorOf(db, stored.userId)
    if (!owner) throw new AppError('InsufficientRights', { resource: 'export', _id: stored.id })
    return { stored, runId, owner, caller }
  }

  /**
   * Whether all files are made, and plugins and transports work with them: these fetch files with the token of the
   * export's user.
   */
  async function isWithPlugins({ state }: StoredExport, runId: number): Promise<boolean> {
    if (state !== 'processing') return false
    const [run] = await runs.findRuns(db, [runId])
    return run?.step === 'plugin' || run?.step === 'transport'
  }

  /** The uuid of a transport gives the same access as the token of the export's user. @throws {AppError} */
  async function byUuid(id: number, uuid: string): Promise<Fetched> {
    const [stored] = await findExports(db, [id])
    if (!stored?.transports.some((transport) => transport.uuid === uuid)) {
      throw new AppError('InsufficientRights', { resource: 'export', _id: id })
    }
    return fetched(stored, null)
  }

  /** The same as a package; in an archive, below the folder. */
  function packageOf(
    from: Fetched,
    { kind, part = '', folder }: { readonly kind: PackageKind; readonly part?: string; readonly folder: string | null },
    signal: AbortSignal,
  ): AsyncGenerator<ArchiveEntry> {
    const { stored, runId, owner } = from
    const about = {
      id: `${deps.externalUrl}/api/v1/export/${stored.id}/file/${part === '' ? '' : `${encodeURI(part)}/`}#run-${runId}`,
      name: stored.name,
      created: stored.lastRunAt ?? stored.updatedAt,
      agent: `Strongroom ${version}`,
      user: owner.displayname || owner.login || `${owner.userId}`,
      userAddress: `${deps.externalUrl}/api/v1/user/${owner.userId}`,
    }
    return packaged(kind, about, entriesOf(from, part, signal), folder)
  }

  function log(work: () => Promise<unknown>): void {
    const written = outsideDeadlines(work).catch(() => {})
    logging.add(written)
    written.finally(() => logging.delete(written))
  }

  const addressOf = ({ stored }: Fetched, what: string): string =>
    `${deps.externalUrl}/api/v1/export/${stored.id}/${what}`

  /** Logs a download, and which objects it contained. */
  function logDownload(
    from: Fetched,
    { what, bytes, taken }: { readonly what: string; readonly bytes: number; readonly taken: Taken },
  ): void {
    const { stored, caller, owner, runId } = from
    const url = addressOf(from, what)
    const who = caller ?? { ...owner, remoteAddr: '' }
    const info = {
      export_type: stored.type,
      export_id: stored.id,
      export_user_id: stored.userId,
      export_producer: what.split('/')[0],
      export_has_schedules: stored.schedules.length > 0,
      url,
    }
    const eventOf = (systemObjectId: number): NewEvent => ({
      type: 'OBJECT_DOWNLOAD',
      actor: who,
      systemObjectId,
      info,
    })
    log(async () => {
      const files = await toldFiles(db, runId, taken)
      const told = { state: stored.state, url, bytes_count: bytes, export: toldExport(stored, taken.format), files }
      await events.append(db, [{ ...about(who, stored), type: 'EXPORT_DOWNLOAD', info: told }])
      const objects = 'file' in taken ? [objectOf(taken.file)] : objectsOf(runId, taken.folder)
      for await (const ids of objects) await events.append(db, ids.map(eventOf))
    })
  }

  const objectOf = ({ systemObjectId }: ExportFile): readonly number[] =>
    systemObjectId === null ? [] : [systemObjectId]

  /** The objects of a run, or of a folder of it, in lists. */
  async function* objectsOf(runId: number, folder: string): AsyncGenerator<readonly number[]> {
    if (folder === '') {
      for await (const listed of runs.walkObjects(db, runId, eventsAtATime)) {
        yield runs.foundOf(listed).map(({ systemObjectId }) => systemObjectId)
      }
      return
    }
    for (let after = 0; ; ) {
      const ids = await objectsIn(db, runId, folder, after, eventsAtATime)
      yield ids
      const last = ids.at(-1)
      if (last === undefined) return
      after = last
    }
  }

  function logFailure(from: Fetched, what: string, format: Taken['format'], error: Error): void {
    const { stored, caller, owner } = from
    const info = {
      state: stored.state,
      url: addressOf(from, what),
      export: toldExport(stored, format),
      error: error.message,
    }
    log(() => events.append(db, [{ ...about(caller ?? owner, stored), type: 'EXPORT_DOWNLOAD_ERROR', info }]))
  }

  return {
    fetched,
    byUuid,
    entriesOf,
    packageOf,
    logDownload,
    logFailure,

    /** The file at a path, or the entries of a folder. @throws {AppError} `FileNotFound` */
    async at(
      from: Fetched,
      path: string,
      signal: AbortSignal,
    ): Promise<
      | { readonly kind: 'file'; readonly delivery: Delivery & { end(): void } }
      | ({ readonly kind: 'folder' } & FolderEntries)
    > {
      const folder = path.endsWith('/') ? path.slice(0, -1) : path
      if (path === '' || path.endsWith('/')) {
        const { folders, files } = await folderEntries(db, from.runId, folder, mostShown + 1)
        if (path !== '' && folders.length + files.length === 0) throw new AppError('FileNotFound', { path })
        const isWhole = folders.length <= mostShown && files.length <= mostShown
        return { kind: 'folder', folders: folders.slice(0, mostShown), files: files.slice(0, mostShown), isWhole }
      }
      const file = await findFile(db, from.runId, path)
      // Hidden files are for the export's user, whose token plugins use to fetch them.
      if (!file || (file.hidden && !from.caller)) throw new AppError('FileNotFound', { path: path.slice(0, 1000) })
      const opened = await open(from, file, signal)
      const delivered = (bytes: number): void => {
        opened.end()
        logDownload(from, { what: `file/${path}`, bytes, taken: { format: 'file', file } })
      }
      return { kind: 'file', delivery: { ...opened, fileName: file.name, keep: 0, delivered } }
    },

    /** Whether there is a file at the path. */
    isFile: async (from: Fetched, path: string): Promise<boolean> => {
      return path !== '' && !path.endsWith('/') && (await findFile(db, from.runId, path)) !== null
    },

    /** Whether a folder has anything. */
    has: async (from: Fetched, folder: string): Promise<boolean> => (await countFiles(db, from.runId, folder)) > 0,

    async close(): Promise<void> {
      await Promise.all(logging)
    },
  }
}

/** Most entries on the page of a folder. */
const mostShown = 10_000
