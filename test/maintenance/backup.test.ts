import assert from 'node:assert/strict'
import { open, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import pg from 'pg'
import { runBackup, runRestore } from '../../src/maintenance/backup-commands.ts'
import type { Json } from '../support/client.ts'
import { assertEventFlags } from '../support/event-flags.ts'
import { createEmptyDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/process.ts'
import { inPool, link, payload, startMuseum } from '../support/seed/museum.ts'
import { attachService, startService, testConfig } from '../support/service.ts'
import { everything } from './everything.ts'

const silent = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() })

test('a backup that was made while objects were being saved restores to the same objects, versions, links and hits', async () => {
  await using folder = await temporaryFolder()
  await using museum = await startMuseum()
  const { svc, pool } = museum
  const root = svc.as('root')
  const save = async (type: string, blocks: object[]): Promise<{ _system_object_id: number }[]> => {
    const answer = await root.post(`/db/${type}`, blocks)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body
  }
  const names = Array.from({ length: 30 }, (_, i) => `Ada\t${i}\\N "ä" \n 😀`)
  const people = await save(
    'person',
    names.map((name, i) => payload('person', { name: name.replaceAll(/[\n\t]/g, ' '), reference: `r${i}` })),
  )
  const works = await save(
    'work',
    people.map((person, i) =>
      payload(
        'work',
        {
          title: { 'en-US': `Harbour ${i}\nwith \\N a \t tab` },
          inventory: `A${i}`,
          creator: link('person', person._system_object_id),
        },
        inPool(pool),
      ),
    ),
  )
  assert.equal(works.length, 30)
  const [first] = (await root.get('/db/work/_all_fields/1')).body
  await save('work', [{ ...first, work: { ...first.work, note: 'second version' } }])
  assert.equal((await root.delete('/db/work', [[2, 1, 'gone']], { delete_policy: 'remove' })).status, 200)
  assert.equal((await root.delete('/db/work', [[3, 1, null]], { delete_policy: 'remove' })).status, 200)
  assert.equal((await root.delete('/db/work', [[3, 2, null]], { delete_policy: 'purge' })).status, 200)
  await svc.drain()

  // Saving goes on while the backup is made: it has a save whole or not at all.
  const file = join(folder.path, 'museum.tar.zst')
  let saving = true
  const saver = (async () => {
    for (let i = 0; saving; i++) {
      const person = payload('person', { name: `late ${i}`, reference: `late${i}` })
      await save('person', [person, payload('person', { name: `late too ${i}`, reference: `late-too${i}` })])
    }
  })()
  try {
    assert.equal(await runBackup([file], testConfig(svc.dsn), silent()), 0)
  } finally {
    saving = false
    await saver
  }
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  const done = (await root.get('/event/list', { type: 'BACKUP_DONE' })).body
  assert.equal(done.count, 1)
  assert.deepEqual(Object.keys(done.objects[0].event.info).sort(), ['BackupOpts', 'Elapsed', 'Started'])
  await assert.rejects(runBackup([file], testConfig(svc.dsn), silent()), /exists already/)

  await using database = await createEmptyDatabaseInUse()
  const config = testConfig(database.dsn)
  assert.equal(await runRestore([file], config, silent()), 0)
  await using restored = await attachService(database.dsn)
  await restored.drain()
  await svc.drain()

  const late = (await restored.as('root').get('/db/person/_all_fields/list', { limit: 10_000 })).body.length - 30
  assert.equal(late % 2, 0, 'a save is there whole or not at all')
  // What came after the snapshot is taken away, so that both must be equal.
  const added = (await root.get('/db/person/_all_fields/list', { limit: 10_000 })).body.slice(30 + late)
  const triples = added.map((object: { person: { _id: number; _version: number } }) => [object.person._id, 1, null])
  if (triples.length > 0) {
    assert.equal((await root.delete('/db/person', triples, { delete_policy: 'remove' })).status, 200)
    const gone = triples.map(([id]: number[]) => [id, 2, null])
    assert.equal((await root.delete('/db/person', gone, { delete_policy: 'purge' })).status, 200)
  }
  await svc.drain()
  // Each was asked by a sign-in of its own.
  for (const client of [svc, restored]) await client.db.query('update "user" set last_seen_at = null')
  const [after, before] = [await everything(restored), await everything(svc)]
  assert.deepEqual(Object.keys(after), Object.keys(before))
  for (const key of Object.keys(before)) assert.deepEqual(after[key], before[key], key)

  // Ids go on behind those of the backup, the purged one included.
  const [next] = (
    await restored.as('root').post('/db/work', [payload('work', { title: { 'en-US': 'new' } }, inPool(pool))])
  ).body
  assert.equal(next.work._id, 31)
  await assert.rejects(runRestore([file], config, silent()), /has data already/)
})

