import { hash, randomBytes } from 'node:crypto'

/** A fresh access or refresh token: 256 random bits. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * The stored form of a token. A look-up by it needs no constant-time comparison: an attacker who can measure the time cannot choose
 * the hash.
 */
export function tokenHash(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

/** The same as text, for keys in memory. */
export function tokenKey(token: string): string {
  return hash('sha256', token, 'base64url')
}
