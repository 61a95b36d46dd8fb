import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { runRestore, runVerify } from '../../src/maintenance/backup-commands.ts'
import { type Definition, inOrderOfNeed } from '../../src/maintenance/sql/order.ts'
import { fetched, picture, sha256, upload } from '../files/support.ts'
import type { Client, Json } from '../support/client.ts'
import { createEmptyDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/process.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { attachService, testConfig } from '../support/service.ts'
import { until } from '../support/until.ts'
import { said } from './archives.ts'
import { everything } from './everything.ts'
import { playScript, rowsOf, structureOf } from './script.ts'

let museum: Museum
let root: Client
let folder: string
let content: Buffer
/** Its id. */
let file: number
const resources = new AsyncDisposableStack()

before(async () => {
  folder = resources.use(await temporaryFolder()).path
  museum = resources.use(await startMuseum({ dataDir: join(folder, 'data') }))
  root = museum.svc.as('root')
  const place = { location_defaults: { originals: 'file', versions: '', backups: 'file' } }
  await ok(root.post('/config', { system: { config: place } }))
  await fill()
})
after(() => resources.disposeAsync())

async function ok(answer: Promise<{ status: number; body: Json }>): Promise<Json> {
  const { status, body } = await answer
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

/** Something of everything, with texts that mean something to a script. */
async function fill(): Promise<void> {
  const names = ['Ada \\. "b" \'c\'', 'back\\slash', '-- ; drop table object;', '$$ 😀 %s :var']
  const people = await ok(
    root.post(
      '/db/person',
      names.map((name, index) => payload('person', { name, reference: `r${index}` })),
    ),
  )
  const title = { 'en-US': 'Harbour\n\\.\n\tcopy object (id) from stdin;\ncommit;' }
  const works = people.map((person: Json) =>
    payload('work', { title, creator: link('person', person._system_object_id), ...inPool(museum.pool) }),
  )
  await ok(root.post('/db/work', works))
  assert.equal((await root.delete('/db/work', [[2, 1, 'gone']], { delete_policy: 'remove' })).status, 200)
  content = await picture()
  file = (await upload(museum.svc, 'root', [{ name: 'a.jpg', content }])).body[0]._id
  await ok(root.post('/tags', [{ taggroup: { reference: 'state' }, _tags: [{ displayname: { 'en-US': "it's" } }] }]))
  await ok(root.post('/collection', { collection: { displayname: { 'en-US': 'Spring' } } }))
  // A job that waits is part of what was promised.
  await museum.svc.db.query(`select graphile_worker.add_job('nobody.knows', run_at => '2099-01-01')`)
  await museum.svc.drain()
}

/** Makes a backup and answers the file. */
async function made(opts: object, name: string): Promise<{ file: string; record: Json }> {
  const { id } = await ok(root.put('/system/backup/new', opts))
  await until(async () => (await ok(root.get(`/system/backup/${id}`))).status !== 'running')
  const record = await ok(root.get(`/system/backup/${id}`))
  assert.equal(record.status, 'done', JSON.stringify(record.log))
  const headers = { authorization: `Bearer ${await root.token()}` }
  const url = `/api/v1/system/backup/${id}/download`
  const { rawPayload } = await museum.svc.inject({ method: 'GET', url, headers })
  const file = join(folder, name)
  await writeFile(file, rawPayload)
  return { file, record }
}

async function emptyDatabase() {
  const { dsn, drop } = await createEmptyDatabase()
  return { dsn, [Symbol.asyncDispose]: drop }
}

test('a script makes the same database in an empty one: structure, rows and sequences; a service on it answers the same', async () => {
  const { file: script, record } = await made({ format: 'postgres' }, 'museum.sql.gz')
  assert.deepEqual(
    [record.opts.format, record.stats.mimetype, record.stats.filename.endsWith('.sql.gz')],
    ['postgres', 'application/gzip', true],
  )
  assert.match(record.log.map(({ msg }: Json) => msg).join('\n'), /rows of \d+ tables.*not in it: contents of files/s)
  await using database = await emptyDatabase()
  await playScript(script, database.dsn)
  assert.deepEqual(await structureOf(database.dsn), await structureOf(museum.svc.dsn))

  // The way of the archive is proved by tests of its own: what it leaves out and makes anew is the same.
  const native = await made({ format: 'native' }, 'museum.tar.zst')
  await using restored = await emptyDatabase()
  await runRestore([native.file], testConfig(restored.dsn, { dataDir: join(folder, 'restored') }), said().out)
  const [rows, archive] = [await rowsOf(database.dsn), await rowsOf(restored.dsn)]
  // Between the two there was the end of the first, and the beginning of the second.
  const moved = new Set(['backup', 'backup_id_seq', 'event', 'event_id_seq', 'migration', 'graphile_worker.migrations'])
  const jobs =
    /^graphile_worker\._private|^graphile_worker\.jobs|^bus_message|_log$|^quota_use|^oauth_|^search_(?:state|check)|^file_blob|^index_queue/
  const compared = [...rows.keys()].filter((name) => !moved.has(name) && !jobs.test(name))
  assert.ok(compared.length > 100, `${compared.length}`)
  for (const name of compared) assert.equal(rows.get(name), archive.get(name), name)
  assert.equal(rows.get('object'), (await rowsOf(museum.svc.dsn)).get('object'))

  // An archive brings contents of files, for a script they are copied.
  await cp(join(folder, 'data', 'files'), join(folder, 'script', 'files'), { recursive: true })
  const wanted = await everything(museum.svc)
  await using svc = await attachService(database.dsn, { dataDir: join(folder, 'script') })
  await using other = await attachService(restored.dsn, { dataDir: join(folder, 'restored') })
  for (const one of [svc, other]) {
    await one.drain()
    assert.deepEqual(await everything(one), wanted)
    const { versions } = (await ok(one.as('root').get(`/eas/${file}`))) as Json
    const waiting = await one.db.query(`select from graphile_worker.jobs where task_identifier = 'nobody.knows'`)
    assert.equal(waiting.rowCount, 1)
    assert.equal(sha256((await fetched(one, versions.original.url)).content), sha256(content))
  }
  const [saved] = await ok(svc.as('root').post('/db/person', [payload('person', { name: 'New', reference: 'new' })]))
  assert.ok(saved._system_object_id > 0)
})

test('without the event log there is none in it, and all else is', async () => {
  const { file } = await made({ format: 'postgres', include_events: false }, 'quiet.sql.gz')
  await using database = await emptyDatabase()
  await playScript(file, database.dsn)
  const rows = await rowsOf(database.dsn)
  assert.match(rows.get('event') ?? '', /^0 /)
  assert.equal(rows.get('object_version'), (await rowsOf(museum.svc.dsn)).get('object_version'))
})

test('a script puts nothing into a database that has something, and the commands of the archive refuse it', async () => {
  const { file } = await made({ format: 'postgres' }, 'again.sql.gz')
  const before = await rowsOf(museum.svc.dsn)
  await assert.rejects(playScript(file, museum.svc.dsn), /already exists/)
  assert.equal((await rowsOf(museum.svc.dsn)).get('object'), before.get('object'))
  await assert.rejects(runVerify([file], testConfig(museum.svc.dsn), said().out), /no backup/)
  await using database = await emptyDatabase()
  const config = testConfig(database.dsn, { dataDir: join(folder, 'refused') })
  await assert.rejects(runRestore([file], config, said().out), /no backup/)
})

test('psql takes a script as it is', { skip: await without('psql') }, async () => {
  const { file } = await made({ format: 'postgres' }, 'psql.sql.gz')
  await using database = await emptyDatabase()
  const script = join(folder, 'psql.sql')
  const text = gunzipSync(await readFile(file))
  const run = async () => {
    const child = spawn('psql', ['--no-psqlrc', '--quiet', '--dbname', database.dsn, '--file', script])
    let errors = ''
    child.stderr.on('data', (chunk) => {
      errors += chunk
    })
    child.stdout.resume()
    const [code] = await once(child, 'close')
    return { code, errors }
  }
  const empty = (await structureOf(database.dsn)).length
  // Cut off anywhere it makes nothing: its last line but one is the commit.
  for (const share of [0.3, 0.7, 0.99]) {
    await writeFile(script, text.subarray(0, Math.floor(text.length * share)))
    await run()
    assert.equal((await structureOf(database.dsn)).length, empty, `${share}`)
  }
  await writeFile(script, text)
  assert.deepEqual(await run(), { code: 0, errors: '' })
  assert.deepEqual(await structureOf(database.dsn), await structureOf(museum.svc.dsn))
  const again = await run()
  assert.deepEqual([again.code, /already exists/.test(again.errors)], [3, true])
})

test('definitions come behind what they need', () => {
  const of = (key: number): Definition => ({ key: `${key}`, oid: key, text: '' })
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(30), fc.nat(30)), { maxLength: 80 }), (pairs) => {
      // A higher one needs lower ones alone: so there is an order.
      const needs = pairs.flatMap(([a, b]) => (a === b ? [] : [{ from: `${Math.max(a, b)}`, to: `${Math.min(a, b)}` }]))
      const given = Array.from({ length: 31 }, (_, index) => of(30 - index))
      const order = inOrderOfNeed(given, [...needs, { from: '3', to: 'elsewhere' }]).map(({ key }) => key)
      assert.deepEqual(order.toSorted(), given.map(({ key }) => key).toSorted())
      for (const { from, to } of needs) assert.ok(order.indexOf(to) < order.indexOf(from), `${from} needs ${to}`)
    }),
  )
  const circle = [
    { from: '1', to: '2' },
    { from: '2', to: '1' },
  ]
  assert.throws(() => inOrderOfNeed([of(1), of(2)], circle), /need each other/)
})

async function without(program: string): Promise<string | false> {
  const child = spawn(program, ['--version'], { stdio: 'ignore' })
  const code = await new Promise((resolve) => child.once('error', () => resolve(null)).once('close', resolve))
  return code === 0 ? false : `there is no ${program}`
}
