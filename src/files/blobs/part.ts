import type { ByteRange } from './blob-store.ts'

/** Reads a part of a content that can only be read from its beginning. */
export async function* partOf(content: AsyncIterable<Buffer>, { start, end }: ByteRange): AsyncGenerator<Buffer> {
  let at = 0
  for await (const chunk of content) {
    const from = Math.max(0, start - at)
    const to = Math.min(chunk.length, end + 1 - at)
    if (from < to) yield chunk.subarray(from, to)
    at += chunk.length
    if (at > end) return
  }
}
