import { createHash, type Hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { PoolClient } from 'pg'
import type { Pack } from 'tar-stream'
import { type BackupContent, type BackupLocation, backupContents } from '../../files/service.ts'
import type { Progress } from '../../platform/process/progress.ts'
import { contentFolder, contentPiece, pieceName, pieceSizes, type TableSum } from './archive.ts'

/** The result of copying the contents of a location. */
export interface CopiedContents {
  readonly place: BackupLocation
  copied: number
  bytes: number
  /** Hashes of some contents that are missing or damaged. */
  readonly harmed: string[]
  harmedCount: number
}

export type BackupFolder = BackupLocation & { readonly folder: NonNullable<BackupLocation['folder']> }

/** Adds an entry whose bytes are streamed; resolves when it is complete. */
export type AddStream = (name: string, size: number, content: AsyncIterable<Buffer>) => Promise<void>

export function streamInto(archive: Pack): AddStream {
  return async (name, size, content) => {
    const entry = archive.entry({ name, size, mtime: new Date(0) })
    await pipeline(Readable.from(content, { objectMode: false }), entry as unknown as NodeJS.WritableStream)
  }
}

/** Maximum number of damaged contents that are listed; all are counted. */
const mostNamed = 20

/** Copies the contents of the snapshot that are in a folder; missing or damaged ones are reported, and the others copied. */
export async function copyContents(
  add: AddStream,
  client: PoolClient,
  place: BackupFolder,
  progress: Progress,
): Promise<{ readonly copied: CopiedContents; readonly sum: TableSum }> {
  const copied: CopiedContents = { place, copied: 0, bytes: 0, harmed: [], harmedCount: 0 }
  const hash = createHash('sha256')
  let rows = 0
  for await (const content of backupContents(client, place.id)) {
    progress.advance(1)
    const found = await copyContent(add, place, content)
    if (found !== null) {
      rows++
      hash.update(`${content.sha256} ${found}\n`)
    }
    if (found === content.sha256) {
      copied.copied++
      copied.bytes += content.size
    } else if (found !== null || content.used) {
      copied.harmedCount++
      if (copied.harmed.length < mostNamed) copied.harmed.push(content.sha256)
    }
  }
  return { copied, sum: { rows, sha256: hash.digest('hex') } }
}

/** The hash of the copied bytes; null when there is no file of that size. */
async function copyContent(
  add: AddStream,
  place: BackupFolder,
  { sha256, size }: BackupContent,
): Promise<string | null> {
  const { store } = place.folder
  if ((await store.size(sha256)) !== size) return null
  const hash = createHash('sha256')
  for (const [index, bytes] of pieceSizes(size).entries()) {
    const start = index * contentPiece
    const source = bytes === 0 ? null : await store.read(sha256, { start, end: start + bytes - 1 }).catch(() => null)
    await add(`${contentFolder(place.id, sha256)}${pieceName(index + 1)}`, bytes, exactly(bytes, source, hash))
  }
  return hash.digest('hex')
}

/**
 * Yields exactly the announced number of bytes: parts that cannot be read are filled with zeros, and then the hash does not match.
 */
async function* exactly(size: number, source: AsyncIterable<Buffer> | null, hash: Hash): AsyncGenerator<Buffer> {
  let rest = size
  try {
    for await (const chunk of source ?? []) {
      const part = chunk.subarray(0, rest)
      rest -= part.length
      hash.update(part)
      yield part
    }
  } catch {
    // A bad sector takes one content away, not the backup.
  }
  while (rest > 0) {
    const zeros = Buffer.alloc(Math.min(rest, 64 * 1024))
    rest -= zeros.length
    hash.update(zeros)
    yield zeros
  }
}

/** The number of contents of the snapshot in each location. */
export async function countContents(client: PoolClient): Promise<ReadonlyMap<number, { count: number; size: number }>> {
  const { rows } = await client.query<{ id: number; count: number; size: number }>(
    `select location_id as id, count(*)::int8 as count, sum(size)::float8 as size from file_blob group by 1`,
  )
  return new Map(rows.map(({ id, ...counted }) => [id, counted]))
}
