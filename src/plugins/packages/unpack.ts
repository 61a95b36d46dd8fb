/**
 * Unpacks the archive of a plugin to a folder. It writes nothing outside of the folder, makes no links, and keeps the
 * limits, whatever the archive declares about itself.
 */
import { createWriteStream } from 'node:fs'
import { chmod, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { type Entry, open as openFile, type ZipFile } from 'yauzl'
import { type AppError, badRequest } from '../../platform/errors.ts'

const mostEntries = 20_000
/** Bytes of all files together. */
const mostBytes = 1_000_000_000
/** Characters of a path. */
const longestPath = 500

const rules = { lazyEntries: true, autoClose: false, strictFileNames: true, validateEntrySizes: true } as const
const openPath = promisify((path: string, done: (error: Error | null, zip: ZipFile) => void) =>
  openFile(path, rules, done),
)

/** Unpacks into an empty folder. Answers the name of the one folder at the top. @throws {AppError} */
export async function unpack(archive: string, into: string): Promise<string> {
  const zip = await openPath(archive).catch((error: Error) => {
    throw badArchive(`it is no ZIP archive that can be read (${error.message})`)
  })
  try {
    const entries = await listEntries(zip)
    const top = topFolder(entries)
    let left = mostBytes
    for (const entry of entries) {
      const path = join(into, entry.fileName)
      if (entry.fileName.endsWith('/')) {
        await mkdir(path, { recursive: true })
        continue
      }
      await mkdir(dirname(path), { recursive: true })
      left -= await writeEntry(zip, entry, path, left)
    }
    return top
  } catch (error) {
    throw error instanceof Error && error.name === 'AppError' ? error : badArchive((error as Error).message)
  } finally {
    zip.close()
  }
}

function listEntries(zip: ZipFile): Promise<Entry[]> {
  if (zip.entryCount > mostEntries) throw badArchive(`it has more than ${mostEntries} entries`)
  return new Promise((resolve, reject) => {
    const entries: Entry[] = []
    const seen = new Set<string>()
    let size = 0
    zip.on('error', reject)
    zip.on('end', () => resolve(entries))
    zip.on('entry', (entry: Entry) => {
      try {
        if (!isOfTheSystem(entry.fileName)) {
          assertEntry(entry)
          size += entry.uncompressedSize
          if (size > mostBytes) throw badArchive(`it has more than ${mostBytes} bytes`)
          // Names that are equal on some file systems are treated as equal everywhere.
          const name = entry.fileName.normalize('NFC').toLowerCase()
          if (seen.has(name)) throw badArchive(`${entry.fileName} is there twice`)
          seen.add(name)
          entries.push(entry)
        }
        zip.readEntry()
      } catch (error) {
        reject(error)
      }
    })
    zip.readEntry()
  })
}

/** Files that some operating systems add to an archive. */
function isOfTheSystem(path: string): boolean {
  return path.startsWith('__MACOSX/') || path.endsWith('.DS_Store')
}

const regular = 0o100_000
const folder = 0o040_000

function assertEntry(entry: Entry): void {
  const { fileName: path } = entry
  const kind = unixMode(entry) & 0o170_000
  if (path.length > longestPath || hasControl(path) || path.split('/').some(isBadStep)) {
    throw badArchive(`${JSON.stringify(path.slice(0, 200))} is no path inside the plugin`)
  }
  if (kind !== 0 && kind !== regular && kind !== folder) throw badArchive(`${path} is neither a file nor a folder`)
  if (!entry.canDecodeFileData()) throw badArchive(`${path} is encrypted, or packed in a way that is not known here`)
}

function isBadStep(step: string): boolean {
  return step === '..' || step === '.' || step.length > 200
}

function hasControl(text: string): boolean {
  for (const character of text) if (character < ' ' || character === '\\' || character === '\x7f') return true
  return false
}

function topFolder(entries: readonly Entry[]): string {
  const tops = new Set(entries.map(({ fileName }) => fileName.split('/', 1)[0] ?? ''))
  const [top = ''] = tops
  const loose = entries.find(({ fileName }) => !fileName.includes('/'))
  if (tops.size !== 1 || loose || top === '') {
    throw badArchive('it must have one folder at the top, named as the plugin, and nothing beside it')
  }
  return top
}

async function writeEntry(zip: ZipFile, entry: Entry, path: string, left: number): Promise<number> {
  const source = await zip.openReadStreamPromise(entry)
  let size = 0
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length
      if (size > left) done(badArchive('it has more than it says'))
      else done(null, chunk)
    },
  })
  // An existing file was written by another entry: no file is overwritten.
  await pipeline(source, counted, createWriteStream(path, { flags: 'wx', mode: 0o644 }))
  // Archives made on other systems do not mark executable files.
  const mode = unixMode(entry)
  if (mode === 0 || (mode & 0o111) !== 0) await chmod(path, 0o755)
  return size
}

function unixMode({ externalFileAttributes, versionMadeBy }: Entry): number {
  return versionMadeBy >>> 8 === 3 ? externalFileAttributes >>> 16 : 0
}

export function badArchive(reason: string): AppError {
  return badRequest(`The archive of the plugin cannot be used: ${reason}.`, { name: 'zip_file', reason })
}
