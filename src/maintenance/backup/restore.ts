import { createHash, type Hash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { ClientBase, PoolClient } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { Config } from '../../platform/config/config.ts'
import type { Db } from '../../platform/postgres/db.ts'
import type { RestoreMark } from '../../platform/postgres/instance-id.ts'
import type { Progress } from '../../platform/process/progress.ts'
import { type End, endEntry, locationKey, type Manifest, parseEnd, type TableSum, tableFolder } from './archive.ts'
import { type ContentsIn, type FolderConfig, openContents } from './contents-in.ts'
import { assertSameSchema, manifestOf, openArchive, otherSchema } from './read.ts'
import { columnList, contentTables, nameOf, quoted, sequenceStates, type TableContent } from './tables.ts'

export interface RestoreOptions {
  /** A migrated database without any data of users. */
  db: Db
  file: string
  /** `databaseName` must be that of the backup, or its global object ids would change. */
  config: FolderConfig & Pick<Config, 'databaseName'>
  progress: Progress
  /** Set once it is certain that no data can be lost. */
  mark: RestoreMark
}

export interface RestoreSummary {
  readonly taken: string
  readonly rows: number
  /** Locations whose contents are in the backup; null in a backup of a release that included none. */
  readonly contents: readonly number[] | null
}

/**
 * Restores the data of a backup into an empty database, all or nothing, and queues all objects for the index.
 * @throws {Error} with one line for the person at the terminal; then the database is as it was.
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreSummary> {
  const { db, file, progress, mark } = options
  const { size } = await stat(file)
  const client = await db.connect()
  const contents: { open: ContentsIn | null } = { open: null }
  try {
    await client.query('begin')
    await client.query('set local lock_timeout = 0')
    await assertEmpty(client)
    await mark.set(await mark.folders())
    progress.start('Restore', size)
    const summary = await load(client, options, contents)
    // If the answer to the commit is lost, the rows may be stored: then their files must be, too.
    contents.open = null
    await client.query('commit')
    // Without statistics searches are slow until PostgreSQL collects them by itself.
    await client.query('analyze').catch(() => {})
    return summary
  } catch (error) {
    await contents.open?.undo()
    throw error
  } finally {
    client.release(true)
    progress.stop()
  }
}

async function load(
  client: PoolClient,
  { file, config, progress, mark }: RestoreOptions,
  contents: { open: ContentsIn | null },
): Promise<RestoreSummary> {
  const { source, entries, read } = openArchive(file)
  let manifest: Manifest | null = null
  let rows: RowsIn | null = null
  let end: End | null = null
  let told = 0
  for await (const { header, ...part } of entries) {
    progress.advance(source.bytesRead - told)
    told = source.bytesRead
    if (end) throw new Error(`the backup has an entry ${header.name} behind its end`)
    if (!manifest || !rows) {
      manifest = manifestOf(header.name, await part.text(), config.databaseName)
      rows = await openRows(client, manifest)
    } else if (header.name === endEntry) {
      await rows.finish()
      end = parseEnd(await part.text())
    } else if (header.name.startsWith('contents/')) {
      await rows.finish()
      contents.open ??= await openContents(client, manifest.contents ?? [], config, mark)
      await contents.open.take(header.name, header.size, part.chunks)
    } else if (contents.open) {
      throw strange(header.name)
    } else {
      await rows.take(header.name, part.chunks)
    }
  }
  await read
  if (!manifest || !rows || !end) throw new Error('the backup was cut off: its end is missing')
  const count = compare(end, rows.sums, manifest.tables)
  compareContents(end, contents.open?.end() ?? new Map(), manifest.contents ?? [])
  await rows.putBack()
  await setSequences(client, manifest)
  await client.query(
    'insert into index_queue (system_object_id, priority) select system_object_id, 2 from object order by 1',
  )
  return { taken: manifest.taken, rows: count, contents: manifest.contents ?? null }
}

const strange = (name: string): Error => new Error(`the backup has an entry ${name} that does not belong there`)

interface RowsIn {
  readonly sums: ReadonlyMap<string, TableSum>
  take(name: string, chunks: AsyncIterable<Buffer>): Promise<void>
  /** Finishes the table that is being filled. */
  finish(): Promise<void>
  putBack(): Promise<void>
}

