import type { Readable } from 'node:stream'

/** Hexadecimal SHA-256 of a content: the only name that it has in a store. */
export type Sha256 = string

/** A content that has arrived whole and is on stable storage, under a temporary name. */
export interface Received {
  readonly size: number
  /** Gives it its final name; it is on stable storage when this resolves. If the content exists already, nothing changes. */
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
 * A store for contents. Contents never change and are named by their hash: no name that a client gives to a file becomes
 * part of a path. An interrupted upload leaves at most a temporary name, which `sweep` removes.
 */
export interface BlobStore {
  /** Stores the bytes of the source; a slow store slows the source down. @throws errors of the source; then nothing stays. */
  receive(source: AsyncIterable<Buffer>): Promise<Received>
  /** @throws {BlobMissing} before anything is read. */
  read(sha256: Sha256, range?: ByteRange): Promise<Readable>
  /** Its size; null when it is not there. */
  size(sha256: Sha256): Promise<number | null>
  /** Where programs of the machine find it as a file, for places that are folders. It may be missing there. */
  readonly local?: (sha256: Sha256) => string
  /** Bytes that are free there, for places that know it. */
  readonly free?: () => Promise<number>
  /** The content may already be removed. */
  remove(sha256: Sha256): Promise<void>
  /** Removes temporary names that have not been written to since then. Answers how many. */
  sweep(before: Date): Promise<number>
  /** Everything that is there, in no order. */
  list(): AsyncIterable<StoredBlob>
  /** Writes, reads and removes a small content. @throws {Error} with the reason. */
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