test('a backup that is damaged, cut off, of something else or of another instance leaves the database as it was', async () => {
  await using folder = await temporaryFolder()
  await using museum = await startMuseum()
  await museum.svc.as('root').post('/db/person', [payload('person', { name: 'Ada', reference: 'a' })])
  const good = join(folder.path, 'good.tar.zst')
  await runBackup([good], testConfig(museum.svc.dsn), silent())
  const bytes = await readFile(good)
  const bad = join(folder.path, 'bad.tar.zst')
  await using database = await createEmptyDatabaseInUse()
  const refused = async (reason: RegExp, options: object = {}): Promise<void> => {
    await assert.rejects(runRestore([bad], testConfig(database.dsn, options), silent()), reason)
    const client = new pg.Client(database.dsn)
    await client.connect()
    // What is seen to be none from its beginning has not even brought a schema about.
    const { rows: made } = await client.query(`select to_regclass('public."user"') is not null as made`)
    const { rows } = await client.query(
      made[0].made
        ? 'select (select count(*) from "user" where password_hash is not null)::int + (select count(*) from datamodel_version)::int as rows'
        : 'select 0 as rows',
    )
    await client.end()
    assert.deepEqual(rows, [{ rows: 0 }])
  }
  await writeFile(bad, bytes)
  await truncate(bad, Math.floor(bytes.length * 0.9))
  await refused(/./)
  await writeFile(bad, bytes)
  await using handle = await open(bad, 'r+')
  await handle.write(Buffer.from([0xff, 0xff, 0xff, 0xff]), 0, 4, Math.floor(bytes.length / 2))
  await refused(/./)
  await writeFile(bad, 'no backup at all')
  await refused(/./)
  await writeFile(bad, zstdCompressSync(Buffer.alloc(10_240)))
  await refused(/cut off|no backup/)
  await writeFile(bad, bytes)
  await refused(/of the instance test/, { databaseName: 'other' })
})

test('EVENT-009 EVENT-010 a backup that was made, and one that failed, stand in the log for whoever polls', async () => {
  await using folder = await temporaryFolder()
  await using svc = await startService()
  const root = svc.as('root')
  const [good, bad] = [join(folder.path, 'good.tar.zst'), join(folder.path, 'missing', 'bad.tar.zst')]
  const from = Date.now()
  assert.equal(await runBackup([good], testConfig(svc.dsn), silent()), 0)
  await assert.rejects(runBackup([bad], testConfig(svc.dsn), silent()), /ENOENT/)
  const polled = (await root.get('/event/poll/0', { limit: 1000 })).body
    .map(({ event }: Json) => event)
    .filter(({ type }: Json) => type.startsWith('BACKUP'))
  assert.deepEqual(
    polled.map(({ type, info }: Json) => [type, Object.keys(info).sort()]),
    [
      ['BACKUP_DONE', ['BackupOpts', 'Elapsed', 'Started']],
      ['BACKUP_FAILED', ['BackupOpts', 'Elapsed', 'Error', 'Started']],
    ],
  )
  const [done, failed] = polled.map(({ info }: Json) => info)
  assert.deepEqual([done.BackupOpts, failed.BackupOpts], [{ file: good }, { file: bad }])
  assert.match(failed.Error, /ENOENT/)
  for (const { Started, Elapsed } of [done, failed]) {
    assert.ok(Date.parse(Started) >= from && Date.parse(Started) <= Date.now())
    assert.match(Elapsed, /^\d+\.\d{3}s$/)
  }
  // Nobody is signed in at a command line; a backup that somebody asks for would name them.
  await assertEventFlags(svc, ['BACKUP_DONE', 'BACKUP_FAILED'], { userLogged: true, pollable: true })
})

/** Dropped at the end of the block. */
async function createEmptyDatabaseInUse() {
  const database = await createEmptyDatabase()
  return { dsn: database.dsn, [Symbol.asyncDispose]: () => database.drop() }
}
