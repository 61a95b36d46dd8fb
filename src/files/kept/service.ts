/** Contents that are not files: results of work, kept as long as rows of other tables refer to them. */
import { hash as hashOf } from 'node:crypto'
import { Readable } from 'node:stream'
import { AppError } from '../../platform/errors.ts'
import { bytesOf } from '../../platform/memory/bytes-of.ts'
import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'
import type { BlobStore, ByteRange, Sha256 } from '../blobs/blob-store.ts'
import { receiveHashed } from '../blobs/receive-hashed.ts'
import type { Locations } from '../locations/service.ts'
import { announceBlobs } from '../records/store.ts'

/** A content that is stored in a location and has no owner yet. It is removed within a day unless a row refers to it. */
export interface ArrivedContent {
  readonly locationId: number
  /** Of the stored content; it may be a set, and this content a part of it. */
  readonly sha256: Sha256
  readonly start: number
  readonly size: number
  /** Its own SHA-256. */
  readonly digest: Sha256
}

export interface KeptContent extends ArrivedContent {
  readonly id: number
  /** Bytes of the stored content. */
  readonly whole: number
  readonly createdAt: Date
}

export type KeptContents = ReturnType<typeof createKeptContents>

export function createKeptContents({
  db,
  locations,
}: {
  readonly db: Db
  readonly locations: Pick<Locations, 'forVersions' | 'storeOf'>
}) {
  /** Stores a content as it comes. What breaks off leaves nothing. */
  async function receive(source: AsyncIterable<Buffer>): Promise<ArrivedContent> {
    const { id: locationId, store } = locations.forVersions()
    const { received, sha256 } = await receiveHashed(store, source)
    const { size } = received
    try {
      await announceBlobs(db, [{ locationId, sha256, size }])
      await received.keep(sha256)
    } catch (error) {
      await received.discard().catch(() => {})
      throw error
    }
    return { locationId, sha256, start: 0, size, digest: sha256 }
  }

  async function readStored({ locationId, sha256 }: ArrivedContent, range: ByteRange | undefined): Promise<Readable> {
    try {
      return await locations.storeOf(locationId).read(sha256, range)
    } catch (cause) {
      throw new AppError('ServiceUnavailable', {}, { message: 'The content cannot be read now.', cause })
    }
  }

  return {
    receive,

    /**
     * Stores small contents as they come, all of them together as one: thousands of them are one file that is synchronised, and
     * one request to a bucket.
     */
    async receiveSet(contents: AsyncIterable<Buffer>): Promise<readonly ArrivedContent[]> {
      const parts: Pick<ArrivedContent, 'start' | 'size' | 'digest'>[] = []
      const iterator = contents[Symbol.asyncIterator]()
      const first = await iterator.next()
      if (first.done) return []
      async function* whole(): AsyncGenerator<Buffer> {
        try {
          for (let next = first, start = 0; !next.done; next = await iterator.next()) {
            const { value: content } = next
            parts.push({ start, size: content.length, digest: hashOf('sha256', content) })
            start += content.length
            yield content
          }
        } finally {
          await iterator.return?.()
        }
      }
      const { locationId, sha256 } = await receive(whole())
      return parts.map((part) => ({ locationId, sha256, ...part }))
    },

    /** Keeps received contents; answers their ids in order. */
    async keep(tx: Tx, holder: string, contents: readonly ArrivedContent[]): Promise<number[]> {
      if (contents.length === 0) return []
      const { rows } = await tx.query<{ id: number }>(
        `insert into kept_content (location_id, sha256, start, size, digest, holder)
         select l, decode(h, 'hex'), b, s, case when d <> h then decode(d, 'hex') end, $6
         from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[]) with ordinality as x(l, h, b, s, d, n)
         order by n
         returning id`,
        [
          contents.map(({ locationId }) => locationId),
          contents.map(({ sha256 }) => sha256),
          contents.map(({ start }) => start),
          contents.map(({ size }) => size),
          contents.map(({ digest }) => digest),
          holder,
        ],
        'keep-contents',
      )
      return rows.map(({ id }) => id)
    },

    /** The existing ones of the contents, by their ids. */
    async find(from: Queryable, ids: readonly number[]): Promise<ReadonlyMap<number, KeptContent>> {
      const { rows } = await from.query<KeptContent>(
        `select k.id, location_id as "locationId", encode(sha256, 'hex') as sha256, k.start, k.size, b.size as whole,
           encode(coalesce(k.digest, sha256), 'hex') as digest, k.created_at as "createdAt"
         from kept_content k join file_blob b using (location_id, sha256) where k.id = any($1::bigint[])`,
        [ids],
        'kept-contents',
      )
      return new Map(rows.map((row) => [row.id, row]))
    },

    /** Its bytes, or some of them, both ends included. @throws {AppError} `ServiceUnavailable` */
    async read(content: ArrivedContent, range?: ByteRange): Promise<Readable> {
      const { start: from, size } = content
      if (size === 0) return Readable.from([], { objectMode: false })
      const { start, end } = range ?? { start: 0, end: size - 1 }
      return readStored(content, { start: from + start, end: from + end })
    },

    /** A reader for contents that are read one after the other. */
    reader: () => createKeptReader(readStored),

    storeOf: (locationId: number): Pick<BlobStore, 'read'> => locations.storeOf(locationId),
  }
}

/** Bytes that are read at once of a set; contents that are longer are read by themselves. */
const windowBytes = 1024 * 1024

/** Keeps the last read bytes of a set: the next content follows the last one. */
function createKeptReader(readStored: (content: ArrivedContent, range: ByteRange) => Promise<Readable>) {
  let window: { readonly of: KeptContent; readonly start: number; readonly bytes: Buffer } | null = null

  const isInside = ({ locationId, sha256, start, size }: KeptContent): boolean =>
    window !== null &&
    window.of.locationId === locationId &&
    window.of.sha256 === sha256 &&
    start >= window.start &&
    start + size <= window.start + window.bytes.length

  /** The bytes of a content. @throws {AppError} `ServiceUnavailable` */
  return async (content: KeptContent): Promise<Readable> => {
    const { start, size, whole, sha256, digest } = content
    if (size === 0) return Readable.from([], { objectMode: false })
    if (sha256 === digest || size > windowBytes) return readStored(content, { start, end: start + size - 1 })
    if (!isInside(content)) {
      // A bucket answers with fewer bytes where a range leads behind the end.
      const read = await readStored(content, { start, end: Math.min(start + windowBytes, whole) - 1 })
      window = { of: content, start, bytes: await bytesOf(read) }
    }
    if (!window || !isInside(content))
      throw new AppError('ServiceUnavailable', {}, { message: 'The content is cut off.' })
    const from = start - window.start
    return Readable.from([window.bytes.subarray(from, from + size)], { objectMode: false })
  }
}
