import { hash, randomInt } from 'node:crypto'

const count = 10
/** Characters that are not confused when copied by hand. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'
const length = 16

/** Ten new codes of 79 random bits each: a hash of so many bits needs to be neither slow nor salted. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: count }, () =>
    Array.from({ length }, () => alphabet[randomInt(alphabet.length)])
      .join('')
      .replace(/(.{4})(?!$)/g, '$1-'),
  )
}

/** The stored form of a code; the same for every way to type it. */
export function recoveryHash(userId: number, typed: string): Buffer {
  const code = typed.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  return hash('sha256', `${userId}:${code}`, 'buffer')
}
