import type { Sha256 } from './blobs/blob-store.ts'
import type { FileClass } from './classes.ts'
import type { Rendition } from './records/rendition.ts'

/** The class of a file, for rights. */
export type { FileClass } from './classes.ts'

/** A version of a file: the original or a rendition. */
export interface FileVersion {
  readonly name: string
  readonly locationId: number
  readonly sha256: Sha256
  readonly size: number
  readonly extension: string
  readonly class: FileClass
  readonly mimeType: string
  readonly status: string
  readonly statusAt: Date
  readonly createdAt: Date
  readonly metadata: Readonly<Record<string, unknown>>
}

export interface StoredFile {
  readonly id: number
  readonly parentId: number | null
  readonly reference: string | null
  readonly uploadUser: number
  readonly uploadedAt: Date
  readonly filepath: string
  /** `original` first. */
  readonly versions: readonly FileVersion[]
  /** The progress of its renditions; finished ones are also among the versions. */
  readonly renditions: readonly Rendition[]
}

/** The name of the uploaded version. */
export const original = 'original'

export function originalOf(file: StoredFile): FileVersion {
  const version = file.versions.find(({ name }) => name === original)
  if (!version) throw new Error(`file ${file.id} has no original`)
  return version
}

/**
 * Most bits in which hashes of similar pictures may differ. A hash has four bands of 16 bits; with up to 7 different
 * bits, at least one band differs in no more than one bit. An index finds hashes by these bands, so it finds all of them.
 */
export const mostBits = 7

/** A picture that looks like another one. */
export interface Similar {
  readonly id: number
  /** The number of bits in which the hashes differ. */
  readonly bits: number
  /** The contents are equal, bit by bit. */
  readonly same: boolean
}

/** The user for whom work on a file is done: all work of one user shares a number of places. */
export function whoOf({ uploadUser }: Pick<StoredFile, 'uploadUser'>): string {
  return `user ${uploadUser}`
}
