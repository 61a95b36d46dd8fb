/** Files of a run as they are delivered: one, or all of them as entries of archives. */
import type { FileService, MetadataInObject } from '../../files/service.ts'
import { AppError } from '../../platform/errors.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { filesAfter, keyOfPath, takenPaths } from '../files.ts'
import { type ExportFile, pathOf } from '../model.ts'
import type { ArchiveEntry } from './archive.ts'
import { type MakingDeps, makeFile } from './made.ts'
import type { Fetched } from './model.ts'

export interface EntryDeps extends MakingDeps {
  readonly db: Db
  readonly files: Pick<FileService, 'assets' | 'kept'>
  readonly metadataIn: MetadataInObject
}

type Kept = NonNullable<ReturnType<Awaited<ReturnType<FileService['kept']['find']>>['get']>>
type KeptReader = ReturnType<FileService['kept']['reader']>

/** Entries that are looked up together. */
const page = 1000
/** Names of contents that are packed already. */
const packed =
  /\.(jpe?g|png|gif|webp|heic|avif|mp[34]|m4[av]|mov|webm|ogg|oga|ogv|flac|zip|gz|xz|7z|docx|xlsx|pptx|odt|ods|odp|epub)$/i

export function createEntries(deps: EntryDeps) {
  const { db, files } = deps

  /** A file as it is delivered. @throws {AppError} */
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
    for (let after = 0; ; ) {
      const found = await filesAfter(db, from.runId, { after, most: page, folder })
      const contents = await files.kept.find(
        db,
        found.flatMap(({ contentId }) => contentId ?? []),
      )
      const pathOfError = errorPaths(from.runId, found.map(pathOf))
      for (const file of found) {
        const kept = contents.get(file.contentId ?? 0)
        yield {
          path: pathOf(file),
          modified: file.createdAt,
          packs: !packed.test(file.name),
          pathOfError: () => pathOfError(pathOf(file)),
          open: () => (kept ? openKept(file, kept, read, signal) : openEntry(from, file, signal)),
        }
      }
      const last = found.at(-1)
      if (!last || found.length < page) return
      after = last.id
    }
  }

  /** A content that may have moved to another location since it was looked up. */
  async function openKept(file: ExportFile, kept: Kept, read: KeptReader, signal: AbortSignal) {
    signal.throwIfAborted()
    const content = await read(kept).catch(async () => read(await keptOf(file)))
    return { size: kept.size, content, end() {} }
  }

  async function openEntry(from: Fetched, file: ExportFile, signal: AbortSignal) {
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
