/** Downloads of results of runs, with the rights that the user of the export has at that time (decision 70). */
import type { EventLog, NewEvent } from '../../events/service.ts'
import type { Delivery, FileService, MetadataInObject } from '../../files/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { outsideDeadlines } from '../../platform/limits/deadline.ts'
import type { Db, Queryable } from '../../platform/postgres/db.ts'
import { version } from '../../platform/version.ts'
import { countFiles, filesAfter, findFile, folderEntries, objectsIn } from '../files.ts'
import { about } from '../log.ts'
import { type ExportFile, isDone, pathOf, type StoredExport } from '../model.ts'
import * as runs from '../runs.ts'
import { findExports } from '../store.ts'
import type { ArchiveEntry } from './archive.ts'
import type { FolderEntries } from './index-page.ts'
import { type MakingDeps, makeFile } from './made.ts'
import type { Fetched } from './model.ts'
import type { PackageKind } from './packages/model.ts'
import { packaged } from './packages/packages.ts'

export interface DeliverDeps extends MakingDeps {
  readonly db: Db
  readonly events: EventLog
  readonly files: Pick<FileService, 'assets' | 'kept'>
  readonly metadataIn: MetadataInObject
  readonly actorOf: (from: Queryable, userId: number) => Promise<Actor | null>
  readonly externalUrl: string
}

export type Deliveries = ReturnType<typeof createDeliveries>

const page = 500
/** Names of files that are already compressed. */
const packed =
  /\.(jpe?g|png|gif|webp|heic|avif|mp[34]|m4[av]|mov|webm|ogg|oga|ogv|flac|zip|gz|xz|7z|docx|xlsx|pptx|odt|ods|odp|epub)$/i
/** Events that are written with one statement. */
const eventsAtATime = 1000

export function createDeliveries(deps: DeliverDeps) {
  const { db, events, files } = deps
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

  /** Opens a file for delivery. @throws {AppError} */
  async function open(from: Fetched, file: ExportFile, signal: AbortSignal) {
    const { action } = file
    if (action !== null) {
      const made = await makeFile(deps, from, { ...file, action }, signal)
      return { ...made, version: typed(made.version, file), fileName: file.name, keep: 0, delivered() {}, failed() {} }
    }
    if (file.source) {
      const opened = await files.assets.open(from.owner, file.source, { metadataIn: deps.metadataIn, signal })
      return file.mimeType === unknownType ? opened : { ...opened, version: typed(opened.version, file) }
    }
    const content = file.contentId === null ? null : await files.kept.find(db, file.contentId)
    if (!content) throw new AppError('FileVersionNotAvailable', { path: pathOf(file) })
    const ready = async () => ({
      size: content.size,
      store: { read: (_: string, range?: { start: number; end: number }) => files.kept.read(content, range) },
    })
    const stored = typed({ sha256: content.sha256, createdAt: file.createdAt }, file)
    return { version: stored, ready, fileName: file.name, keep: 0, delivered() {}, failed() {}, end() {} }
  }

  async function* entriesOf(from: Fetched, folder: string, signal: AbortSignal): AsyncGenerator<ArchiveEntry> {
    for (let after = 0; ; ) {
      const found = await filesAfter(db, from.runId, { after, most: page, folder })
      for (const file of found) yield entryOf(from, file, signal)
      const last = found.at(-1)
      if (!last || found.length < page) return
      after = last.id
    }
  }

  /** The same as a package; in an archive, within the folder. */
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

  function entryOf(from: Fetched, file: ExportFile, signal: AbortSignal): ArchiveEntry {
    return {
      path: pathOf(file),
      modified: file.createdAt,
      packs: !packed.test(file.name),
      async open() {
        signal.throwIfAborted()
        const delivery = await open(from, file, signal)
        try {
          const { size, store } = await delivery.ready()
          return { size, content: await store.read(delivery.version.sha256), end: delivery.end }
        } catch (error) {
          delivery.end()
          throw error instanceof AppError
            ? error
            : new AppError('ServiceUnavailable', {}, { message: 'The file cannot be read now.', cause: error })
        }
      },
    }
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
    {
      what,
      bytes,
      objects,
    }: {
      readonly what: string
      readonly bytes: number
      readonly objects: readonly number[] | { readonly folder: string }
    },
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
      const files = await countFiles(db, runId)
      const told = { state: stored.state, url, bytes_count: bytes, export: stored.name, files }
      await events.append(db, [{ ...about(who, stored), type: 'EXPORT_DOWNLOAD', info: told }])
      const taken = 'folder' in objects ? objectsOf(runId, objects.folder) : [objects]
      for await (const ids of taken) await events.append(db, ids.map(eventOf))
    })
  }

  /** The objects of a run, or of a folder of it, in lists. */
  async function* objectsOf(runId: number, folder: string): AsyncGenerator<readonly number[]> {
    for (let after = 0; folder === ''; ) {
      const listed = await runs.listedObjects(db, runId, after, eventsAtATime)
      yield listed.flatMap(({ id, version }) => (version === null ? [] : [id]))
      const last = listed.at(-1)
      if (!last) return
      after = last.position
    }
    for (let after = 0; ; ) {
      const ids = await objectsIn(db, runId, folder, after, eventsAtATime)
      yield ids
      const last = ids.at(-1)
      if (last === undefined) return
      after = last
    }
  }

  function logFailure(from: Fetched, what: string, error: Error): void {
    const { stored, caller, owner } = from
    const info = { state: stored.state, url: addressOf(from, what), export: stored.name, error: error.message }
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
        const entries = await folderEntries(db, from.runId, folder, mostShown)
        if (path !== '' && entries.folders.length + entries.files.length === 0)
          throw new AppError('FileNotFound', { path })
        const isWhole = entries.folders.length < mostShown && entries.files.length < mostShown
        return { kind: 'folder', ...entries, isWhole }
      }
      const file = await findFile(db, from.runId, path)
      // Hidden files are for the export's user, whose token plugins use to fetch them.
      if (!file || (file.hidden && !from.caller)) throw new AppError('FileNotFound', { path: path.slice(0, 1000) })
      const opened = await open(from, file, signal)
      const delivered = (bytes: number): void => {
        opened.end()
        logDownload(from, {
          what: `file/${path}`,
          bytes,
          objects: file.systemObjectId === null ? [] : [file.systemObjectId],
        })
      }
      return { kind: 'file', delivery: { ...opened, fileName: file.name, keep: 0, delivered } }
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

const unknownType = 'application/octet-stream'

/** The type given by the export, without its character set, which the headers add. */
function typed<T>(version: T, { mimeType }: ExportFile): T & { readonly mimeType: string } {
  return { ...version, mimeType: mimeType.split(';')[0]?.trim() ?? unknownType }
}
