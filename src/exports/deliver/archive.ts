/** Archives as they are streamed, of any number of entries, in flat memory. */
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { type Pack, pack } from 'tar-stream'
import { AppError } from '../../platform/errors.ts'
import { bytesOf } from '../../platform/memory/bytes-of.ts'
import { type ZipEntry, zipPieces } from './zip.ts'

export type ArchiveKind = 'zip' | 'tar_gz'

export const archives: Readonly<Record<ArchiveKind, { readonly contentType: string; readonly extension: string }>> = {
  zip: { contentType: 'application/zip', extension: 'zip' },
  tar_gz: { contentType: 'application/gzip', extension: 'tar.gz' },
}

export interface ArchiveEntry {
  readonly path: string
  readonly modified: Date
  /** Compression makes it smaller. */
  readonly packs: boolean
  /** Where it can be told, instead of it, that it cannot be had: no other entry has this path. */
  pathOfError(): Promise<string>
  /** Its content, once. @throws {AppError} where it cannot be had */
  open(): Promise<OpenedEntry>
}

export interface OpenedEntry {
  readonly size: number
  readonly content: Readable
  /** Called when the content has been read, or is no longer needed. */
  end(): void
}

/** An archive of the entries. It fails if an entry fails in the middle. A slow reader slows the entries down. */
export function archiveOf(kind: ArchiveKind, entries: AsyncIterable<ArchiveEntry>): Readable {
  return kind === 'zip' ? zipOf(entries) : tarOf(entries)
}

/** A file that cannot be opened is reported in an entry beside it. */
function zipOf(entries: AsyncIterable<ArchiveEntry>): Readable {
  const output = new PassThrough()
  async function* opened(): AsyncGenerator<ZipEntry> {
    for await (const entry of entries) {
      const { path, packs, source } = await openedOrTold(entry)
      try {
        yield { path, packs, modified: entry.modified, size: source.size, content: source.content }
      } finally {
        source.content.destroy()
        source.end()
      }
    }
  }
  pipeline(zipPieces(opened()), output).catch((error: unknown) => output.destroy(error as Error))
  return output
}

/** An entry with its content; what cannot be opened is a text that says why, at a path of its own. */
export async function openedOrTold(
  entry: ArchiveEntry,
): Promise<{ readonly path: string; readonly packs: boolean; readonly source: OpenedEntry }> {
  const { path, packs } = entry
  try {
    return { path, packs, source: await entry.open() }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { path: await entry.pathOfError(), packs: true, source: openedBytes(Buffer.from(`${error.message}\n`)) }
  }
}

export function openedBytes(bytes: Buffer): OpenedEntry {
  return { size: bytes.length, content: Readable.from([bytes], { objectMode: false }), end() {} }
}

/** Contents of fewer bytes are read before they are written. */
const mostInMemory = 256 * 1024

/** Sizes stand before contents here, so that nothing can be told instead: what cannot be had ends it. */
function tarOf(entries: AsyncIterable<ArchiveEntry>): Readable {
  const tar = pack()
  const output = createGzip({ level: 5 })
  const fill = async (): Promise<void> => {
    for await (const entry of entries) {
      const opened = await entry.open()
      try {
        await addToTar(tar, entry, opened)
      } finally {
        opened.content.destroy()
        opened.end()
      }
    }
    tar.finalize()
  }
  fill().catch((error: unknown) => tar.destroy(error as Error))
  pipeline(tar, output).catch((error: unknown) => output.destroy(error as Error))
  output.once('close', () => tar.destroy())
  return output
}

async function addToTar(tar: Pack, { path, modified }: ArchiveEntry, { size, content }: OpenedEntry): Promise<void> {
  const header = { name: path, size, mtime: modified, mode: 0o644 }
  if (size > mostInMemory) return pipeline(content, tar.entry(header))
  const bytes = await bytesOf(content)
  if (bytes.length !== size) throw new Error(`${path} has ${bytes.length} bytes, not ${size}`)
  await new Promise<void>((resolve, reject) => {
    const entry = tar.entry(header, bytes, (error) => (error ? reject(error) : resolve()))
    // Without a listener the same error, as an event, would end the process.
    entry.on('error', reject)
  })
}
