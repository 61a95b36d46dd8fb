import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { createByteCache } from '../../platform/byte-cache.ts'
import type { Db } from '../../platform/db.ts'

/** What an address stands for; the signature covers all of it. */
export interface Signed {
  readonly fileId: number
  readonly hash: string
  readonly version: string
}

export interface Signatures {
  /** The address's signature; it holds for at least so many seconds. The same for all who ask within an hour. */
  sign(signed: Signed, seconds: number): string
  /** Seconds for which the signature still holds; null when it does not, or is not one of ours. */
  left(signed: Signed, signature: string): number | null
}

/** Expiries end with an hour, so that an address stays the same for a while and browsers know what they have. */
const step = 3600

/** Signatures with the key of the instance, which the first process makes. */
export async function openSignatures(db: Db, now: () => number = Date.now): Promise<Signatures> {
  await db.query('insert into file_key (key) values ($1) on conflict do nothing', [randomBytes(32)])
  const { rows } = await db.query<{ key: Buffer }>('select key from file_key')
  const key = rows[0]?.key
  if (!key) throw new Error('there is no key for the addresses of files')
  const mac = ({ fileId, hash, version }: Signed, expires: number): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([fileId, hash, version, expires]))
      .digest()
      .subarray(0, 24)
  /** A page of objects has thousands of addresses, the same for everybody within an hour. */
  const kept = createByteCache<string, { readonly hash: string; readonly expires: number; readonly text: string }>({
    name: 'file_signatures',
    maxBytes: 8_000_000,
    sizeOf: ({ text }) => 100 + text.length,
  })
  return {
    sign(signed, seconds) {
      const expires = Math.ceil((now() / 1000 + seconds) / step) * step
      const name = `${signed.fileId} ${signed.version}`
      const known = kept.get(name)
      if (known?.hash === signed.hash && known.expires === expires) return known.text
      const text = `${expires.toString(36)}-${mac(signed, expires).toString('base64url')}`
      kept.set(name, { hash: signed.hash, expires, text })
      return text
    },
    left(signed, signature) {
      const [, until, given] = /^([0-9a-z]{1,8})-([\w-]{32})$/.exec(signature) ?? []
      if (until === undefined || given === undefined) return null
      const expires = Number.parseInt(until, 36)
      if (!timingSafeEqual(mac(signed, expires), Buffer.from(given, 'base64url'))) return null
      const left = expires - Math.floor(now() / 1000)
      return left > 0 ? left : null
    },
  }
}
