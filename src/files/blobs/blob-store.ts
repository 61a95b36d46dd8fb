import type { Readable } from 'node:stream'

/** Hexadecimal SHA-256 of a content: the only name that it has in a store. */
export type Sha256 = string

/** A content that has arrived whole, under a temporary name. */
export interface Received {
  readonly size: number
  /** Gives it its final name; it is on stable storage when this resolves. If the content exists already, nothing changes. */
  keep(sha256: Sha256): Promise<void>
  /** Removes it. */
  discard(): Promise<void>
}

/** A range of bytes of a content, both ends included. */
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
  /** The size of a content; null when it does not exist. */
  size(sha256: Sha256): Promise<number | null>
  /** The path of a content as a local file, for stores that are folders. The file may be missing. */
  readonly local?: (sha256: Sha256) => string
  /** Free bytes of the store, for stores that know it. */
  readonly free?: () => Promise<number>
  /** The content may already be removed. */
  remove(sha256: Sha256): Promise<void>
  /** Removes temporary names that have not been written to since then. Answers how many. */
  sweep(before: Date): Promise<number>
  /** All contents, in no order. */
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

/** `ab/cd/abcd…`: even with a hundred million contents, no folder has more than some thousands. */
export function pathOf(sha256: Sha256): string {
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new Error('not a hash')
  return `${sha256.slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`
}

/** The hash of the content at a path below the store's own; null when the path is not that of a content. */
export function hashIn(path: string): Sha256 | null {
  return /^([0-9a-f]{2})\/([0-9a-f]{2})\/(\1\2[0-9a-f]{60})$/.exec(path)?.[3] ?? null
}

/** Folder of temporary names. */
export const temporary = 'tmp'
