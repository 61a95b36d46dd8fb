import { createHash, type Hash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import type { Progress } from '../../platform/process/progress.ts'
import { type End, endEntry, locationKey, type Manifest, parseEnd, type TableSum, tableFolder } from './archive.ts'
import { assertSameSchema, manifestOf, openArchive } from './read.ts'
import { compare, compareContents } from './restore.ts'
import { nameOf } from './tables.ts'

export interface CheckedBackup {
  readonly manifest: Manifest
  readonly rows: number
  readonly contents: number
  /** Contents that were missing or damaged when the backup was made. */
  readonly harmed: readonly string[]
}

/** A sum that is updated with each entry. */
interface Sum {
  readonly hash: Hash
  rows: number
}

/**
 * Reads a whole backup as a restore would, and restores nothing.
 * @throws {Error} with the reason, in one line, why it cannot be restored by this release into this instance.
 */
export async function checkBackup(options: {
  readonly file: string
  readonly databaseName: string
  readonly migrations: readonly string[]
  readonly progress: Progress
}): Promise<CheckedBackup> {
  const { file, databaseName, migrations, progress } = options
  const { source, entries, read } = openArchive(file)
  progress.start('Verify', (await stat(file)).size)
  let told = 0
  let manifest: Manifest | null = null
  let end: End | null = null
  const tables = new Map<string, Sum>()
  const contents = readContents()
  try {
    for await (const { header, ...part } of entries) {
      progress.advance(source.bytesRead - told)
      told = source.bytesRead
      if (end) throw new Error(`the backup has an entry ${header.name} behind its end`)
      if (!manifest) {
        manifest = manifestOf(header.name, await part.text(), databaseName)
        assertSameSchema(manifest, migrations)
      } else if (header.name === endEntry) end = parseEnd(await part.text())
      else if (header.name.startsWith('contents/')) await contents.take(header.name, part.chunks)
      else await takeRows(manifest, tables, header.name, part.chunks)
    }
    await read
  } finally {
    source.destroy()
    progress.stop()
  }
  if (!manifest || !end) throw new Error('the backup was cut off: its end is missing')
  const rows = compare(end, digests(tables), manifest.tables)
  const { sums, count, harmed } = contents.end()
  compareContents(end, sums, manifest.contents ?? [])
  return { manifest, rows, contents: count, harmed }
}

async function takeRows(manifest: Manifest, sums: Map<string, Sum>, name: string, chunks: AsyncIterable<Buffer>) {
  const folder = name.slice(0, name.lastIndexOf('/') + 1)
  const table = manifest.tables.find((one) => tableFolder(one) === folder)
  if (!table) throw new Error(`the backup has an entry ${name} that does not belong there`)
  const sum = sums.get(nameOf(table)) ?? { hash: createHash('sha256'), rows: 0 }
  sums.set(nameOf(table), sum)
  for await (const chunk of chunks) {
    sum.hash.update(chunk)
    // Rows end with a line feed; one inside a value is written as `\n`.
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) sum.rows++
  }
}

function digests(sums: ReadonlyMap<string, Sum>): ReadonlyMap<string, TableSum> {
  return new Map([...sums].map(([name, { hash, rows }]) => [name, { rows, sha256: hash.digest('hex') }]))
}

const contentEntry = /^contents\/(\d{1,15})\/([0-9a-f]{64})\/\d{4,}$/
const mostNamed = 20

/** Contents come in pieces, one content after the other. */
function readContents() {
  const sums = new Map<string, Sum>()
  const harmed: string[] = []
  let count = 0
  let open: { readonly location: string; readonly sha256: string; readonly hash: Hash } | null = null
  const close = (): void => {
    if (!open) return
    const { location, sha256, hash } = open
    const found = hash.digest('hex')
    const key = locationKey(Number(location))
    const sum = sums.get(key) ?? { hash: createHash('sha256'), rows: 0 }
    sums.set(key, sum)
    sum.rows++
    sum.hash.update(`${sha256} ${found}\n`)
    count++
    if (found !== sha256 && harmed.length < mostNamed) harmed.push(sha256)
    open = null
  }
  return {
    async take(name: string, chunks: AsyncIterable<Buffer>): Promise<void> {
      const [, location = '', sha256 = ''] = contentEntry.exec(name) ?? []
      if (sha256 === '') throw new Error(`the backup has an entry ${name} that does not belong there`)
      if (open?.sha256 !== sha256 || open.location !== location) close()
      open ??= { location, sha256, hash: createHash('sha256') }
      for await (const chunk of chunks) open.hash.update(chunk)
    },
    end() {
      close()
      return { sums: digests(sums), count, harmed }
    },
  }
}
