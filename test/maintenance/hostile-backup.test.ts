import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import pg from 'pg'
import { openStore } from '../../src/files/locations/open.ts'
import { migrateQueue } from '../../src/jobs/service.ts'
import { runBackup, runRestore } from '../../src/maintenance/backup-commands.ts'
import { openDb } from '../../src/platform/postgres/db.ts'
import { migrate } from '../../src/platform/postgres/migrate.ts'
import type { Json } from '../support/client.ts'
import { createEmptyDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/process.ts'
import { payload, startMuseum } from '../support/seed/museum.ts'
import { testConfig } from '../support/service.ts'
import { archiveOf, changeJson, type Entry, entriesOf, said } from './archives.ts'

let good: readonly Entry[]
const folder = await temporaryFolder()

/** The same backup with the rows of a table as given, and sums that fit them: somebody who changes one changes the other. */
function withRows(entries: readonly Entry[], table: string, change: (rows: string) => string): Entry[] {
  const own = entries.filter(({ header }) => header.name.startsWith(`tables/public.${table}/`))
  const rows = change(Buffer.concat(own.map(({ content }) => content)).toString())
  const content = Buffer.from(rows)
  const sum = { rows: rows.split('\n').length - 1, sha256: createHash('sha256').update(content).digest('hex') }
  const rest = entries.filter((entry) => !own.includes(entry))
  // A table without rows has no entry.
  const at = own[0] ? entries.indexOf(own[0]) : entries.length - 1
  const name = `tables/public.${table}/00000001`
  const changed = [...rest.slice(0, at), { header: { name }, content }, ...rest.slice(at)]
  return changeJson(changed, 'end.json', (end) => ({ ...end, [`"public"."${table}"`]: sum }))
}

const inManifest = (change: (manifest: Json) => Json) => changeJson(good, 'manifest.json', change)
const text = (name: string, content = ''): Entry => ({ header: { name }, content: Buffer.from(content) })

/** All that a backup could bring into being beside rows. */
const catalogue = `select 'function ' || p.oid::regprocedure as what from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname not in ('pg_catalog', 'information_schema')
  union all select 'trigger ' || t.tgname || ' ' || t.tgrelid::regclass || ' ' || t.tgenabled::text from pg_trigger t where not t.tgisinternal
  union all select 'relation ' || c.oid::regclass || ' ' || c.relkind::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
  union all select 'role ' || rolname || ' ' || rolsuper from pg_roles order by 1`

async function asked(dsn: string, query: string): Promise<unknown[]> {
  const client = new pg.Client(dsn)
  await client.connect()
  try {
    return (await client.query(query)).rows
  } finally {
    await client.end()
  }
}

before(async () => {
  await using museum = await startMuseum()
  await museum.svc.as('root').post('/db/person', [payload('person', { name: 'Ada', reference: 'a' })])
  const path = join(folder.path, 'good.tar.zst')
  await runBackup([path], testConfig(museum.svc.dsn), said().out)
  good = await entriesOf(path)
})
after(() => folder[Symbol.asyncDispose]())

test('a backup that somebody has changed puts in nothing and runs nothing, and its refusal is one line', async () => {
  const archives: Readonly<Record<string, [Buffer | readonly Entry[], RegExp]>> = {
    'an entry outside': [[...good.slice(0, 1), text('../../escaped', 'x'), ...good.slice(1)], /does not belong there/],
    'an absolute entry': [[...good.slice(0, 1), text('/tmp/escaped', 'x'), ...good.slice(1)], /does not belong there/],
    'a symbolic link': [
      [
        ...good.slice(0, 1),
        {
          header: { name: 'tables/public.user/00000001', type: 'symlink', linkname: '/etc/passwd' },
          content: Buffer.alloc(0),
        },
        ...good.slice(1),
      ],
      /no plain file/,
    ],
    'a hard link': [
      [{ header: { name: 'manifest.json', type: 'link', linkname: '/etc/passwd' }, content: Buffer.alloc(0) }, ...good],
      /no plain file/,
    ],
    'an extended header of gigabytes': [longHeader(8 * 1024 ** 3 - 1), /no plain file/],
    'an entry of gigabytes': [hugeEntry(8 * 1024 ** 3 - 1), /too large/],
    'an entry with a size that is no number': [
      Buffer.from(await archiveOf(good)).fill('x', 124, 136),
      /too large|no backup/,
    ],
    'a script of SQL': [
      Buffer.from('create function f() returns int language sql as $$ select 1 $$;\n'.repeat(100)),
      /no backup/,
    ],
    'a script in the place of rows': [
      withRows(good, 'object', () => 'drop table "user";\n\\! touch /tmp/escaped\n'),
      /invalid input syntax|missing data/,
    ],
    'rows that break a reference': [withRows(good, 'user', () => ''), /foreign key/],
    'a row twice': [withRows(good, 'datamodel_version', (rows) => rows + rows), /duplicate key/],
    'other columns': [
      inManifest((m) => withTable(m, 'user', (t) => ({ ...t, columns: t.columns.slice(1) }))),
      /does not have so/,
    ],
    'a table of the system': [
      inManifest((m) => ({ ...m, tables: [...m.tables, { schema: 'pg_catalog', name: 'pg_proc', columns: ['oid'] }] })),
      /does not have so/,
    ],
    'a table with another name': [
      inManifest((m) =>
        withTable(m, 'user', (t) => ({ ...t, name: "user\" (id) from program 'touch /tmp/escaped' --" })),
      ),
      /does not have so/,
    ],
    'a table less': [
      inManifest((m) => ({ ...m, tables: m.tables.filter((t: Json) => t.name !== 'user') })),
      /lacks the table/,
    ],
    'a table twice': [inManifest((m) => ({ ...m, tables: [...m.tables, m.tables[0]] })), /names something twice/],
    'a sequence of the system': [
      inManifest((m) => ({
        ...m,
        sequences: [...m.sequences, { schema: 'pg_catalog', name: 'x', type: 'bigint', value: '1', called: true }],
      })),
      /does not have so/,
    ],
    'a sequence less': [inManifest((m) => ({ ...m, sequences: m.sequences.slice(1) })), /lacks the sequence/],
    'a sequence beyond all numbers': [
      inManifest((m) => ({ ...m, sequences: m.sequences.map((s: Json) => ({ ...s, value: '9999999999999999999' })) })),
      /out of range/,
    ],
    'an entry behind the end': [[...good, text('tables/public.user/00000009', 'x')], /behind its end/],
    'no manifest': [good.slice(1), /no backup/],
    'no end': [good.slice(0, -1), /end is missing/],
    'a newer format': [inManifest((m) => ({ ...m, format: 3, release: '9.9.9' })), /newer release \(9\.9\.9\)/],
  }
  await using database = await migratedDatabase()
  const before = await asked(database.dsn, catalogue)
  for (const [name, [given, reason]] of Object.entries(archives)) {
    const path = join(folder.path, 'bad.tar.zst')
    await writeFile(
      path,
      Buffer.isBuffer(given) && name === 'a script of SQL'
        ? given
        : zstdCompressSync(Buffer.isBuffer(given) ? given : await archiveOf(given)),
    )
    await assert.rejects(runRestore([path], testConfig(database.dsn), said().out), (error: Error) => {
      assert.match(error.message, reason, name)
      assert.equal(error.message.split('\n').length, 1, name)
      return true
    })
    assert.deepEqual(await asked(database.dsn, catalogue), before, name)
    assert.deepEqual(await asked(database.dsn, 'select from "user" where password_hash is not null'), [], name)
    await assert.rejects(stat('/tmp/escaped'), name)
  }
})

test('a backup of a newer release is refused before anything is made', async () => {
  await using home = await temporaryFolder()
  const path = join(folder.path, 'newer.tar.zst')
  const newer = inManifest((m) => ({ ...m, release: '9.9.9', migrations: [...m.migrations, '9999_newer'] }))
  await writeFile(path, zstdCompressSync(await archiveOf(newer)))
  const config = testConfig('', { dbDsn: null, dataDir: join(home.path, 'data') })
  await assert.rejects(
    runRestore([path], config, said().out),
    /made by a newer release \(9\.9\.9\): restore it with that one/,
  )
  const older = inManifest((m) => ({ ...m, release: '0.0.1', migrations: m.migrations.slice(0, -1) }))
  await writeFile(path, zstdCompressSync(await archiveOf(older)))
  await assert.rejects(
    runRestore([path], config, said().out),
    /of release 0\.0\.1 with another schema: restore it with that release/,
  )
  assert.deepEqual(await readdir(home.path), [])
})

test('a restore without the secret key says what stays closed, and makes none', async () => {
  const path = join(folder.path, 'sealed.tar.zst')
  const { tables } = JSON.parse(good[0]?.content.toString() ?? '')
  const columnsOf = (name: string): string[] => tables.find((t: Json) => t.name === name).columns
  const idAt = columnsOf('user').indexOf('id')
  const users = good.find(({ header }) => header.name.startsWith('tables/public.user/'))?.content.toString() ?? ''
  const values: Record<string, string> = {
    user_id: users.split('\t')[idAt] ?? '',
    totp_secret: `\\\\x01${'ab'.repeat(60)}`,
    totp_last_step: '0',
    recovery_hashes: '{}',
  }
  const row = columnsOf('user_factor').map((name) => values[name] ?? '\\N')
  const sealed = withRows(good, 'user_factor', () => `${row.join('\t')}\n`)
  await writeFile(path, zstdCompressSync(await archiveOf(sealed)))
  for (const [secretKey, expected] of [
    [null, /secret key is missing: it opens 1 authenticator apps/],
    ['x'.repeat(32), /secret key is missing/],
  ] as const) {
    await using database = await migratedDatabase()
    await using home = await temporaryFolder()
    const { out, text } = said()
    await runRestore([path], testConfig(database.dsn, { secretKey, dataDir: home.path }), out)
    assert.match(text(), expected)
    assert.deepEqual(await readdir(home.path), [])
  }
})

test('a location that comes with a backup lies where locations may lie, with its prefix too', () => {
  const place = { kind: 'file', config: { dir: 'files' } } as const
  const rules = { dataDir: '/data', folders: ['/mnt/files'] }
  openStore({ ...place, prefix: 'a/b' }, rules)
  openStore({ kind: 'file', config: { dir: '/mnt/files/a' }, prefix: '' }, rules)
  for (const prefix of ['..', '../postgres', 'a/../../..', '/../../etc']) {
    assert.throws(() => openStore({ ...place, prefix }, rules), /config\.file\.dir must be/, prefix)
  }
  assert.throws(() => openStore({ kind: 'file', config: { dir: '/mnt/files' }, prefix: '../../etc' }, rules))
})

function withTable(manifest: Json, name: string, change: (table: Json) => Json): Json {
  return { ...manifest, tables: manifest.tables.map((table: Json) => (table.name === name ? change(table) : table)) }
}

function tarHeader(name: string, size: number, kind: string): Buffer {
  const header = Buffer.alloc(512)
  header.write(name, 0)
  header.write('0000644\0', 100)
  header.write(`${size.toString(8).padStart(11, '0')} `, 124)
  header.write('00000000000 ', 136)
  header.write(`        ${kind}`, 148)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((all, byte) => all + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

const longHeader = (size: number): Buffer => Buffer.concat([tarHeader('x', size, 'x'), Buffer.alloc(1024 * 1024)])
const hugeEntry = (size: number): Buffer =>
  Buffer.concat([tarHeader('manifest.json', size, '0'), Buffer.alloc(1024 * 1024)])

async function migratedDatabase() {
  const database = await createEmptyDatabase()
  await migrate(database.dsn)
  const db = openDb({
    connectionString: database.dsn,
    maxConnections: 2,
    applicationName: 'test',
    lockTimeout: 0,
    onError: () => {},
  })
  await migrateQueue(db)
  await db.close()
  return { dsn: database.dsn, [Symbol.asyncDispose]: () => database.drop() }
}
