/** Archives as streams: only the directory at the end of a ZIP is kept in memory. */
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { pack } from 'tar-stream'
import { ZipFile } from 'yazl'
import { AppError } from '../../platform/errors.ts'

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
  /** Opens its content, once. @throws {AppError} where it cannot be read */
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
  const zip = new ZipFile()
  const output = zip.outputStream as Readable
  zip.on('error', (error: Error) => output.destroy(error))
  const fill = async (): Promise<void> => {
    for await (const entry of entries) {
      const options = { mtime: entry.modified, compress: entry.packs, mode: 0o100644 }
      const opened = await entry.open().catch((error: unknown) => error as Error)
      if (opened instanceof Error) {
        if (!(opened instanceof AppError)) throw opened
        zip.addBuffer(Buffer.from(`${opened.message}\n`), `${entry.path}.error.txt`, options)
        continue
      }
      const taken = ended(opened.content, output)
      zip.addReadStream(opened.content, entry.path, { ...options, size: opened.size })
      await taken.finally(() => opened.end())
    }
    zip.end()
  }
  fill().catch((error: unknown) => output.destroy(error as Error))
  return output
}

/**
 * Here the size comes before the content, so an error cannot be reported in its place: a file that cannot be read ends
 * the archive.
 */
function tarOf(entries: AsyncIterable<ArchiveEntry>): Readable {
  const tar = pack()
  const output = createGzip({ level: 5 })
  const fill = async (): Promise<void> => {
    for await (const entry of entries) {
      const opened = await entry.open()
      try {
        await pipeline(
          opened.content,
          tar.entry({ name: entry.path, size: opened.size, mtime: entry.modified, mode: 0o644 }),
        )
      } finally {
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

/** Resolves when a content has been read completely. @throws where it fails, or the archive is no longer read */
function ended(content: Readable, output: Readable): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const gone = () => {
    content.destroy()
    reject(new Error('the archive is not taken any more'))
  }
  content.once('end', resolve)
  content.once('error', reject)
  content.once('close', () => (content.readableEnded ? resolve() : reject(new Error('a content broke off'))))
  output.once('close', gone)
  return promise.finally(() => output.off('close', gone))
}
