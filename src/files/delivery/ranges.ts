import type { ByteRange } from '../blobs/blob-store.ts'

/**
 * What of a content a `Range` header asks for (RFC 9110, 14.2): one range, `whole` when there is none or one that is not
 * understood, `none` when it lies behind the end. Several at once get the whole, as the RFC allows: who asks for
 * a thousand parts of a film is no help to anybody.
 */
export function readRange(header: string | undefined, size: number): ByteRange | 'whole' | 'none' {
  if (header === undefined) return 'whole'
  const [, from, to] = /^\s*bytes\s*=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/i.exec(header) ?? []
  if (from === undefined || to === undefined || (from === '' && to === '')) return 'whole'
  if (from === '') {
    const length = Math.min(Number(to), size)
    return length === 0 ? 'none' : { start: size - length, end: size - 1 }
  }
  const start = Number(from)
  if (to !== '' && Number(to) < start) return 'whole'
  if (start >= size) return 'none'
  return { start, end: to === '' ? size - 1 : Math.min(Number(to), size - 1) }
}
