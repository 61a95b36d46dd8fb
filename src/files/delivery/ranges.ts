import type { ByteRange } from '../blobs/blob-store.ts'

const digits = /^\d{0,15}$/

/**
 * Reads a `Range` header (RFC 9110, 14.2): one range, `whole` for no header or one that is not understood, `none` when
 * the range starts behind the end. Several ranges at once get the whole content, as the RFC allows: no real client needs
 * a thousand parts of a film.
 */
export function readRange(header: string | undefined, size: number): ByteRange | 'whole' | 'none' {
  if (header === undefined) return 'whole'
  const [unit = '', wanted = '', ...others] = header.split('=')
  const [from = '', to, ...more] = wanted.split('-').map((each) => each.trim())
  const isBytes = unit.trim().toLowerCase() === 'bytes' && others.length === 0 && more.length === 0
  if (!isBytes || to === undefined || !digits.test(from) || !digits.test(to)) return 'whole'
  if (from === '' && to === '') return 'whole'
  if (from === '') {
    const length = Math.min(Number(to), size)
    return length === 0 ? 'none' : { start: size - length, end: size - 1 }
  }
  const start = Number(from)
  if (to !== '' && Number(to) < start) return 'whole'
  if (start >= size) return 'none'
  return { start, end: to === '' ? size - 1 : Math.min(Number(to), size - 1) }
}
