import type { Readable } from 'node:stream'

/** Hexadecimal SHA-256 of a content: the only name that it has in a store. */
export type Sha256 = string

/** A content that has arrived whole and lies on stable storage, under a temporary name. */
export interface Received {
  readonly size: number
  /** Gives it its name; on stable storage when it resolves. It may lie there already: then nothing changes. */
  keep(sha256: Sha256): Promise<void>
  /** Removes it. */
  discard(): Promise<void>
}

/** Bytes of a content, both included. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

export interface StoredBlob {
  readonly sha256: Sha256
  readonly size: number
}

/**
 * A place for contents. They never change, and lie under their hash: whatever a client calls a file never becomes part of
 * a path. What is interrupted leaves a temporary name at most, which `sweep` removes.
 */
export interface BlobStore {
  /** Stores what the source gives, as slowly as it takes. @throws what the source throws; then nothing stays. */
  receive(source: AsyncIterable<Buffer>): Promise<Received>
  /** @throws {BlobMissing} before anything is read. */
  read(sha256: Sha256, range?: ByteRange): Promise<Readable>
  /** Its size; null when it is not there. */
  size(sha256: Sha256): Promise<number | null>
  /** Where programs of the machine find it as a file, for places that are folders. It may be missing there. */
  readonly local?: (sha256: Sha256) => string
  /** Bytes that are free there, for places that know it. */
  readonly free?: () => Promise<number>
  /** It may be gone already. */
  remove(sha256: Sha256): Promise<void>
  /** Removes temporary names that nobody has written to since then. Answers how many. */
  sweep(before: Date): Promise<number>
  /** Everything that is there, in no order. */
  list(): AsyncIterable<StoredBlob>
  /** Writes, reads and removes something small. @throws {Error} that says what is wrong. */
  probe(options: { readOnly: boolean }): Promise<void>
  close(): void
}

export class BlobMissing extends Error {
  constructor(sha256: Sha256, options?: ErrorOptions) {
    super(`there is no content ${sha256}`, options)
  }
}

/** `ab/cd/abcd…`: no folder holds more than some thousands even of a hundred million contents. */
export function pathOf(sha256: Sha256): string {
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new Error('not a hash')
  return `${sha256.slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`
}

/** The hash of the content at a path below the place's own; null when it is no content. */
export function hashIn(path: string): Sha256 | null {
  return /^([0-9a-f]{2})\/([0-9a-f]{2})\/(\1\2[0-9a-f]{60})$/.exec(path)?.[3] ?? null
}

/** Folder of temporary names. */
export const temporary = 'tmp'
