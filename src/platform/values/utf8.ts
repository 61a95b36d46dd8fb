import { isUtf8 } from 'node:buffer'
import { badRequest } from '../errors.ts'

/**
 * The position where bytes stop being valid UTF-8, or -1. A decoder would replace the invalid bytes by U+FFFD, and the stored text
 * would differ from the sent one.
 */
export function invalidUtf8At(bytes: Buffer): number {
  if (isUtf8(bytes)) return -1
  const again = Buffer.from(bytes.toString())
  let at = 0
  while (bytes[at] === again[at] && at < bytes.length) at++
  return at
}

/** Decodes bytes from outside. @throws {AppError} 400 that names `what`, and the byte from `start` on. */
export function utf8Text(bytes: Buffer, what: string, start = 0): string {
  const at = invalidUtf8At(bytes)
  if (at !== -1) throw notUtf8(what, start + at)
  return bytes.toString()
}

function notUtf8(what: string, byte: number): Error {
  return badRequest(`${what} is not UTF-8 at byte ${byte}.`, { byte })
}

/** Whether the escaped bytes of a text are valid UTF-8. A `%` that escapes nothing is literal. */
export function escapesUtf8(text: string): boolean {
  if (!text.includes('%')) return true
  try {
    decodeURIComponent(text.replaceAll(/%(?![\dA-Fa-f]{2})/g, '%25'))
    return true
  } catch {
    return false
  }
}

/** The text of a header, which Node reads as Latin-1: decoded as UTF-8 if its bytes are valid, else unchanged. */
export function headerText(header: string): string {
  const bytes = Buffer.from(header, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : header
}
