import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Db } from '../../platform/db.ts'

/** What an address stands for; the signature covers all of it. */
export interface Signed {
  readonly fileId: number
  readonly hash: string
  readonly version: string
}

export interface Signatures {
  /** When signatures end that hold for at least so many seconds: seconds since 1970, the same within an hour. */
  until(seconds: number): number
  /** The address's signature up to then, which `until` gave. */
  sign(signed: Signed, until: number): string
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
  return {
    until: (seconds) => Math.ceil((now() / 1000 + seconds) / step) * step,
    sign: (signed, until) => `${until.toString(36)}-${mac(signed, until).toString('base64url')}`,
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
