import assert from 'node:assert/strict'
import { copyFile, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { after, before, test } from 'node:test'
import { runRestore, runVerify } from '../../src/maintenance/backup-commands.ts'
import { uploaded } from '../mappings/support.ts'
import { createUsers } from '../signin/support.ts'
import type { Client, Json } from '../support/client.ts'
import { type MailServer, startMailServer } from '../support/mail-server.ts'
import { createEmptyDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/process.ts'
import { type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { attachService, testConfig } from '../support/service.ts'
import { until } from '../support/until.ts'

let museum: Museum
let root: Client
let mails: MailServer
let folder: string
const resources = new AsyncDisposableStack()

before(async () => {
  folder = resources.use(await temporaryFolder()).path
  museum = resources.use(await startMuseum({ dataDir: join(folder, 'data') }))
  root = museum.svc.as('root')
  mails = resources.use(await startMailServer())
  await createUsers(
    museum.svc,
    { user: { login: 'bo', _version: 1 }, _system_rights: { 'system.backup': {} } },
    { user: { login: 'al', _version: 1 } },
  )
  await ok(root.post('/system/location/new', { name: 'safe', kind: 'file', config: { file: { dir: 'files/safe' } } }))
  await configure({
    email: { from: 'archive@museum.test', admin_emails: [{ email: 'admin@museum.test' }] },
    email_server: { server_addr: mails.address, type: 'off' },
  })
})
after(() => resources.disposeAsync())

async function ok(answer: Promise<{ status: number; body: Json }>): Promise<Json> {
  const { status, body } = await answer
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

const configure = (config: object) => ok(root.post('/config', { system: { config } }))
const storeIn = (backups: string) => configure({ location_defaults: { originals: 'file', versions: '', backups } })

async function made(opts: object): Promise<Json> {
  const { id } = await ok(root.put('/system/backup/new', opts))
  await until(async () => (await ok(root.get(`/system/backup/${id}`))).status !== 'running')
  return ok(root.get(`/system/backup/${id}`))
}

async function emptyDatabase() {
  const { dsn, drop } = await createEmptyDatabase()
  return { dsn, [Symbol.asyncDispose]: drop }
}

function collected(): { out: Writable; text: () => string } {
  const chunks: Buffer[] = []
  const out = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(Buffer.from(chunk))
      done()
    },
  })
  return { out, text: () => Buffer.concat(chunks).toString() }
}

test('backups need a location, a format that is made, and the right', async () => {
  const native = { format: 'native' }
  const nowhere = await root.put('/system/backup/new', native)
  assert.deepEqual([nowhere.status, nowhere.body.parameters.name], [400, 'location_defaults.backups'])
  const unknown = { system: { config: { location_defaults: { originals: 'file', versions: '', backups: 'moon' } } } }
  assert.equal((await root.post('/config', unknown)).status, 400)
  await storeIn('safe')
  for (const format of ['sqlite3', 'sqlite3_db', 'pg_dump', 'Postgres', 'toString', 'tar', '']) {
    assert.equal((await root.put('/system/backup/new', { format })).body.code, 'FormatNotSupported', format)
  }
  assert.equal((await museum.svc.as('al').put('/system/backup/new', native)).body.code, 'SystemRightRequired')
  assert.equal((await museum.svc.as('al').get('/system/backup/list')).status, 403)
  await ok(museum.svc.as('bo').get('/system/backup/list'))
  for (const path of ['', '/download']) {
    const { status, body } = await root.get(`/system/backup/99999${path}`)
    assert.deepEqual([status, body.code], [404, 'BackupNotFound'])
  }
  assert.equal((await root.delete('/system/backup/99999')).body.code, 'BackupNotFound')
})

test('a backup is made in the background, downloaded whole or in parts, verified, restored, and deleted', async () => {
  await storeIn('safe')
  const [person] = await ok(root.post('/db/person', [payload('person', { name: 'Ada' })]))
  const file = await uploaded(museum.svc, 'a.txt', Buffer.from('a content'))
  const backup = await made({ format: 'native' })
  assert.equal(backup.status, 'done', JSON.stringify(backup.log))
  const { id, created_at, finished_at, create_user, stats, opts, log } = backup
  assert.ok(Date.parse(created_at) <= Date.parse(finished_at))
  assert.equal(create_user.user._generated_displayname, 'Root')
  assert.deepEqual(opts, { format: 'native', include_events: true })
  assert.match(log.map(({ msg }: Json) => msg).join('\n'), /rows of \d+ tables.*stored in the location safe/s)
  assert.deepEqual((await ok(root.get('/system/backup/list')))[0], backup)
  const { body: events } = await root.get('/event/list', { type: 'BACKUP_DONE' })
  const { event } = events.objects.at(-1)
  assert.deepEqual([event.basetype, event.object_id, event.info.BackupOpts.format], ['backup', id, 'native'])

  const url = `/api/v1/system/backup/${id}/download`
  const token = await root.token()
  const get = (headers: object = {}) =>
    museum.svc.inject({ method: 'GET', url, headers: { authorization: `Bearer ${token}`, ...headers } })
  const whole = await get()
  assert.deepEqual([whole.statusCode, whole.rawPayload.length], [200, stats.filesize])
  assert.ok(`${whole.headers['content-disposition']}`.includes(stats.filename))
  const part = await get({ range: 'bytes=10-19' })
  assert.equal(part.statusCode, 206)
  assert.deepEqual(part.rawPayload, whole.rawPayload.subarray(10, 20))

  const known = await get({ 'if-none-match': `${whole.headers.etag}` })
  assert.deepEqual([known.statusCode, known.rawPayload.length], [304, 0])
  const { body: document } = await root.get('/system/openapi/spec.json')
  const described = document.paths['/api/v1/system/backup/{id}/download'].get.responses
  assert.deepEqual(
    ['200', '206', '304', '416'].filter((status) => !(status in described)),
    [],
  )

  const archive = join(folder, 'got.tar.zst')
  await writeFile(archive, whole.rawPayload)
  const verified = collected()
  assert.equal(await runVerify([archive], testConfig(museum.svc.dsn), verified.out), 0)
  assert.match(verified.text(), /can be restored: \d+ rows and 1 contents/)

  await using database = await emptyDatabase()
  const config = testConfig(database.dsn, { dataDir: join(folder, 'other') })
  assert.equal(await runRestore([archive], config, collected().out), 0)
  await using restored = await attachService(database.dsn, { dataDir: join(folder, 'other') })
  const again = await restored.as('root').get(`/db/person/_all_fields/${person.person._id}`)
  assert.equal(again.body[0].person.name, 'Ada')
  const content = await restored.as('root').get(`/eas/${file._id}`)
  assert.equal(content.status, 200)

  assert.equal((await root.delete('/system/location/2')).status, 400)
  await ok(root.delete(`/system/backup/${id}`))
  assert.equal((await root.get(`/system/backup/${id}`)).status, 404)
  assert.equal((await get()).statusCode, 404)
})

test('without the event log there is none in it', async () => {
  await storeIn('safe')
  const backup = await made({ format: 'native', include_events: false })
  assert.deepEqual([backup.status, backup.opts.include_events], ['done', false])
  const token = await root.token()
  const url = `/api/v1/system/backup/${backup.id}/download`
  const { rawPayload } = await museum.svc.inject({ method: 'GET', url, headers: { authorization: `Bearer ${token}` } })
  const archive = join(folder, 'quiet.tar.zst')
  await writeFile(archive, rawPayload)
  await using database = await emptyDatabase()
  const config = testConfig(database.dsn, { dataDir: join(folder, 'quiet') })
  await runRestore([archive], config, collected().out)
  await using restored = await attachService(database.dsn, { dataDir: join(folder, 'quiet') })
  const { body } = await restored.as('root').get('/event/list', { type: 'OBJECT_INSERT' })
  assert.equal(body.count, 0)
})

test('a damaged, cut or foreign archive is told so', async () => {
  await storeIn('safe')
  const { id } = await made({ format: 'native' })
  const token = await root.token()
  const headers = { authorization: `Bearer ${token}` }
  const { rawPayload } = await museum.svc.inject({
    method: 'GET',
    url: `/api/v1/system/backup/${id}/download`,
    headers,
  })
  const archive = join(folder, 'whole.tar.zst')
  await writeFile(archive, rawPayload)
  const config = testConfig(museum.svc.dsn)
  const verify = (file: string, own = config) => runVerify([file], own, collected().out)
  const cut = join(folder, 'cut.tar.zst')
  for (const share of [0.1, 0.5, 0.9]) {
    await writeFile(cut, (await readFile(archive)).subarray(0, Math.floor(rawPayload.length * share)))
    await assert.rejects(verify(cut), /damaged|cut off|no backup/, `${share}`)
  }
  await copyFile(archive, cut)
  const handle = await open(cut, 'r+')
  await handle.write(Buffer.from('XXXX'), 0, 4, Math.floor(rawPayload.length / 2))
  await handle.close()
  await assert.rejects(verify(cut), /damaged|cut off|checksum/i)
  await assert.rejects(verify(archive, { ...config, databaseName: 'other' }), /instance test/)
  await assert.rejects(verify(join(folder, 'none')), /no file/)
})

test('one backup at a time; a running one is not deleted, and a failed one is told to administrators', async () => {
  await storeIn('safe')
  await museum.svc.db.query(`insert into backup (format, include_events) values ('native', true)`)
  const { rows } = await museum.svc.db.query<{ id: number }>(`select id from backup where status = 'running'`)
  const id = rows[0]?.id as number
  assert.equal((await root.put('/system/backup/new', { format: 'native' })).status, 400)
  assert.equal((await root.delete(`/system/backup/${id}`)).body.code, 'DeleteNotSupported')
  await museum.svc.db.query(`update backup set status = 'error' where id = $1`, [id])
  // A file lies where the folder of archives was.
  await rm(join(folder, 'data', 'files', 'safe'), { recursive: true })
  await writeFile(join(folder, 'data', 'files', 'safe'), '')
  const begun = await ok(root.put('/system/backup/new', { format: 'native' }))
  await until(async () => {
    await museum.svc.app.idle({ hurry: true })
    return (await ok(root.get(`/system/backup/${begun.id}`))).status === 'error'
  })
  await until(() => mails.mails.some(({ data }) => data.includes('A backup has failed')))
  assert.deepEqual(mails.mails.find(({ data }) => data.includes('A backup has failed'))?.to, ['admin@museum.test'])
  const { body } = await root.get('/event/list', { type: 'BACKUP_FAILED' })
  assert.equal(body.objects.at(-1).event.object_id, begun.id)
})

test('what an attempt has stored goes when the backup is not done: with the next attempt, and when it has failed', async () => {
  await storeIn('file')
  const stored = async () => (await readdir(join(folder, 'data', 'files'), { recursive: true })).toSorted()
  await ok(root.post('/db/person', [payload('person', { name: 'Grace' })]))
  await museum.svc.drain()
  const before = await stored()
  // It ends between the storing and the record of it.
  await museum.svc.db.query(`create function stop_backup() returns trigger language plpgsql as
    $$ begin if new.status = 'done' then raise exception 'cut off'; end if; return new; end $$`)
  await museum.svc.db.query(
    'create trigger stop_backup before update on backup for each row execute function stop_backup()',
  )
  const { id } = await ok(root.put('/system/backup/new', { format: 'postgres' }))
  await until(async () => {
    await museum.svc.app.idle({ hurry: true })
    return (await ok(root.get(`/system/backup/${id}`))).status === 'error'
  })
  await museum.svc.db.query('drop trigger stop_backup on backup')
  const { log, stats } = await ok(root.get(`/system/backup/${id}`))
  assert.equal(log.filter(({ msg }: Json) => msg.startsWith('stored in')).length, 3, JSON.stringify(log))
  assert.equal(stats, undefined)
  const files = (names: readonly string[]) => names.filter((name) => /[0-9a-f]{64}$/.test(name))
  assert.deepEqual(files(await stored()), files(before))
})
