import type { Readable } from 'node:stream'

/** Pieces of bodies that nobody has but whoever takes them. */
const own = new WeakSet<Buffer>()
const ownStreams = new WeakSet<Readable>()

/** Says that a piece belongs to whoever takes it: it may be given back when it is no longer needed. */
export function transfer(piece: Buffer): Buffer {
  if (piece.byteLength === piece.buffer.byteLength) own.add(piece)
  return piece
}

/**
 * Says that somebody keeps a piece, so that it is not given back. What is kept is the piece, or a copy of it where it is a
 * part of Node's pool: a few bytes of that would keep all 64 KB around them.
 */
export function retain(piece: Buffer): Buffer {
  own.delete(piece)
  if (piece.byteLength === piece.buffer.byteLength) return piece
  const alone = Buffer.allocUnsafeSlow(piece.byteLength)
  piece.copy(alone)
  return alone
}

/** Whether a piece belongs to whoever takes it. */
export const isTransferred = (piece: Buffer): boolean => own.has(piece)

/** Says that all pieces of a stream belong to whoever takes them. */
export function transferAll<T extends Readable>(source: T): T {
  ownStreams.add(source)
  return source
}

/** Whether the pieces of a stream belong to whoever takes them. */
export const isTransferredStream = (source: Readable): boolean => ownStreams.has(source)

/**
 * Gives back the memory of those pieces that were handed over; they are empty afterwards. Until V8 looks by itself, pieces that
 * nobody needs any more count as memory in use, and the sooner it goes through the whole heap: for uploads of 2.3 MB that took
 * 40 ms of processor time each, half of all that the service did for one.
 */
export function release(pieces: Iterable<Buffer>): void {
  for (const piece of pieces) if (own.delete(piece)) (piece.buffer as ArrayBuffer).transfer(0)
}
