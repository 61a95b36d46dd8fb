import type { ArchiveEntry } from '../archive.ts'
import { bagit } from './bagit.ts'
import type { Package, PackageAbout, PackageKind } from './model.ts'
import { ocfl } from './ocfl.ts'
import { roCrate } from './ro-crate.ts'

/** Most packages are in a separate folder of their archive; a crate is at the top of it. */
const kinds: Readonly<Record<PackageKind, { readonly write: Package; readonly inFolder: boolean }>> = {
  bagit: { write: bagit, inFolder: true },
  ocfl: { write: ocfl, inFolder: true },
  ro_crate: { write: roCrate, inFolder: false },
}

/** The files as a package; for an archive, `folder` is the folder in it. */
export async function* packaged(
  kind: PackageKind,
  about: PackageAbout,
  files: AsyncIterable<ArchiveEntry>,
  folder: string | null,
): AsyncGenerator<ArchiveEntry> {
  const { write, inFolder } = kinds[kind]
  const base = inFolder && folder !== null ? `${folder}/` : ''
  for await (const entry of write(about, files)) yield { ...entry, path: base + entry.path }
}
