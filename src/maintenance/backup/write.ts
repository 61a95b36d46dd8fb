import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress } from 'node:zlib'
import type { PoolClient } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { type Pack, pack as tarPack } from 'tar-stream'
import { type BackupLocation, backupLocations, holdContents } from '../../files/service.ts'
import type { Config } from '../../platform/config/config.ts'
import type { Db } from '../../platform/postgres/db.ts'
import type { Progress } from '../../platform/process/progress.ts'
import { version } from '../../platform/version.ts'
import {
  type End,
  endEntry,
  format,
  locationKey,
  type Manifest,
  manifestEntry,
  type TableSum,
  tableFolder,
} from './archive.ts'
import {
  type AddStream,
  type BackupFolder,
  type CopiedContents,
  copyContents,
  countContents,
  streamInto,
} from './contents-out.ts'
import { columnList, contentTables, countRows, nameOf, sequenceStates, type TableContent } from './tables.ts'

/** Bytes of rows in one entry of the archive; this amount is held in memory. */
const pieceSize = 1024 * 1024

export interface BackupOptions {
  db: Db
  config: Pick<Config, 'databaseName' | 'dataDir' | 'fileFolders'>
  file: string
  /** Whether contents of files in folders are copied, too. */
  withFiles: boolean
  /** Tables whose rows are left out. */
  without?: readonly string[]
  progress: Progress
}

/** A location whose contents were not copied. */
export interface LeftContents {
  readonly place: BackupLocation
  readonly count: number
  readonly size: number
}

/** Totals of a finished backup. */
export interface BackupSummary {
  tables: number
  rows: number
  bytes: number
  readonly copied: readonly CopiedContents[]
  readonly left: readonly LeftContents[]
}

/**
 * Writes a snapshot of all data into a file, while the service continues to save. The file appears under its name when it is
 * complete and on disk.
 * @throws {Error} when the file exists, or anything fails; then no file is left.
 */
export async function writeBackup({ file, ...options }: BackupOptions): Promise<BackupSummary> {
  const partial = `${file}.partial`
  // A reader of the file can find out weak passwords and sign in with them: only its owner may read it.
  const target = await open(partial, 'wx', 0o600)
  try {
    const existing = await open(file, 'r').catch(() => null)
    await existing?.close()
    if (existing) throw new Error(`${file} exists already`)
    const archive = tarPack()
    const written = pipeline(
      archive,
      createZstdCompress(),
      createWriteStream(partial, { fd: target.fd, autoClose: false }),
    )
    // On a full disk the writer ends, and would never take the data.
    const add: AddEntry = (name, content) => Promise.race([addEntry(archive, name, content), never(written)])
    const stream = streamInto(archive)
    const addStream: AddStream = (...entry) => Promise.race([stream(...entry), never(written)])
    const summary = await fill(add, addStream, options).catch(async (error: Error) => {
      archive.destroy(error)
      await written.catch(() => {})
      throw error
    })
    archive.finalize()
    await written
    await target.sync()
    const { size } = await target.stat()
    await rename(partial, file)
    await syncFolder(dirname(file))
    return { ...summary, bytes: size }
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  } finally {
    await target.close()
  }
}

type AddEntry = (name: string, content: Buffer) => Promise<void>

/** Resolves when the archive has room for more. */
function addEntry(archive: Pack, name: string, content: Buffer): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const entry = archive.entry({ name, mtime: new Date(0) }, content, (error) => (error ? reject(error) : resolve()))
  // Without a listener the same error, as an event, would end the process.
  entry.on('error', reject)
  return promise
}

/** Rejects like the other promise, but never resolves. */
function never(other: Promise<unknown>): Promise<never> {
  return new Promise((_, reject) => other.catch(reject))
}

async function fill(add: AddEntry, addStream: AddStream, options: Omit<BackupOptions, 'file'>) {
  const { db, config, withFiles, without = [], progress } = options
  const client = await db.connect()
  try {
    await client.query('set lock_timeout = 0')
    if (withFiles) await holdContents(client)
    await client.query('begin isolation level repeatable read read only')
    const tables = await contentTables(client)
    const counts = await countRows(client, tables)
    // After the snapshot is taken, so that no id in it is ahead of its sequence.
    const sequences = await sequenceStates(client)
    const places = await backupLocations(client, { dataDir: config.dataDir, folders: config.fileFolders })
    const folders = withFiles ? places.filter(isFolder) : []
    const manifest: Manifest = {
      format,
      contents: folders.map(({ id }) => id),
      release: version,
      taken: new Date().toISOString(),
      migrations: await column<string>(client, 'select name as value from migration order by name'),
      queueMigrations: await column<number>(client, 'select id as value from graphile_worker.migrations order by id'),
      databaseName: config.databaseName,
      tables,
      sequences,
    }
    await add(manifestEntry, Buffer.from(JSON.stringify(manifest)))
    const rows = counts.reduce((sum, count) => sum + count, 0)
    progress.start('Backup', rows)
    const end: Record<string, TableSum> = {}
    for (const table of tables) {
      end[nameOf(table)] = without.includes(table.name) ? noRows : await copyTable(add, client, table, progress)
    }
    const counted = await countContents(client)
    const copied: CopiedContents[] = []
    for (const place of folders) {
      progress.start('Files', counted.get(place.id)?.count ?? 0)
      const { sum, ...done } = await copyContents(addStream, client, place, progress)
      end[locationKey(place.id)] = sum
      copied.push(done.copied)
    }
    await add(endEntry, Buffer.from(JSON.stringify(end satisfies End)))
    await client.query('commit')
    const left = places
      .filter((place) => !folders.some(({ id }) => id === place.id))
      .flatMap((place) => ({ place, count: 0, size: 0, ...counted.get(place.id) }))
    return { tables: tables.length, rows, copied, left: left.filter(({ count }) => count > 0) }
  } finally {
    // A connection in the middle of a COPY cannot be reused.
    client.release(true)
    progress.stop()
  }
}

const noRows: TableSum = { rows: 0, sha256: createHash('sha256').digest('hex') }

const isFolder = (place: BackupLocation): place is BackupFolder => place.folder !== null

async function copyTable(
  add: AddEntry,
  client: PoolClient,
  table: TableContent,
  progress: Progress,
): Promise<TableSum> {
  const hash = createHash('sha256')
  let rows = 0
  let piece: Buffer[] = []
  let size = 0
  let number = 0
  const flush = async (): Promise<void> => {
    if (size === 0) return
    const name = `${tableFolder(table)}${String(++number).padStart(8, '0')}`
    await add(name, Buffer.concat(piece, size))
    piece = []
    size = 0
  }
  const stream = client.query(copyTo(`copy ${nameOf(table)} (${columnList(table.columns)}) to stdout`))
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    hash.update(chunk)
    const lines = countLines(chunk)
    rows += lines
    progress.advance(lines)
    piece.push(chunk)
    size += chunk.length
    if (size >= pieceSize) await flush()
  }
  await flush()
  return { rows, sha256: hash.digest('hex') }
}

/** Rows end with a line feed; one inside a value is written as `\n`. */
function countLines(chunk: Buffer): number {
  let lines = 0
  for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines++
  return lines
}

async function column<T>(client: PoolClient, text: string): Promise<T[]> {
  const { rows } = await client.query<{ value: T }>(text)
  return rows.map((row) => row.value)
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
