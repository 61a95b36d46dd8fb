/**
 * Archives in the format ZIP, which office documents are as well. Nothing is unpacked to a disk; entries are read one at a
 * time, as far as whoever reads them lets them come.
 */
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { type Entry, open as openFile, type ZipFile } from 'yauzl'

export interface ArchiveEntry {
  /** As the archive has it: folders end with a slash. */
  readonly path: string
  readonly folder: boolean
  /** Bytes as the archive says: what comes is compared with that, and no more is given. */
  readonly size: number
  readonly modified: Date
}

export interface Archive extends AsyncDisposable {
  entries(): AsyncIterable<ArchiveEntry>
  /** The content of an entry that `entries` gave. */
  read(entry: ArchiveEntry): Promise<Readable>
}

/** What is wrong with an archive, in words. */
export class BadArchive extends Error {}

const openPath = promisify((path: string, done: (error: Error | null, zip: ZipFile) => void) =>
  openFile(path, { lazyEntries: true, autoClose: false, strictFileNames: false, validateEntrySizes: true }, done),
)

/** @throws {BadArchive} when it is none, or is broken. */
export async function openArchive(path: string): Promise<Archive> {
  const zip = await openPath(path).catch((cause: Error) => {
    throw new BadArchive('it is no archive that can be read', { cause })
  })
  return archiveOf(zip)
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
    read(entry) {
      const own = raw.get(entry)
      if (!own) throw new Error('the entry is of another archive')
      if (!own.canDecodeFileData()) throw new BadArchive('it is encrypted, or packed in a way that is not known here')
      return new Promise<Readable>((resolve, reject) => {
        zip.openReadStream(own, (error, stream) => {
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
  return { path, folder: path.endsWith('/'), size: entry.uncompressedSize, modified: entry.getLastModDate() }
}
