import { createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { PoolClient } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import type { Config } from '../../platform/config/config.ts'
import type { Db } from '../../platform/postgres/db.ts'
import type { Progress } from '../../platform/process/progress.ts'
import { version } from '../../platform/version.ts'
import {
  columnList,
  contentTables,
  countRows,
  nameOf,
  quoted,
  type SequenceState,
  sequenceStates,
  type TableContent,
} from '../backup/tables.ts'
import { readCatalogue, readExtensions } from './catalog.ts'

export interface ScriptOptions {
  readonly db: Db
  readonly config: Pick<Config, 'databaseName'>
  readonly file: string
  /** Tables whose rows are left out. */
  readonly without: readonly string[]
  readonly progress: Progress
}

/**
 * Writes a snapshot of the database as a script for `psql`, gzipped: it creates everything in an empty database, or nothing. Like
 * the archive it leaves out tables that are rebuilt from the objects.
 */
export async function writeScript({
  file,
  ...options
}: ScriptOptions): Promise<{ tables: number; rows: number; bytes: number }> {
  // A reader of the file can find out weak passwords and sign in with them: only its owner may read it.
  const target = await open(file, 'wx', 0o600)
  const client = await options.db.connect()
  try {
    const counted = { tables: 0, rows: 0 }
    await pipeline(
      scriptOf(client, options, counted),
      createGzip(),
      createWriteStream(file, { fd: target.fd, autoClose: false }),
    )
    await target.sync()
    const { size } = await target.stat()
    return { ...counted, bytes: size }
  } finally {
    // A connection in the middle of a COPY cannot be reused.
    client.release(true)
    options.progress.stop()
    await target.close()
  }
}

/** First rows of tables whose rows are left out, as in a new database. */
const firstRows = ['search_check', 'search_state']

async function* scriptOf(
  client: PoolClient,
  { config, without, progress }: Omit<ScriptOptions, 'file'>,
  counted: { tables: number; rows: number },
): AsyncGenerator<Buffer> {
  await client.query('set lock_timeout = 0')
  await client.query('begin isolation level repeatable read read only')
  const tables = [...(await contentTables(client)), ...migrationTables]
  // After the snapshot is taken, so that no id in it is ahead of its sequence.
  const sequences = await sequenceStates(client)
  const counts = await countRows(client, tables)
  const { definitions, triggers, behind } = await readCatalogue(client)
  const extensions = await readExtensions(client)
  counted.tables = tables.length
  counted.rows = counts.reduce((sum, count) => sum + count, 0)
  progress.start('Backup', counted.rows)
  yield lines([
    `-- Strongroom ${version}, instance ${config.databaseName}, ${new Date().toISOString()}`,
    '-- For an empty database: psql --no-psqlrc --dbname <database> --file <this file, unpacked>',
    '\\set ON_ERROR_STOP on',
    `set client_encoding = 'UTF8';`,
    'set standard_conforming_strings = on;',
    'set check_function_bodies = off;',
    'set row_security = off;',
    'set search_path = public;',
    'begin;',
    'create schema graphile_worker;',
    ...extensions.map(
      ({ name, schema }) => `create extension if not exists ${quoted(name)} with schema ${quoted(schema)};`,
    ),
    ...definitions.map(({ text }) => text),
    ...triggers,
    // The rows that this trigger writes for users are part of the script.
    'alter table public."user" disable trigger user;',
    ...firstRows.map((name) => `insert into public.${quoted(name)} default values;`),
  ])
  for (const table of tables) {
    yield lines([`copy ${nameOf(table)} (${columnList(table.columns)}) from stdin;`])
    if (!without.includes(table.name)) yield* rowsOf(client, table, progress)
    yield lines(['\\.'])
  }
  yield lines([
    'alter table public."user" enable trigger user;',
    ...sequences.map(setSequence),
    ...behind,
    'insert into public.index_queue (system_object_id, priority) select system_object_id, 2 from public.object order by 1;',
    'commit;',
    'analyze;',
  ])
  await client.query('commit')
}

/** The lists of applied migrations: none may be applied once more. */
const migrationTables: readonly TableContent[] = [
  { schema: 'public', name: 'migration', columns: ['name', 'timestamp'] },
  { schema: 'graphile_worker', name: 'migrations', columns: ['id', 'ts', 'breaking'] },
]

async function* rowsOf(client: PoolClient, table: TableContent, progress: Progress): AsyncGenerator<Buffer> {
  const stream = client.query(copyTo(`copy ${nameOf(table)} (${columnList(table.columns)}) to stdout`))
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) progress.advance(1)
    yield chunk
  }
}

const setSequence = (one: SequenceState): string =>
  `select pg_catalog.setval(${literal(nameOf(one))}, ${one.value}, ${one.called});`

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

const lines = (list: readonly string[]): Buffer => Buffer.from(`${list.join('\n')}\n`)
