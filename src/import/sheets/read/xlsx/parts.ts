import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { type Entry, open as openFile, type ZipFile } from 'yauzl'
import { limits, SheetError } from '../../limits.ts'

/** The parts of an XLSX file by their paths. Their claimed sizes are checked before anything is unpacked. */
export interface Parts extends AsyncDisposable {
  has(path: string): boolean
  /** The text of a part in pieces. @throws {SheetError} when it is missing, broken or too large. */
  text(path: string): AsyncGenerator<string>
}

/** The reader compares the unpacked size with the claimed size of an entry, and returns no more bytes. */
const rules = { lazyEntries: true, autoClose: false, strictFileNames: false, validateEntrySizes: true }

const openZip = promisify((path: string, done: (error: Error | null, zip: ZipFile) => void) =>
  openFile(path, rules, done),
)

/** @throws {SheetError} when the file is no ZIP. */
export async function openParts(file: string): Promise<Parts> {
  const zip = await openZip(file).catch((cause: Error & { code?: string }) => {
    if (cause.code !== undefined) throw cause
    throw new SheetError('it is no XLSX file', { cause })
  })
  try {
    const entries = await entriesOf(zip)
    return {
      has: (path) => entries.has(path.toLowerCase()),
      text: (path) => textOf(zip, entries.get(path.toLowerCase()), path),
      [Symbol.asyncDispose]: async () => zip.close(),
    }
  } catch (error) {
    zip.close()
    throw error
  }
}

async function entriesOf(zip: ZipFile): Promise<Map<string, Entry>> {
  if (zip.entryCount > limits.zipEntries) throw new SheetError(`it has ${zip.entryCount} parts: is it an XLSX file?`)
  const entries = new Map<string, Entry>()
  await new Promise<void>((resolve, reject) => {
    zip.on('entry', (entry: Entry) => {
      // Pictures, macros and all other parts are ignored.
      if (/\.(xml|rels)$/i.test(entry.fileName)) entries.set(entry.fileName.toLowerCase(), entry)
      zip.readEntry()
    })
    zip.on('end', resolve)
    zip.on('error', (cause: Error) => reject(new SheetError(`it is broken: ${cause.message}`, { cause })))
    zip.readEntry()
  })
  return entries
}

async function* textOf(zip: ZipFile, entry: Entry | undefined, path: string): AsyncGenerator<string> {
  if (!entry) throw new SheetError(`it is no XLSX file that can be read: ${path} is missing`)
  assertSize(entry)
  const stream = await new Promise<Readable>((resolve, reject) => {
    if (!entry.canDecodeFileData()) {
      reject(new SheetError('it is encrypted: save it without a password'))
      return
    }
    zip.openReadStream(entry, (error, opened) => (error ? reject(error) : resolve(opened)))
  })
  const decoder = new TextDecoder()
  try {
    for await (const chunk of stream) yield decoder.decode(chunk as Buffer, { stream: true })
    yield decoder.decode()
  } catch (cause) {
    throw new SheetError(`it is broken: ${(cause as Error).message}`, { cause })
  } finally {
    stream.destroy()
  }
}

function assertSize({ fileName, uncompressedSize: size, compressedSize: packed }: Entry): void {
  const times = size / Math.max(packed, 1)
  if (size > limits.partBytes || (size > limits.unpackedFreely && times > limits.unpackedTimes)) {
    throw new SheetError(
      `${fileName} would unpack from ${packed} to ${size} bytes, which is too much: save the sheet as CSV`,
    )
  }
}
