import { randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'

/** The algorithm that every authenticator app supports: six digits, thirty seconds, SHA-1. @see RFC 6238 */
const period = 30
const digits = 6
/** Number of steps before and after the current one whose codes are accepted: clocks differ, and people type slowly. */
const window = 1

/** 160 bits, as RFC 4226 (R6) recommends. */
export const newSecret = (): Buffer => randomBytes(20)

/** The purpose under which the secret of a user is sealed. */
export const totpAbout = (userId: number): string => `totp:${userId}`

interface Label {
  readonly issuer: string
  readonly label: string
}

function totpOf(secret: Buffer, { issuer, label }: Label): TOTP {
  // A colon separates issuer and label in the address.
  const [clearIssuer, clearLabel] = [issuer, label].map((text) => text.replaceAll(':', ' '))
  return new TOTP({
    secret: new Secret({ buffer: Uint8Array.from(secret).buffer }),
    period,
    digits,
    algorithm: 'SHA1',
    issuer: clearIssuer ?? '',
    label: clearLabel ?? '',
  })
}

/** The content of the QR code for the app. */
export const addressOf = (secret: Buffer, label: Label): string => totpOf(secret, label).toString()

/** The key for typing: base32 in groups of four. */
export function keyOf(secret: Buffer): string {
  const { base32 } = totpOf(secret, { issuer: '', label: '' }).secret
  return base32.match(/.{1,4}/g)?.join(' ') ?? ''
}

/** The time step of a code; null when the code is not valid now. */
export function stepOf(secret: Buffer, typed: string, now: Date): number | null {
  const code = typed.replaceAll(/\s/g, '')
  if (!/^\d{6}$/.test(code)) return null
  const timestamp = now.getTime()
  const delta = totpOf(secret, { issuer: '', label: '' }).validate({ token: code, timestamp, window })
  return delta === null ? null : Math.floor(timestamp / 1000 / period) + delta
}
