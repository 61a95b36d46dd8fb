/** Files of a run as they are delivered: one, or all of them as entries of archives. */
import type { FileService, MetadataInObject } from '../../files/service.ts'
import { AppError } from '../../platform/errors.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { keyOfPath, takenPaths, walkFiles } from '../files.ts'
import { type AssetSource, type ExportFile, pathOf } from '../model.ts'
import { lookAhead } from './ahead.ts'
import type { ArchiveEntry, OpenedEntry } from './archive.ts'
import { type MakingDeps, makeFile } from './made.ts'
import type { Fetched } from './model.ts'
import { createTurns } from './turns.ts'

export interface EntryDeps extends MakingDeps {
  readonly db: Db
  readonly files: Pick<FileService, 'assets' | 'kept'>
  readonly metadataIn: MetadataInObject
}

/** A file of an object. */
type Asset = ExportFile & { readonly source: AssetSource }
type Kept = NonNullable<ReturnType<Awaited<ReturnType<FileService['kept']['find']>>['get']>>
type KeptReader = ReturnType<FileService['kept']['reader']>

/** Names of contents that are packed already. */
const packed =
  /\.(jpe?g|png|gif|webp|heic|avif|mp[34]|m4[av]|mov|webm|ogg|oga|ogv|flac|zip|gz|xz|7z|docx|xlsx|pptx|odt|ods|odp|epub)$/i

export function createEntries(deps: EntryDeps) {
  const { db, files } = deps
  const now = () => performance.now()
  const begin = createTurns(now)

  const isAsset = (file: ExportFile): file is Asset => file.action === null && file.source !== null

  /** Finds files of objects as they are delivered, with the present rights of the export's user. */
  const findAssets = (from: Fetched, assets: readonly Asset[], signal: AbortSignal) =>
    files.assets.find(
      from.owner,
      assets.map(({ source }) => source),
      { metadataIn: deps.metadataIn, signal },
    )

  /** A file as it is delivered; `find` may know that of an object already. @throws {AppError} */
  async function open(
    from: Fetched,
    file: ExportFile,
    signal: AbortSignal,
    find = async (asset: Asset) => (await findAssets(from, [asset], signal))[0],
  ) {
    const { action } = file
    if (action !== null) {
      const made = await makeFile(deps, from, { ...file, action }, signal)
      return { ...made, version: typed(made.version, file), fileName: file.name, keep: 0, delivered() {}, failed() {} }
    }
    const opened = isAsset(file) ? await (await find(file))?.() : undefined
    if (opened) {
      return file.mimeType === unknownType ? opened : { ...opened, version: typed(opened.version, file) }
    }
    const content = await keptOf(file)
    const ready = async () => ({
      size: content.size,
      store: { read: (_: string, range?: { start: number; end: number }) => files.kept.read(content, range) },
    })
    const stored = typed({ sha256: content.digest, createdAt: file.createdAt }, file)
    return { version: stored, ready, fileName: file.name, keep: 0, delivered() {}, failed() {}, end() {} }
  }

  /** @throws {AppError} `FileVersionNotAvailable` */
  async function keptOf(file: ExportFile): Promise<Kept> {
    const ids = file.contentId === null ? [] : [file.contentId]
    const content = (await files.kept.find(db, ids)).get(file.contentId ?? 0)
    if (!content) throw new AppError('FileVersionNotAvailable', { path: pathOf(file) })
    return content
  }

  /** The entries in a folder and below it. While a client reads an entry, no connection and no transaction is held. */
  async function* entriesOf(from: Fetched, folder: string, signal: AbortSignal): AsyncGenerator<ArchiveEntry> {
    const read = files.kept.reader()
    const turn = begin()
    for await (const found of walkFiles(db, from.runId, { folder })) {
      const contents = await files.kept.find(
        db,
        found.flatMap(({ contentId }) => contentId ?? []),
      )
      const pathOfError = errorPaths(from.runId, found.map(pathOf))
      const find = lookAhead(found.filter(isAsset), {
        find: (assets) => findAssets(from, assets, signal),
        now,
      })
      for (const file of found) {
        if (turn.over()) await turn.next()
        const kept = contents.get(file.contentId ?? 0)
        yield {
          path: pathOf(file),
          modified: file.createdAt,
          packs: !packed.test(file.name),
          pathOfError: () => pathOfError(pathOf(file)),
          open: () => (kept ? openKept(file, kept, read, signal) : openEntry(from, file, signal, find)),
        }
      }
    }
  }

  /** A content that may have moved to another location since it was looked up. */
  async function openKept(file: ExportFile, kept: Kept, read: KeptReader, signal: AbortSignal) {
    signal.throwIfAborted()
    const content = await read(kept).catch(async () => read(await keptOf(file)))
    return { size: kept.size, content, end() {} }
  }

  /** `find`: looks up more than this file; left out where its content may have moved to another location since then. */
  async function openEntry(
    from: Fetched,
    file: ExportFile,
    signal: AbortSignal,
    find?: Parameters<typeof open>[3],
  ): Promise<OpenedEntry> {
    signal.throwIfAborted()
    const delivery = await open(from, file, signal, find)
    try {
      const { size, store } = await delivery.ready()
      // With a range, a short content is read into a short buffer: else half of the time of an archive is garbage collection.
      const whole = size > 0 ? { start: 0, end: size - 1 } : undefined
      return { size, content: await store.read(delivery.version.sha256, whole), end: delivery.end }
    } catch (cause) {
      delivery.end()
      if (cause instanceof AppError) throw cause
      if (find) return openEntry(from, file, signal)
      throw new AppError('ServiceUnavailable', {}, { message: 'The file cannot be read now.', cause })
    }
  }

  /** Paths of the texts that replace unreadable files: beside the file, at a path that no file of the run has. */
  function errorPaths(runId: number, paths: readonly string[]): (path: string) => Promise<string> {
    const lists: Promise<ReadonlySet<string>>[] = []
    const taken = (round: number): Promise<ReadonlySet<string>> => {
      lists[round] ??= takenPaths(
        db,
        runId,
        paths.map((path) => keyOfPath(errorPath(path, round))),
      )
      return lists[round]
    }
    return async (path) => {
      for (let round = 0; ; round++) {
        const wanted = errorPath(path, round)
        if (!(await taken(round)).has(keyOfPath(wanted))) return wanted
      }
    }
  }

  return { open, entriesOf }
}

const errorPath = (path: string, round: number): string => `${path}.error${round === 0 ? '' : `-${round + 1}`}.txt`

const unknownType = 'application/octet-stream'

/** With the type that the export says, without its character set, which the headers say. */
function typed<T>(version: T, { mimeType }: ExportFile): T & { readonly mimeType: string } {
  return { ...version, mimeType: mimeType.split(';')[0]?.trim() ?? unknownType }
}
