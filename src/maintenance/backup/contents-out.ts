import { createHash, type Hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { PoolClient } from 'pg'
import type { Pack } from 'tar-stream'
import { type BackupContent, type BackupLocation, backupContents } from '../../files/service.ts'
import type { Progress } from '../../platform/process/progress.ts'
import { contentFolder, contentPiece, pieceName, pieceSizes, type TableSum } from './archive.ts'

/** What came of the contents of a location. */
export interface CopiedContents {
  readonly place: BackupLocation
  copied: number
  bytes: number
  /** Hashes of some contents that are not there, or not what they were. */
  readonly harmed: string[]
  harmedCount: number
}

export type BackupFolder = BackupLocation & { readonly folder: NonNullable<BackupLocation['folder']> }

/** Adds an entry of which the bytes come bit by bit; resolves when it is through. */
export type AddStream = (name: string, size: number, content: AsyncIterable<Buffer>) => Promise<void>

export function streamInto(archive: Pack): AddStream {
  return async (name, size, content) => {
    const entry = archive.entry({ name, size, mtime: new Date(0) })
    await pipeline(Readable.from(content, { objectMode: false }), entry as unknown as NodeJS.WritableStream)
  }
}

/** Harmed contents that are named; all are counted. */
const mostNamed = 20

/** Copies the contents that the snapshot has in a folder; what is missing or damaged there is told, and the rest copied. */
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

/** The hash of what was copied; null when nothing of that size is there. */
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

/** As many bytes as were announced: what cannot be read is filled with zeros, and its hash tells so. */
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

/** How many contents the snapshot has in each location. */
export async function countContents(client: PoolClient): Promise<ReadonlyMap<number, { count: number; size: number }>> {
  const { rows } = await client.query<{ id: number; count: number; size: number }>(
    `select location_id as id, count(*)::int8 as count, sum(size)::float8 as size from file_blob group by 1`,
  )
  return new Map(rows.map(({ id, ...counted }) => [id, counted]))
}
