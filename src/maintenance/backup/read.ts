import { createReadStream, type ReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import { extract as tarExtract } from 'tar-stream'
import { type Manifest, manifestEntry, parseManifest } from './archive.ts'
import { plainTar } from './plain-tar.ts'

/** A manifest names every table and sequence once; a longer text is no manifest. */
const longestText = 64 * 1024 * 1024

interface Part {
  readonly header: { readonly name: string; readonly size: number }
  readonly chunks: AsyncIterable<Buffer>
  readonly text: () => Promise<string>
}

/** The entries of a backup in their order; each must be read before the next one. `read` resolves when the whole file was read. */
export function openArchive(file: string): {
  source: ReadStream
  entries: AsyncGenerator<Part>
  read: Promise<void>
} {
  const source = createReadStream(file)
  return { source, ...entriesFrom(source) }
}

/** The same for an archive that is not in a file. Ends when the source is destroyed. */
export function entriesFrom(source: Readable): { entries: AsyncGenerator<Part>; read: Promise<void> } {
  const archive = tarExtract()
  const read = pipeline(source, createZstdDecompress(), plainTar(longestText), archive).catch((error: unknown) => {
    throw meaningOf(error)
  })
  // The loop over the entries, which waits for it, reports its failure.
  read.catch(() => {})
  return { entries: entriesOf(archive), read }
}

/** The errors of the decompressor name technical causes; this returns their meaning for the person at the terminal. */
function meaningOf(cause: unknown): unknown {
  const { code = '', message } = cause as NodeJS.ErrnoException
  const unreadable =
    code.startsWith('ZSTD_') || code === 'Z_BUF_ERROR' || /tar header|unexpected end of (data|file)/i.test(message)
  return unreadable ? new Error(`the file is no backup, or it is damaged (${message})`, { cause }) : cause
}

async function* entriesOf(archive: ReturnType<typeof tarExtract>): AsyncGenerator<Part> {
  try {
    yield* partsOf(archive)
  } catch (error) {
    throw meaningOf(error)
  }
}

async function* partsOf(archive: ReturnType<typeof tarExtract>): AsyncGenerator<Part> {
  for await (const entry of archive) {
    const chunks = chunksOf(entry)
    const text = async (): Promise<string> => Buffer.concat(await Array.fromAsync(chunks)).toString('utf8')
    yield {
      header: { name: entry.header.name, size: entry.header.size ?? 0 },
      chunks,
      text,
    }
  }
}

/** The reader of an entry may be the first to find that the archive is truncated. */
async function* chunksOf(entry: AsyncIterable<unknown>): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of entry) yield chunk as Buffer
  } catch (error) {
    throw meaningOf(error)
  }
}

/**
 * The manifest of a backup, read before any change.
 * @throws {Error} with one line when it is none, or none for this instance and release.
 */
export async function readManifest(
  file: string,
  databaseName: string,
  migrations: readonly string[],
): Promise<Manifest> {
  const { source, entries } = openArchive(file)
  try {
    for await (const { header, text } of entries) {
      const manifest = manifestOf(header.name, await text(), databaseName)
      assertSameSchema(manifest, migrations)
      return manifest
    }
  } finally {
    source.destroy()
  }
  throw new Error('the file is no backup')
}

/** @throws {Error} with one line when it is no manifest, or that of another instance. */
export function manifestOf(name: string, text: string, databaseName: string): Manifest {
  if (name !== manifestEntry) throw new Error('the file is no backup')
  const manifest = parseManifest(text)
  if (manifest.databaseName === databaseName) return manifest
  throw new Error(`the backup is of the instance ${manifest.databaseName}: set svc.databaseName to that`)
}

/** @throws {Error} when the backup is of a database with other migrations. */
export function assertSameSchema(manifest: Manifest, migrations: readonly string[]): void {
  if (JSON.stringify(manifest.migrations.toSorted()) === JSON.stringify(migrations.toSorted())) return
  const known = new Set(migrations)
  if (manifest.migrations.every((name) => known.has(name))) throw otherSchema(manifest)
  throw new Error(`the backup was made by a newer release (${manifest.release}): restore it with that one`)
}

export function otherSchema({ release }: Manifest): Error {
  return new Error(
    `the backup is of release ${release} with another schema: restore it with that release, then upgrade`,
  )
}
