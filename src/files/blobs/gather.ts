import type { FileHandle } from 'node:fs/promises'
import { release } from '../../platform/memory/buffer-ownership.ts'

/** Bytes that are written at once: data from the network arrives in small pieces. */
const batchBytes = 256 * 1024
/** The memory of a piece beside its bytes: a sender may send single bytes. */
const pieceBytes = 1024

/**
 * Gathers pieces of contents that arrive, to be written together. All contents together hold `mostHeld` bytes; beyond that,
 * pieces are written as they arrive: thousands of slow senders take no more memory than that.
 */
export function createGatherer(mostHeld = 16 * 1024 * 1024) {
  let held = 0

  async function* gathered(source: AsyncIterable<Buffer>): AsyncGenerator<readonly Buffer[]> {
    let pieces: Buffer[] = []
    let own = 0
    try {
      for await (const piece of source) {
        if (piece.length === 0) continue
        pieces.push(piece)
        own += piece.length + pieceBytes
        held += piece.length + pieceBytes
        if (own < batchBytes && held < mostHeld) continue
        yield pieces
        held -= own
        own = 0
        pieces = []
      }
      if (pieces.length > 0) yield pieces
    } finally {
      held -= own
    }
  }

  return gathered
}

/** Writes pieces one behind the other, and releases them. Answers the number of bytes. */
export async function writeAll(file: FileHandle, pieces: readonly Buffer[], position?: number): Promise<number> {
  const size = pieces.reduce((sum, { length }) => sum + length, 0)
  let { bytesWritten: at } = await file.writev(pieces, position)
  const whole = at === size ? null : Buffer.concat(pieces)
  while (whole && at < size) {
    const { bytesWritten } = await file.write(whole, at, size - at, position === undefined ? null : position + at)
    at += bytesWritten
  }
  release(pieces)
  return size
}
