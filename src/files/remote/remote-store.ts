import { Readable } from 'node:stream'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { Seal } from '../../platform/secrets/seal.ts'
import { BlobMissing, type BlobStore, type ByteRange } from '../blobs/blob-store.ts'
import { partOf } from '../blobs/part.ts'
import { type WebAddress, webAddressesOf } from './addresses.ts'
import type { OpenRemote } from './open.ts'

/** Id of the location of contents that stay on the web (migration 0220). */
export const remoteLocation = 0
export const remoteLocationName = ':remote'

/** Contents on the web. They are read like all others, but cannot be stored or removed. */
interface RemoteStoreOptions {
  readonly db: Queryable
  readonly seal: Seal
  readonly open: OpenRemote
}

export function createRemoteStore({ db, seal, open }: RemoteStoreOptions): BlobStore {
  async function openOne({ url, etag, size }: WebAddress, range?: ByteRange): Promise<Readable> {
    if (url === null) throw new Error('the address of the content is sealed with a key that is not here')
    const answer = await open(url, range ? { range: `bytes=${range.start}-${range.end}` } : {})
    const whole = answer.status === 200
    const told = whole ? answer.headers['content-length'] : /\/(\d+)$/.exec(answer.headers['content-range'] ?? '')?.[1]
    const other = etag !== null && answer.headers.etag !== undefined && answer.headers.etag !== etag
    if ((!whole && answer.status !== 206) || other || (told !== undefined && Number(told) !== size)) {
      answer.close()
      throw new Error(`the content at ${new URL(url).host} is not what it was`)
    }
    // Not every server supports ranges.
    return Readable.from(whole && range ? partOf(answer.content(), range) : answer.content(), { objectMode: false })
  }

  return {
    async read(sha256, range) {
      const places = await webAddressesOf(db, seal, sha256)
      let failure: unknown
      for (const place of places) {
        try {
          return await openOne(place, range)
        } catch (error) {
          failure = error
        }
      }
      throw failure ?? new BlobMissing(sha256)
    },
    async size(sha256) {
      for (const place of await webAddressesOf(db, seal, sha256)) {
        const stream = await openOne(place).catch(() => null)
        stream?.destroy()
        if (stream) return place.size
      }
      return null
    },
    receive: () => Promise.reject(new Error('nothing is stored on the web')),
    // Rows of addresses are deleted with the row of the content.
    remove: async () => {},
    sweep: async () => 0,
    async *list() {},
    probe: async () => {},
    close() {},
  }
}