/** Prepares the tables for the rows of a backup. @throws {Error} unless they are those of this database. */
async function openRows(client: PoolClient, manifest: Manifest): Promise<RowsIn> {
  await assertFits(client, manifest)
  await empty(client, manifest.tables)
  const putBack = await putAside(client, manifest.tables)
  const sums = new Map<string, TableSum>()
  let target: Target | null = null
  const finish = async (): Promise<void> => {
    if (target) sums.set(nameOf(target.table), await target.end())
    target = null
  }
  return {
    sums,
    finish,
    putBack,
    async take(name, chunks) {
      const folder = name.slice(0, name.lastIndexOf('/') + 1)
      if (!target || tableFolder(target.table) !== folder) {
        await finish()
        const table = manifest.tables.find((one) => tableFolder(one) === folder)
        if (!table || sums.has(nameOf(table))) throw strange(name)
        target = startTable(client, table)
      }
      for await (const chunk of chunks) await target.write(chunk)
    },
  }
}

interface Target {
  readonly table: TableContent
  write(chunk: Buffer): Promise<void>
  end(): Promise<TableSum>
}

function startTable(client: PoolClient, table: TableContent): Target {
  const stream: Writable & { rowCount: number } = client.query(
    copyFrom(`copy ${nameOf(table)} (${columnList(table.columns)}) from stdin`),
  )
  const hash: Hash = createHash('sha256')
  const done = finished(stream)
  done.catch(() => {})
  return {
    table,
    async write(chunk) {
      hash.update(chunk)
      if (!stream.write(chunk)) await Promise.race([done, new Promise((resolve) => stream.once('drain', resolve))])
    },
    async end() {
      stream.end()
      await done
      return { rows: stream.rowCount, sha256: hash.digest('hex') }
    },
  }
}

/** @throws {Error} unless every table is complete. Returns the number of rows. */
export function compare(
  end: Readonly<Record<string, TableSum>>,
  sums: ReadonlyMap<string, TableSum>,
  tables: readonly TableContent[],
): number {
  let rows = 0
  for (const table of tables) {
    const name = nameOf(table)
    const wanted = end[name]
    // A table without rows has no entry.
    const found = sums.get(name) ?? { rows: 0, sha256: createHash('sha256').digest('hex') }
    if (!wanted || wanted.rows !== found.rows || wanted.sha256 !== found.sha256) {
      throw new Error(`the backup is damaged: ${table.name} has ${found.rows} rows that are not those of the backup`)
    }
    rows += found.rows
  }
  return rows
}

/** @throws {Error} unless the contents are the same that were copied when the backup was made. */
export function compareContents(end: End, sums: ReadonlyMap<string, TableSum>, locations: readonly number[]): void {
  for (const key of locations.map(locationKey)) {
    const found = sums.get(key) ?? { rows: 0, sha256: createHash('sha256').digest('hex') }
    if (end[key]?.rows === found.rows && end[key].sha256 === found.sha256) continue
    throw new Error(`the backup is damaged: the contents of files of a location are not those of the backup (${key})`)
  }
}

/** @throws {Error} when the database already has data of users. */
async function assertEmpty(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ used: boolean }>(
    `select exists (select from object) or exists (select from datamodel_version)
       or exists (select from "user" where password_hash is not null) as used`,
  )
  if (rows[0]?.used) throw new Error('the database has data already: restore into an empty data folder or database')
}

