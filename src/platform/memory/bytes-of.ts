import type { Readable } from 'node:stream'

/** All bytes of a short stream; `buffer` of Node goes by a Blob, which takes twice as long for some hundred bytes. */
export async function bytesOf(stream: Readable): Promise<Buffer> {
  const pieces = await Array.fromAsync(stream as AsyncIterable<Buffer>)
  const [only] = pieces
  return pieces.length === 1 && only ? only : Buffer.concat(pieces)
}
