/** Exports as packages for archives: the same files, with manifests that others can check. */
import type { ArchiveEntry } from '../archive.ts'

export const packageKinds = ['bagit', 'ocfl', 'ro_crate'] as const
export type PackageKind = (typeof packageKinds)[number]

/** The metadata of a package. */
export interface PackageAbout {
  /** A unique address for this result. */
  readonly id: string
  readonly name: string
  readonly created: Date
  /** Name and version of the service. */
  readonly agent: string
  /** The user for whom it was made: a name, and an address that identifies the user. */
  readonly user: string
  readonly userAddress: string
}

/** The entries of a package of the files; each must be read before the next one. */
export type Package = (about: PackageAbout, files: AsyncIterable<ArchiveEntry>) => AsyncGenerator<ArchiveEntry>
