import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createGatherer, writeAll } from './gather.ts'

/** A part of a content, complete on the local disk. */
export interface SpooledPart {
  readonly bytes: number
  readonly isLast: boolean
  /** Its bytes, in memory. */
  read(): Promise<Buffer>
}

/**
 * Contents for stores that take whole parts: a part is on the local disk while it arrives, and in memory only when it is
 * sent. So slow senders, and many at once, take no memory.
 */
export function createSpool(folder: string) {
  const gathered = createGatherer()

  /** The parts of a content; each is valid until the next one is asked for. The last one is empty only if the content is. */
  return async function* parts(source: AsyncIterable<Buffer>, partSize: number): AsyncGenerator<SpooledPart> {
    await mkdir(folder, { recursive: true, mode: 0o750 })
    const path = join(folder, `${process.pid}-${crypto.randomUUID()}`)
    await using file = await open(path, 'wx+', 0o600)
    // Its space is free when it is closed, even if the process is killed.
    await rm(path)
    const read = async (bytes: number): Promise<Buffer> => {
      const content = Buffer.allocUnsafeSlow(bytes)
      for (let at = 0; at < bytes; ) at += (await file.read(content, at, bytes - at, at)).bytesRead
      return content
    }
    const part = (bytes: number, isLast: boolean): SpooledPart => ({ bytes, isLast, read: () => read(bytes) })
    let bytes = 0
    for await (const pieces of gathered(source)) {
      let rest = pieces
      while (rest.length > 0) {
        if (bytes === partSize) {
          yield part(bytes, false)
          bytes = 0
        }
        const [now, later] = splitAt(rest, partSize - bytes)
        bytes += await writeAll(file, now, bytes)
        rest = later
      }
    }
    yield part(bytes, true)
  }
}

/** The first pieces, with so many bytes at most, and the others. */
function splitAt(pieces: readonly Buffer[], most: number): [readonly Buffer[], readonly Buffer[]] {
  let left = most
  for (const [index, piece] of pieces.entries()) {
    if (piece.length > left) {
      const [first, second] = [piece.subarray(0, left), piece.subarray(left)]
      return [
        [...pieces.slice(0, index), ...(left > 0 ? [first] : [])],
        [second, ...pieces.slice(index + 1)],
      ]
    }
    left -= piece.length
  }
  return [pieces, []]
}
