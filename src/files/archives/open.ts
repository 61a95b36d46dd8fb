/**
 * Archives in the format ZIP, which office documents use as well. Nothing is unpacked to a disk; entries are read one at
 * a time, as fast as the reader takes them.
 */
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { type Entry, fromRandomAccessReaderPromise, open as openFile, type ZipFile } from 'yauzl'
import type { ByteRange } from '../blobs/blob-store.ts'
import { type ArchiveSource, readerOf } from './reader.ts'

export interface ArchiveEntry {
  /** As written in the archive: folders end with a slash. */
  readonly path: string
  readonly folder: boolean
  /** Bytes, as stated in the archive. The unpacked data is compared with this size, and no more bytes are passed on. */
  readonly size: number
  /** Bytes of the packed entry in the archive. */
  readonly packed: number
  /** Whether the entry is stored uncompressed, so that a part of it can be read without the bytes before. */
  readonly plain: boolean
  readonly modified: Date
}

export interface Archive extends AsyncDisposable {
  entries(): AsyncIterable<ArchiveEntry>
  /** The content of an entry from `entries`; a part only of an uncompressed one. @throws {BadArchive} */
  read(entry: ArchiveEntry, part?: ByteRange): Promise<Readable>
}

/** The reason why an archive cannot be read, as text for the answer. */
export class BadArchive extends Error {}

/** The reader itself refuses names that would lead out of a folder. */
const rules = { lazyEntries: true, autoClose: false, strictFileNames: false, validateEntrySizes: true }

const openPath = promisify((path: string, done: (error: Error | null, zip: ZipFile) => void) =>
  openFile(path, rules, done),
)

/** @throws {BadArchive} when it is no archive, or is broken. */
export async function openArchive(path: string): Promise<Archive> {
  return archiveOf(await openPath(path).catch(notReadable))
}

/** Opens an archive that is read in parts, wherever it is stored; nothing is held open. @throws {BadArchive} as above. */
export async function openArchiveIn(source: ArchiveSource): Promise<Archive> {
  return archiveOf(await fromRandomAccessReaderPromise(readerOf(source), source.size, rules).catch(notReadable))
}

function notReadable(cause: Error): never {
  throw new BadArchive('it is no archive that can be read', { cause })
}

function archiveOf(zip: ZipFile): Archive {
  const raw = new WeakMap<ArchiveEntry, Entry>()
  return {
    async *entries() {
      for (let left = zip.entryCount; left > 0; left--) {
        const entry = await nextEntry(zip)
        if (!entry) return
        const found = entryOf(entry)
        raw.set(found, entry)
        yield found
      }
    },
    read(entry, part) {
      const own = raw.get(entry)
      if (!own) throw new Error('the entry is of another archive')
      if (!own.canDecodeFileData()) throw new BadArchive('it is encrypted, or packed in a way that is not known here')
      return new Promise<Readable>((resolve, reject) => {
        zip.openReadStream(own, part ? { start: part.start, end: part.end + 1 } : {}, (error, stream) => {
          if (error) reject(new BadArchive(error.message, { cause: error }))
          else resolve(stream)
        })
      })
    },
    async [Symbol.asyncDispose]() {
      zip.close()
    },
  }
}

function nextEntry(zip: ZipFile): Promise<Entry | null> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      zip.off('entry', onEntry)
      zip.off('end', onEnd)
      zip.off('error', onError)
      act()
    }
    const onEntry = (entry: Entry): void => settle(() => resolve(entry))
    const onEnd = (): void => settle(() => resolve(null))
    const onError = (error: Error): void => settle(() => reject(new BadArchive(error.message, { cause: error })))
    zip.on('entry', onEntry)
    zip.on('end', onEnd)
    zip.on('error', onError)
    zip.readEntry()
  })
}

function entryOf(entry: Entry): ArchiveEntry {
  const path = entry.fileName
  return {
    path,
    folder: path.endsWith('/'),
    size: entry.uncompressedSize,
    packed: entry.compressedSize,
    plain: entry.compressionMethod === 0 && !entry.isEncrypted(),
    modified: dated(entry.getLastModDate({ timezone: 'UTC' })),
  }
}

/** Dates come from the creator of the archive; most have no time zone. */
function dated(date: Date): Date {
  const year = date.getUTCFullYear()
  return year >= 1970 && year <= 9999 ? date : new Date(0)
}
