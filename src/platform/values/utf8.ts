import { isUtf8 } from 'node:buffer'
import { badRequest } from '../errors.ts'

/**
 * Where bytes stop being UTF-8, or -1. What decodes them would put U+FFFD in that place, and a text would be stored that
 * nobody has sent.
 */
export function invalidUtf8At(bytes: Buffer): number {
  if (isUtf8(bytes)) return -1
  const again = Buffer.from(bytes.toString())
  let at = 0
  while (bytes[at] === again[at] && at < bytes.length) at++
  return at
}

/** The text of bytes that came from outside. @throws {AppError} 400 that names `what`, and the byte from `start` on. */
export function utf8Text(bytes: Buffer, what: string, start = 0): string {
  const at = invalidUtf8At(bytes)
  if (at !== -1) throw notUtf8(what, start + at)
  return bytes.toString()
}

function notUtf8(what: string, byte: number): Error {
  return badRequest(`${what} is not UTF-8 at byte ${byte}.`, { byte })
}

/** Whether the escaped bytes of a text make UTF-8. A `%` that escapes nothing stands for itself. */
export function escapesUtf8(text: string): boolean {
  if (!text.includes('%')) return true
  try {
    decodeURIComponent(text.replaceAll(/%(?![\dA-Fa-f]{2})/g, '%25'))
    return true
  } catch {
    return false
  }
}

/** The text of a header, which Node reads as Latin-1: of its bytes where they are UTF-8, else as it is. */
export function headerText(header: string): string {
  const bytes = Buffer.from(header, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : header
}