/** @throws {Error} unless the backup has exactly the parts of a backup of this database. */
async function assertFits(client: ClientBase, manifest: Manifest): Promise<void> {
  const { rows: migrations } = await client.query<{ name: string }>('select name from migration order by name')
  assertSameSchema(
    manifest,
    migrations.map(({ name }) => name),
  )
  const { rows: queue } = await client.query<{ id: number }>('select id from graphile_worker.migrations order by id')
  if (JSON.stringify(queue.map(({ id }) => id)) !== JSON.stringify(manifest.queueMigrations))
    throw otherSchema(manifest)
  const known = new Map((await contentTables(client)).map((table) => [nameOf(table), table.columns.toSorted().join()]))
  for (const table of manifest.tables) {
    if (known.get(nameOf(table)) !== table.columns.toSorted().join()) {
      throw new Error(`the backup has a table ${table.name} that the database does not have so`)
    }
    known.delete(nameOf(table))
  }
  const [missing] = known.keys()
  if (missing !== undefined) throw new Error(`the backup lacks the table ${missing}`)
  await assertKnownSequences(client, manifest)
}

/** Each object type has a sequence, which no migration creates; a backup may create no other sequences. */
async function assertKnownSequences(client: ClientBase, { sequences }: Manifest): Promise<void> {
  const known = new Map((await sequenceStates(client)).map((one) => [nameOf(one), one.type]))
  for (const one of sequences) {
    const ofObjecttype = one.schema === 'public' && /^object_id_\d{1,10}$/.test(one.name)
    const type = known.get(nameOf(one)) ?? (ofObjecttype ? 'bigint' : null)
    if (type !== one.type) throw new Error(`the backup has a sequence ${one.name} that the database does not have so`)
    known.delete(nameOf(one))
  }
  const [missing] = known.keys()
  if (missing !== undefined) throw new Error(`the backup lacks the sequence ${missing}`)
}

/** The migrations insert some rows; the backup contains these rows, too. */
async function empty(client: ClientBase, tables: readonly TableContent[]): Promise<void> {
  if (tables.length > 0) await client.query(`truncate ${tables.map(nameOf).join(', ')}`)
}

/**
 * Drops foreign keys and secondary indexes of the tables, so that rows may be inserted in any order and indexes are built once.
 * Returns the function that creates them again, which also checks every reference.
 */
async function putAside(client: ClientBase, tables: readonly TableContent[]): Promise<() => Promise<void>> {
  const names = tables.map(nameOf)
  const { rows: keys } = await client.query<{ target: string; name: string; definition: string }>(
    `select conrelid::regclass::text as target, conname as name, pg_get_constraintdef(oid) as definition
     from pg_constraint where contype = 'f' and conrelid = any($1::regclass[])`,
    [names],
  )
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
     from pg_index i where i.indrelid = any($1::regclass[])
       and not exists (select from pg_constraint c where c.conindid = i.indexrelid)`,
    [names],
  )
  const off = [
    ...keys.map(({ target, name }) => `alter table ${target} drop constraint ${quoted(name)}`),
    ...indexes.map(({ name }) => `drop index ${name}`),
  ]
  const on = [
    ...indexes.map(({ definition }) => definition),
    ...keys.map(({ target, name, definition }) => `alter table ${target} add constraint ${quoted(name)} ${definition}`),
  ]
  // The rows that this trigger writes for users are in the backup itself.
  const whole = names.includes(nameOf({ schema: 'public', name: 'user' }))
  if (whole) off.push('alter table "user" disable trigger user')
  if (whole) on.push('alter table "user" enable trigger user')
  await client.query(off.join(';\n'))
  return async () => void (await client.query(on.join(';\n')))
}

async function setSequences(client: ClientBase, { sequences }: Manifest): Promise<void> {
  const all = sequences.map((one) => `create sequence if not exists ${nameOf(one)} as ${one.type};`)
  if (all.length > 0) await client.query(all.join('\n'))
  await client.query(
    `select setval(name::regclass, value, called)
     from unnest($1::text[], $2::int8[], $3::boolean[]) as s (name, value, called)`,
    [sequences.map(nameOf), sequences.map(({ value }) => value), sequences.map(({ called }) => called)],
  )
}
