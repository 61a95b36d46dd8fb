import { hash, randomBytes } from 'node:crypto'

/** A fresh access or refresh token: 256 random bits. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

/** What is stored of a token. Looking up by it needs no constant-time comparison: who could time it cannot steer it. */
export function tokenHash(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

/** The same as text, for keys in memory. */
export function tokenKey(token: string): string {
  return hash('sha256', token, 'base64url')
}
