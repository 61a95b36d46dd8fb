import assert from 'node:assert/strict'
import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { pino } from 'pino'
import { createEventLog } from '../../src/events/service.ts'
import type { BlobStore } from '../../src/files/blobs/blob-store.ts'
import { createFileSystemStore } from '../../src/files/blobs/file-system.ts'
import { createJanitor, type JanitorOptions } from '../../src/files/janitor.ts'
import type { Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { fetched, picture, sha256, upload } from './support.ts'

suite('the janitor of files', () => {
  let museum: Museum
  let now = Date.now()
  const day = 86_400_000
  const root = () => museum.svc.as('root')
  const folder = () => join(museum.svc.config.dataDir, 'files')
  before(async () => {
    museum = await startMuseum()
  })
  after(() => museum[Symbol.asyncDispose]())

  function deps(
    readOnly = false,
    paused = false,
    store: Pick<BlobStore, 'remove' | 'sweep'> = inFolder(),
  ): JanitorOptions {
    return {
      db: museum.svc.db,
      events: createEventLog(),
      log: pino({ level: 'silent' }),
      locations: { all: () => [{ id: 1, name: 'file', readOnly }], storeOf: () => store },
      settings: () => ({ active: true, file_expire_days: 30 }),
      paused: () => paused,
      now: () => now,
    }
  }

  async function runAt(days: number, ...how: Parameters<typeof deps>): Promise<void> {
    const one = createJanitor(deps(...how))
    now = Date.now() + days * day
    await one.run()
    await one.close()
  }

  const inFolder = () => createFileSystemStore(folder())

  const contents = async (): Promise<string[]> =>
    (await readdir(folder(), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .sort()

  test('uploads that no object has go after the days, their contents a day later; all others stay', async () => {
    const [kept, lost, shared] = [await picture(), await picture(), await picture()]
    const { body } = await upload(museum.svc, 'root', [
      { name: 'kept.jpg', content: kept },
      { name: 'lost.jpg', content: lost },
      { name: 'shared.jpg', content: shared },
      { name: 'copy.jpg', content: shared },
    ])
    const [first, , third] = body as Json[]
    const image = [{ _id: first._id }, { _id: third._id }]
    const saved = await root().post('/db/work', [payload('work', { ...inPool(museum.pool), image })])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    const rows = async () =>
      (await root().get('/eas', { ids: JSON.stringify(body.map((file: Json) => file._id)) })).body
    await runAt(29)
    assert.equal(Object.keys(await rows()).length, 4)
    await runAt(31, false, true)
    assert.equal(Object.keys(await rows()).length, 4, 'nothing in read-only mode')
    await runAt(31)
    assert.deepEqual(Object.keys(await rows()).map(Number), [first._id, third._id])
    assert.equal((await fetched(museum.svc, body[1].versions.original.url)).status, 404)
    // Its content is touched when its file goes: a backup that was begun before still finds it.
    await museum.svc.db.query(`update file_blob set touched_at = now() - interval '23 hours'`)
    await runAt(0)
    assert.equal((await contents()).length, 3)
    await museum.svc.db.query(`update file_blob set touched_at = now() - interval '25 hours'`)
    await runAt(0, true)
    assert.equal((await contents()).length, 3, 'nothing in a read-only location')
    await runAt(0)
    assert.deepEqual(await contents(), [sha256(kept), sha256(shared)].sort())
    for (const file of [first, third]) assert.equal((await fetched(museum.svc, file.versions.original.url)).status, 200)
    const { rows: told } = await museum.svc.db.query<{ type: string; info: Json }>(
      `select type, info from event where type in ('JANITOR', 'FILE_DELETE') order by id`,
    )
    assert.deepEqual(
      told.map(({ type, info }) => [type, info.count ?? info.filename]),
      [
        ['JANITOR', 2],
        ['FILE_DELETE', sha256(lost)],
        ['JANITOR', 1],
      ],
    )
  })

  test('EVENT-021 EVENT-022 what is deleted and what cannot be is told, of nobody, and not to those who poll', async () => {
    const { rows } = await museum.svc.db.query<{ id: number }>('select max(id) as id from event')
    const since = rows[0]?.id ?? 0
    const remove = async (name: string, store = inFolder()) => {
      await upload(museum.svc, 'root', [{ name, content: Buffer.from(name) }])
      await runAt(31)
      await museum.svc.db.query(`update file_blob set touched_at = now() - interval '25 hours'`)
      await runAt(0, false, false, store)
    }
    await remove('goes.txt')
    const broken = {
      ...inFolder(),
      remove: async () => {
        throw new Error('the disk is full')
      },
    }
    await remove('stays.txt', broken)
    const { body } = await root().get('/event/list', {
      id: `${since + 1}-999999999`,
      type: 'FILE_DELETE,FILE_DELETE_ERROR',
    })
    const told = Object.fromEntries(body.objects.map(({ event, ...rest }: Json) => [event.type, { event, rest }]))
    const about = (name: string) => ({
      location_key: told.FILE_DELETE.event.info.location_key,
      location_id: told.FILE_DELETE.event.info.location_id,
      filename: sha256(Buffer.from(name)),
      log: ['no version of a file has this content any more'],
    })
    const { FILE_DELETE: gone, FILE_DELETE_ERROR: kept } = told
    const locations = (await root().get('/system/location/list')).body
    assert.ok(JSON.stringify(locations).includes(`"${gone.event.info.location_key}"`))
    assert.deepEqual(gone.event.info, about('goes.txt'))
    assert.deepEqual(kept.event.info, { ...about('stays.txt'), error: 'the disk is full' })
    for (const { event, rest } of [gone, kept]) {
      assert.deepEqual([event.pollable, rest.user, event.user], [false, undefined, undefined])
    }
    const polled = (await root().get(`/event/poll/${since}`, { limit: 1000 })).body
    assert.ok(polled.every(({ event }: Json) => !event.type.startsWith('FILE_DELETE')))
    await runAt(2)
  })

  test('what is uploaded while its content is about to go is there', async () => {
    const content = await picture()
    await upload(museum.svc, 'root', [{ name: 'a.jpg', content }])
    await runAt(31)
    await museum.svc.db.query(`update file_blob set touched_at = now() - interval '25 hours'`)
    const [, again] = await Promise.all([runAt(0), upload(museum.svc, 'root', [{ name: 'a.jpg', content }])])
    assert.equal(again.status, 200, JSON.stringify(again.body))
    await runAt(0)
    const answer = await fetched(museum.svc, again.body[0].versions.original.url)
    assert.ok(answer.content.equals(content))
  })

  test('kill -9 while a content is deleted: it is deleted again, or comes back when it is uploaded', async () => {
    const [gone, back] = [await picture(), await picture()]
    await upload(
      museum.svc,
      'root',
      [gone, back].map((content, n) => ({ name: `${n}.jpg`, content })),
    )
    await runAt(31)
    await museum.svc.db.query(`update file_blob set touched_at = now() - interval '25 hours'`)
    const store = inFolder()
    // The contents are gone, and the process ends before that is said.
    const events = createEventLog()
    const killed = createJanitor({
      ...deps(false, false, store),
      events: {
        ...events,
        append: () => Promise.reject(new Error('the process ends')),
      },
    })
    await killed.run()
    await killed.close()
    assert.deepEqual([await store.size(sha256(gone)), await store.size(sha256(back))], [null, null])
    const [file] = (await upload(museum.svc, 'root', [{ name: 'a.jpg', content: back }])).body
    await runAt(0)
    assert.ok((await fetched(museum.svc, file.versions.original.url)).content.equals(back))
    const { rows } = await museum.svc.db.query(`select from file_blob where sha256 = decode($1, 'hex')`, [sha256(gone)])
    assert.equal(rows.length, 0)
  })

  test('what interrupted uploads left goes after a day', async () => {
    const names = ['old', 'new'].map((name) => join(folder(), 'tmp', name))
    for (const name of names) await writeFile(name, 'x')
    await utimes(String(names[0]), new Date(Date.now() - 2 * day), new Date(Date.now() - 2 * day))
    await runAt(0)
    assert.deepEqual(await readdir(join(folder(), 'tmp')), ['new'])
  })
  test('a location that fails is left alone after a few contents; what failed is tried again another day', async () => {
    const many = Array.from({ length: 9 }, (_, index) => ({
      name: `${index}.txt`,
      content: Buffer.from(`gone ${index}`),
    }))
    await upload(museum.svc, 'root', many)
    await runAt(31)
    const { rows: unused } = await museum.svc.db.query(
      `update file_blob set touched_at = now() - interval '25 hours' where not exists (
         select from file_version v where v.sha256 = file_blob.sha256) returning 1`,
    )
    let asked = 0
    const broken = {
      ...inFolder(),
      remove: async () => {
        asked++
        throw new Error('the disk is gone')
      },
    }
    await runAt(0, false, false, broken)
    assert.equal(asked, 5)
    const { rows } = await museum.svc.db.query<{ count: number }>(
      `select count(*)::int from event where type = 'FILE_DELETE_ERROR' and info->>'error' = 'the disk is gone'`,
    )
    assert.equal(rows[0]?.count, 5)
    await runAt(0, false, false, broken)
    assert.equal(asked, unused.length, 'only those that were not tried')
    const before = (await contents()).length
    await runAt(2)
    assert.equal((await contents()).length, before - unused.length)
  })
})
