/** Contents that belong to no file: results of work. Rows of other tables say how long they are kept. */
import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { AppError } from '../../platform/errors.ts'
import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'
import type { BlobStore, ByteRange, Sha256 } from '../blobs/blob-store.ts'
import type { Locations } from '../locations/service.ts'
import { announceBlobs } from '../records/store.ts'

/** A content that is stored in a location and has no owner yet. It is removed within a day unless a row refers to it. */
export interface ArrivedContent {
  readonly locationId: number
  readonly sha256: Sha256
  readonly size: number
}

export interface KeptContent extends ArrivedContent {
  readonly id: number
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
  return {
    /** Stores a content as a stream. An interrupted transfer leaves nothing. */
    async receive(source: AsyncIterable<Buffer>): Promise<ArrivedContent> {
      const { id: locationId, store } = locations.forVersions()
      const hash = createHash('sha256')
      async function* hashed(): AsyncGenerator<Buffer> {
        for await (const piece of source) {
          hash.update(piece)
          yield piece
        }
      }
      const received = await store.receive(hashed())
      const arrived = { locationId, sha256: hash.digest('hex'), size: received.size }
      try {
        await announceBlobs(db, [arrived])
        await received.keep(arrived.sha256)
      } catch (error) {
        await received.discard().catch(() => {})
        throw error
      }
      return arrived
    },

    /** Keeps received contents; answers their ids in order. */
    async keep(tx: Tx, holder: string, contents: readonly ArrivedContent[]): Promise<number[]> {
      if (contents.length === 0) return []
      const { rows } = await tx.query<{ id: number }>(
        `insert into kept_content (location_id, sha256, size, holder)
         select l, decode(h, 'hex'), s, $4
         from unnest($1::bigint[], $2::text[], $3::bigint[]) with ordinality as x(l, h, s, n) order by n
         returning id`,
        [
          contents.map(({ locationId }) => locationId),
          contents.map(({ sha256 }) => sha256),
          contents.map(({ size }) => size),
          holder,
        ],
        'keep-contents',
      )
      return rows.map(({ id }) => id)
    },

    async find(from: Queryable, id: number): Promise<KeptContent | null> {
      const { rows } = await from.query<KeptContent>(
        `select id, location_id as "locationId", encode(sha256, 'hex') as sha256, size, created_at as "createdAt"
         from kept_content where id = $1`,
        [id],
        'kept-content',
      )
      return rows[0] ?? null
    },

    /** @throws {AppError} `ServiceUnavailable` */
    async read({ locationId, sha256, size }: ArrivedContent, range?: ByteRange): Promise<Readable> {
      try {
        return await locations.storeOf(locationId).read(sha256, size === 0 ? undefined : range)
      } catch (cause) {
        throw new AppError('ServiceUnavailable', {}, { message: 'The content cannot be read now.', cause })
      }
    },

    storeOf: (locationId: number): Pick<BlobStore, 'read'> => locations.storeOf(locationId),
  }
}
