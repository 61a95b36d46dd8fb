import type { ByteRange } from '../blobs/blob-store.ts'

const digits = /^\d{0,15}$/

/**
 * What of a content a `Range` header asks for (RFC 9110, 14.2): one range, `whole` when there is none or one that is not
 * understood, `none` when it lies behind the end. Several at once get the whole, as the RFC allows: who asks for
 * a thousand parts of a film is no help to anybody.
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
