import { createHmac, timingSafeEqual } from 'node:crypto'
import type { SigningKey, SigningKeys } from './signing-keys.ts'

/** The target of a signed address. The signature covers all its members. */
export interface Signed {
  readonly fileId: number
  readonly hash: string
  readonly version: string
}

export interface Signatures {
  /**
   * The expiry time of a signature that is valid for at least so many seconds: seconds since 1970, the same for calls
   * within an hour.
   */
  until(seconds: number): number
  /** The signature of an address until the time that `until` gave. */
  sign(signed: Signed, until: number): string
  /** Seconds for which the signature is still valid; null when it is not, or was not made by this instance. */
  left(signed: Signed, signature: string): number | null
}

/** Expiry times are full hours: an address stays the same for a while, so that browsers find the file in their cache. */
const step = 3600

/**
 * Signatures with the keys of the instance. A key that no longer signs has an end: no signature made with it is valid
 * after that.
 */
export function createSignatures([signing, ...others]: SigningKeys, now: () => number = Date.now): Signatures {
  return {
    until: (seconds) => Math.ceil((now() / 1000 + seconds) / step) * step,
    sign: (signed, until) => `${until.toString(36)}-${mac(signing, signed, until).toString('base64url')}`,
    left(signed, signature) {
      const [, until, given] = /^([0-9a-z]{1,8})-([\w-]{32})$/.exec(signature) ?? []
      if (until === undefined || given === undefined) return null
      const expires = Number.parseInt(until, 36)
      const sent = Buffer.from(given, 'base64url')
      const holds = (key: SigningKey): boolean =>
        expires * 1000 <= key.until && timingSafeEqual(mac(key, signed, expires), sent)
      if (!holds(signing) && !others.some(holds)) return null
      const left = expires - Math.floor(now() / 1000)
      return left > 0 ? left : null
    },
  }
}

function mac({ key }: SigningKey, { fileId, hash, version }: Signed, expires: number): Buffer {
  return createHmac('sha256', key)
    .update(JSON.stringify([fileId, hash, version, expires]))
    .digest()
    .subarray(0, 24)
}
