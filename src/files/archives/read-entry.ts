import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { AppError, badRequest } from '../../platform/errors.ts'
import { normalized } from '../../platform/values/text.ts'
import type { BlobStore, ByteRange } from '../blobs/blob-store.ts'
import { partOf } from '../blobs/part.ts'
import type { FileVersion } from '../model.ts'
import { fileTypeOf, headBytes } from '../records/file-type.ts'
import { type Archive, type ArchiveEntry, BadArchive, openArchiveIn } from './open.ts'

/** Most entries that are read for one request. */
const mostEntries = 100_000

/** Most entries of a folder in an answer. */
const mostListed = 10_000

/**
 * An entry that is more than this many times as large as its packed bytes is refused as a decompression bomb, unless it
 * is small.
 */
const mostGrowth = 200
const harmless = 10_000_000

/** An entry of a folder in an archive. */
export interface ListedEntry {
  readonly name: string
  readonly path: string
  readonly size: number
  readonly modified: Date
  readonly folder: boolean
}

export type ArchiveContent =
  | { readonly kind: 'folder'; readonly entries: readonly ListedEntry[] }
  | {
      readonly kind: 'file'
      readonly path: string
      /** The hash of the entry: it changes only when the archive does. */
      readonly sha256: string
      readonly size: number
      readonly mimeType: string
      readonly plain: boolean
      readonly read: (part?: ByteRange) => Promise<Readable>
    }

/**
 * Finds the entry or the folder at a path in an archive. A folder also exists where the archive names only entries within
 * it. The empty path, and a path that ends with a slash, is a folder. Only the directory and the entry are read.
 * @throws {AppError} `ResourceNotFound`, `ServerGeneric` where the archive or the entry cannot be read,
 * `ServiceUnavailable`.
 */
export async function readArchiveEntry(
  version: FileVersion,
  store: Pick<BlobStore, 'read'>,
  wanted: string,
  signal: AbortSignal,
): Promise<ArchiveContent> {
  let failure: AppError | null = null
  const read = async (part: ByteRange): Promise<Readable> => {
    signal.throwIfAborted()
    try {
      return await store.read(version.sha256, part)
    } catch (cause) {
      failure = new AppError(
        'ServiceUnavailable',
        {},
        { message: 'The content of the file cannot be read now.', cause },
      )
      throw failure
    }
  }
  try {
    const archive = await openArchiveIn({ size: version.size, read })
    const { file, folder } = await find(archive, wanted)
    if (file) return await fileOf(archive, file, version)
    if (folder) return { kind: 'folder', entries: folder }
  } catch (error) {
    if (failure) throw failure
    if (!(error instanceof BadArchive)) throw error
    throw badRequest(`Nothing can be read from the archive: ${error.message}.`, { version: version.name })
  }
  throw new AppError('ResourceNotFound', { path: wanted.slice(0, 200) }, { message: 'The archive has no such entry.' })
}

async function find(
  archive: Archive,
  wanted: string,
): Promise<{ readonly file?: ArchiveEntry; readonly folder?: readonly ListedEntry[] }> {
  const folder = wanted === '' || wanted.endsWith('/') ? wanted : `${wanted}/`
  const [exact, within] = [composed(wanted), composed(folder)]
  const listed = new Map<string, ListedEntry>()
  let seen = 0
  let isFolder = wanted === ''
  for await (const entry of archive.entries()) {
    if (++seen > mostEntries) throw new BadArchive(`it has more than ${mostEntries} entries`)
    const path = composed(entry.path)
    if (!entry.folder && path === exact) return { file: entry }
    if (!path.startsWith(within)) continue
    isFolder = true
    const child = childOf(entry, path.slice(within.length), folder)
    if (!child) continue
    const known = listed.get(child.name)
    if (!known || known.modified < child.modified) listed.set(child.name, child)
    if (listed.size > mostListed) throw new BadArchive(`the folder has more than ${mostListed} entries`)
  }
  return isFolder ? { folder: [...listed.values()] } : {}
}

/** The entry itself, or the subfolder of the listed folder that contains it; null for the listed folder itself. */
function childOf({ size, modified }: ArchiveEntry, rest: string, folder: string): ListedEntry | null {
  const [name = '', ...below] = rest.split('/', 2)
  if (name === '') return null
  const isFolder = below.length > 0
  const path = `${folder}${name}${isFolder ? '/' : ''}`
  return { name, path, size: isFolder ? 0 : size, modified, folder: isFolder }
}

/** Some programs write names with decomposed letters; addresses are typed with composed ones. */
function composed(path: string): string {
  return normalized(path, 'NFC')
}

async function fileOf(archive: Archive, entry: ArchiveEntry, version: FileVersion): Promise<ArchiveContent> {
  const { path, size, packed, plain } = entry
  if (size > harmless && size > packed * mostGrowth) {
    throw new BadArchive(`the entry would be ${Math.floor(size / Math.max(1, packed))} times as large as it is packed`)
  }
  const { mimeType } = await fileTypeOf(path.split('/').at(-1) ?? '', await headOf(archive, entry))
  return {
    kind: 'file',
    path,
    sha256: createHash('sha256').update(`${version.sha256}/${path}`).digest('hex'),
    size,
    mimeType,
    plain,
    async read(part) {
      if (!part || plain) return archive.read(entry, part)
      return Readable.from(partOf(await archive.read(entry), part), { objectMode: false })
    },
  }
}

/** The beginning of an entry; this also shows whether it can be read. @throws {BadArchive} */
async function headOf(archive: Archive, entry: ArchiveEntry): Promise<Buffer> {
  const end = Math.min(headBytes, entry.size) - 1
  const stream = await archive.read(entry, entry.plain && end >= 0 ? { start: 0, end } : undefined)
  const chunks: Buffer[] = []
  try {
    for await (const chunk of end < 0 ? stream : partOf(stream, { start: 0, end })) chunks.push(chunk)
  } catch (cause) {
    throw new BadArchive('the entry is damaged', { cause })
  }
  return Buffer.concat(chunks)
}
