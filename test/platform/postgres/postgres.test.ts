import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../../src/platform/postgres/embedded.ts'
import { checkExternalPostgres } from '../../../src/platform/postgres/external.ts'
import { migrate, migrationTexts } from '../../../src/platform/postgres/migrate.ts'
import { unservedSystem } from '../../../src/platform/postgres/server-files.ts'
import { createEmptyDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/process.ts'

const quiet = { database: 'strongroom', onStep: () => {}, onTrouble: () => {} }

async function ask(dsn: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: dsn })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

test('the embedded server is durable, listens on no network, and sorts and compares Unicode', async () => {
  await using folder = await temporaryFolder()
  const server = await startEmbeddedPostgres({ ...quiet, dataDir: folder.path })
  try {
    const [row] = await ask(
      server.dsn,
      `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
        current_setting('full_page_writes') as pages, current_setting('data_checksums') as checksums,
        current_setting('listen_addresses') as addresses, current_setting('server_encoding') as encoding,
        current_setting('jit') as jit, lower('ÄÉ') as lower, 'Ä' < 'B' collate "de-x-icu" as sorted`,
    )
    assert.deepEqual(row, {
      fsync: 'on',
      commit: 'on',
      pages: 'on',
      checksums: 'on',
      addresses: '',
      encoding: 'UTF8',
      jit: 'off',
      lower: 'äé',
      sorted: true,
    })
  } finally {
    await server.stop()
  }
})

test('a data folder with a path too long for a socket, closed to other users, works and is found again', async () => {
  await using folder = await temporaryFolder()
  await chmod(folder.path, 0o700)
  const dataDir = join(folder.path, 'long'.repeat(25))
  const first = await startEmbeddedPostgres({ ...quiet, dataDir })
  await ask(first.dsn, 'create table kept ()')
  const run = await readFile(join(dataDir, 'postgres', 'run-folder'), 'utf8')
  assert.ok(run.length < 80)
  await assert.rejects(startEmbeddedPostgres({ ...quiet, dataDir }), /in use by another strongroom process/)
  await first.stop()
  await assert.rejects(stat(run), { code: 'ENOENT' }, 'nothing stays outside the data folder')
  const second = await startEmbeddedPostgres({ ...quiet, dataDir })
  assert.deepEqual(await ask(second.dsn, 'select count(*)::int as n from kept'), [{ n: 0 }])
  await second.stop()
})

test('a socket that seems to be in use is waited for: what a killed server leaves behind goes a little later', async () => {
  await using folder = await temporaryFolder()
  const first = await startEmbeddedPostgres({ ...quiet, dataDir: folder.path })
  await first.stop()
  const { uid, gid } = await stat(join(folder.path, 'postgres', 'data'))
  // Stands for the server that has died, but still has its process id: it must be of the same user to count.
  const user = process.getuid?.() === 0 ? { uid, gid } : {}
  const holder = spawn('sleep', ['2'], { ...user, stdio: 'ignore' })
  const gone = once(holder, 'exit')
  const lock = join(folder.path, 'postgres', 'run', '.s.PGSQL.5432.lock')
  await writeFile(lock, `${holder.pid}\n`, { mode: 0o600 })
  await chown(lock, uid, gid)
  const second = await startEmbeddedPostgres({ ...quiet, dataDir: folder.path })
  assert.equal(holder.exitCode, 0, 'not before it has gone')
  await gone
  assert.equal((await ask(second.dsn, 'select 1 as n')).length, 1)
  await second.stop()
})

test('several processes may migrate at once; the second run has nothing to do', async () => {
  const database = await createEmptyDatabase()
  try {
    const runs = await Promise.all([migrate(database.dsn), migrate(database.dsn), migrate(database.dsn)])
    const names = [...(await migrationTexts()).keys()]
    assert.deepEqual(runs.flat(), names)
    assert.deepEqual(await migrate(database.dsn), [])
    await ask(database.dsn, `insert into migration (name, timestamp) values ('9999_future', now()::text)`)
    await assert.rejects(migrate(database.dsn), /migrated by a newer release \(9999_future\)/)
  } finally {
    await database.drop()
  }
})

test('an external server that is too old or not there is refused in one line without its password', async () => {
  const database = await createEmptyDatabase()
  try {
    await checkExternalPostgres(database.dsn)
    await assert.rejects(checkExternalPostgres(database.dsn, 99), /is version 18.*; 99 or newer is needed$/)
    await assert.rejects(
      checkExternalPostgres('postgresql://me:geheim@127.0.0.1:1/x'),
      /^Error: cannot reach PostgreSQL at postgresql:\/\/me:\*\*\*@127\.0\.0\.1:1\/x: connect ECONNREFUSED/,
    )
  } finally {
    await database.drop()
  }
})

test('a system for which no PostgreSQL comes along is told what does', () => {
  assert.match(unservedSystem('win32', undefined) ?? '', /WSL.*container.*SVC_DB_DSN/)
  assert.match(unservedSystem('linux', undefined) ?? '', /musl.*container.*SVC_DB_DSN/)
  assert.equal(unservedSystem('linux', '2.36'), null)
  assert.equal(unservedSystem('darwin', undefined), null)
})
