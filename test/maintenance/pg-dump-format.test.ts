import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { connectionVariables } from '../../src/maintenance/dump/connection.ts'
import { findDumpProgram } from '../../src/maintenance/dump/program.ts'
import { picture, upload } from '../files/support.ts'
import type { Client, Json } from '../support/client.ts'
import { createEmptyDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/process.ts'
import { type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { attachService, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { everything } from './everything.ts'
import { rowsOf, structureOf } from './script.ts'

const run = promisify(execFile)
const resources = new AsyncDisposableStack()
let museum: Museum
let root: Client
let folder: string

before(async () => {
  folder = resources.use(await temporaryFolder()).path
  museum = resources.use(await startMuseum({ dataDir: join(folder, 'data') }))
  root = museum.svc.as('root')
  const place = { location_defaults: { originals: 'file', versions: '', backups: 'file' } }
  await ok(root.post('/config', { system: { config: place } }))
  await ok(root.post('/db/person', [payload('person', { name: "Ada \\. 'b'", reference: 'r1' })]))
  await upload(museum.svc, 'root', [{ name: 'a.jpg', content: await picture() }])
  await museum.svc.drain()
})
after(() => resources.disposeAsync())

async function ok(answer: Promise<{ status: number; body: Json }>): Promise<Json> {
  const { status, body } = await answer
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

/** A program that says it is `pg_dump` of that version, and then does that. */
async function stranger(version: string, script: string): Promise<string> {
  await mkdir(join(folder, 'bin'), { recursive: true })
  const path = join(folder, 'bin', `pg_dump-${crypto.randomUUID()}`)
  const said = `[ "$1" = --version ] && { echo "pg_dump (PostgreSQL) ${version}"; exit 0; }`
  await writeFile(path, `#!/bin/sh\n${said}\n${script}\n`)
  await chmod(path, 0o755)
  return path
}

/** The service reads its setting whenever it looks for the program. */
const use = (pgDump: string): void => void Object.assign(museum.svc.config, { pgDump })

async function made(opts: object = {}): Promise<Json> {
  const { id } = await ok(root.put('/system/backup/new', { format: 'pg_dump', ...opts }))
  await until(async () => {
    await museum.svc.app.idle({ hurry: true })
    return (await ok(root.get(`/system/backup/${id}`))).status !== 'running'
  })
  return ok(root.get(`/system/backup/${id}`))
}

const filesIn = (path: string): Promise<string[]> => readdir(path, { recursive: true })

test('where the program is lacking, is older than the server or is something else, the format is refused', async () => {
  const other = await stranger('99', '')
  await writeFile(other, '#!/bin/sh\necho mysqldump 99\n')
  const schedule = { system: { config: { backup_scheduler: { active: false, format: 'pg_dump' } } } }
  for (const program of ['', '/nowhere/pg_dump', await stranger('15.18', ''), await stranger('', ''), other]) {
    use(program)
    const asked = await root.put('/system/backup/new', { format: 'pg_dump' })
    const planned = await root.post('/config', schedule)
    for (const { status, body } of [asked, planned]) {
      const supported = body.parameters?.supported
      assert.deepEqual([status, body.code, supported], [400, 'FormatNotSupported', ['native', 'postgres']], program)
    }
  }
  use(await stranger('99.1', ''))
  await ok(root.post('/config', schedule))
})

test('what the program says is the error of the backup, nothing of it stays, and no argument names the database', async () => {
  const seen = join(folder, 'seen')
  use(
    await stranger(
      '99',
      `echo "$@" >${seen}; env | grep ^PG >>${seen}; echo 'half a dump'; echo 'could not lock object' >&2; exit 3`,
    ),
  )
  const before = await filesIn(join(folder, 'data', 'files'))
  const { status, log, stats } = await made({ include_events: false })
  assert.deepEqual([status, stats], ['error', undefined])
  assert.match(log.at(-1).msg, /pg_dump failed: could not lock object/)
  assert.deepEqual(await filesIn(join(folder, 'data', 'files')), before)
  assert.deepEqual(await filesIn(join(folder, 'data', 'backups')), [])
  const [args = '', ...variables] = (await readFile(seen, 'utf8')).trim().split('\n')
  assert.match(args, /--exclude-table-data=public\.event/)
  assert.doesNotMatch(args, /postgres(ql)?:|dbname/)
  assert.ok(variables.some((line) => line.startsWith('PGDATABASE=test_')))
})

test('the variables say what the connection string says, and certificates count as for other connections', () => {
  const of = (dsn: string) => {
    const { PGAPPNAME, PGCONNECT_TIMEOUT, PGPASSFILE, ...variables } = connectionVariables(dsn)
    return variables
  }
  const plain = { PGHOST: 'db.museum.test', PGPORT: '6432', PGUSER: 'keeper', PGPASSWORD: 'a b&c', PGDATABASE: 'art' }
  const address = 'postgresql://keeper:a%20b%26c@db.museum.test:6432/art'
  assert.deepEqual(of(address), plain)
  const encrypted: [query: string, mode: string, root?: string][] = [
    ['sslmode=disable', 'disable'],
    ['sslmode=no-verify', 'require'],
    ['sslmode=require', 'verify-full', 'system'],
    ['ssl=true', 'verify-full', 'system'],
    ['sslmode=require&uselibpqcompat=true', 'require'],
  ]
  for (const [query, mode, root] of encrypted) {
    const wanted = { ...plain, PGSSLMODE: mode, ...(root && { PGSSLROOTCERT: root }) }
    assert.deepEqual(of(`${address}?${query}`), wanted, query)
  }
  const socket = of('postgresql://postgres@/strongroom?host=%2Frun%2Fstrongroom')
  assert.deepEqual([socket.PGHOST, socket.PGDATABASE], ['/run/strongroom', 'strongroom'])
})

test('the program ends with the service', async () => {
  const pid = join(folder, 'pid')
  const pgDump = await stranger('99', `echo $$ >${pid}; exec sleep 600`)
  const svc = await startService({ dataDir: join(folder, 'ended'), pgDump })
  try {
    const client = svc.as('root')
    await ok(
      client.post('/config', { system: { config: { location_defaults: { originals: 'file', backups: 'file' } } } }),
    )
    await ok(client.put('/system/backup/new', { format: 'pg_dump' }))
    await until(async () => (await readFile(pid, 'utf8').catch(() => '')).endsWith('\n'))
  } finally {
    await svc[Symbol.asyncDispose]()
  }
  const number = Number(await readFile(pid, 'utf8'))
  await until(() => !isThere(number))
  assert.deepEqual(await filesIn(join(folder, 'ended', 'backups')), [])
})

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** The program of the machine: tests that need it are left out where it is lacking or older than the server. */
const installed = process.env.TEST_PG_DUMP ?? 'pg_dump'

test('pg_restore makes the same database of it in an empty one, and a service on it answers the same', async (t) => {
  const program = await findDumpProgram(museum.svc.db, { pgDump: installed })
  if (!program) return t.skip('pg_dump of the version of the server is not on this machine: TEST_PG_DUMP names one')
  use(program.path)
  const record = await made()
  assert.equal(record.status, 'done', JSON.stringify(record.log))
  assert.deepEqual(
    [record.stats.mimetype, record.stats.filename.endsWith('.pg_dump')],
    ['application/octet-stream', true],
  )
  const headers = { authorization: `Bearer ${await root.token()}` }
  const url = `/api/v1/system/backup/${record.id}/download`
  const { rawPayload } = await museum.svc.inject({ method: 'GET', url, headers })
  const file = join(folder, 'museum.pg_dump')
  await writeFile(file, rawPayload)
  await using database = await emptyDatabase()
  const environment = { ...process.env, ...connectionVariables(database.dsn) }
  const restore = join(dirname(program.path), 'pg_restore')
  await run(restore, ['--exit-on-error', '--no-owner', '--dbname', environment.PGDATABASE ?? '', file], {
    env: environment,
  })
  assert.deepEqual(await structureOf(database.dsn), await structureOf(museum.svc.dsn))
  const [rows, wanted] = [await rowsOf(database.dsn), await rowsOf(museum.svc.dsn)]
  // The end of the backup is not in it, nor what the service has done since.
  const moved =
    /^backup|^event|^graphile_worker\._private|^graphile_worker\.jobs|^bus_message|_log$|^quota_use|^oauth_|^search_(?:state|check)/
  const compared = [...wanted.keys()].filter((name) => !moved.test(name))
  assert.ok(compared.length > 100, `${compared.length}`)
  for (const name of compared) assert.equal(rows.get(name), wanted.get(name), name)

  await cp(join(folder, 'data', 'files'), join(folder, 'copied', 'files'), { recursive: true })
  const answers = await everything(museum.svc)
  await using svc = await attachService(database.dsn, { dataDir: join(folder, 'copied') })
  assert.deepEqual(await everything(svc), answers)
})

async function emptyDatabase() {
  const { dsn, drop } = await createEmptyDatabase()
  return { dsn, [Symbol.asyncDispose]: drop }
}
