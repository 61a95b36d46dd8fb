import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { pino } from 'pino'
import { createEventLog } from '../../src/events/service.ts'
import type { BlobStore } from '../../src/files/blobs/blob-store.ts'
import { createFileSystemStore } from '../../src/files/blobs/file-system.ts'
import { createJanitor, type JanitorOptions } from '../../src/files/janitor.ts'
import { createFormerFiles, linkPolicies } from '../../src/objects/upkeep/former-files.ts'
import { defaultSettings } from '../../src/objecttypes/model.ts'
import type { PoolSnapshot } from '../../src/pools/model.ts'
import type { Json } from '../support/client.ts'
import { assertEventFlags } from '../support/event-flags.ts'
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
      formerFiles: () => async () => 0,
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
    assert.deepEqual([gone.event.info.location_key, gone.event.info.location_id], ['file', 1], 'the only location')
    assert.deepEqual(gone.event.info, about('goes.txt'))
    assert.deepEqual(kept.event.info, { ...about('stays.txt'), error: 'the disk is full' })
    for (const { event, rest } of [gone, kept]) {
      assert.deepEqual([event.pollable, rest.user, event.user], [false, undefined, undefined])
    }
    const polled = (await root().get(`/event/poll/${since}`, { limit: 1000 })).body
    assert.ok(polled.every(({ event }: Json) => !event.type.startsWith('FILE_DELETE')))
    const types = ['FILE_DELETE', 'FILE_DELETE_ERROR'] as const
    await assertEventFlags(museum.svc, types, { userLogged: false, pollable: false })
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

  suite('files of former versions', () => {
    let pool: number
    before(async () => {
      const { body } = await root().post('/pool', [{ pool: { _id_parent: museum.pool, name: { 'en-US': 'kept' } } }])
      pool = body[0].pool._id
    })
    after(() => say({}))

    /** What the base configuration says of former versions. */
    async function say(said: object, more: object = {}): Promise<void> {
      const file_link_delete = { keep_days_history_versions: null, keep_count_history_versions: null, ...said }
      const object_and_file_removal = { file_link_delete, ...more }
      const { status, body } = await root().post('/config/system/config', { janitor: { object_and_file_removal } })
      assert.equal(status, 200, JSON.stringify(body))
    }

    async function sayInPool(id: number, janitor_policy: object | null): Promise<void> {
      const { _version } = (await root().get(`/pool/${id}`)).body[0].pool
      const { status, body } = await root().post('/pool', [{ pool: { _id: id, _version, janitor_policy } }])
      assert.equal(status, 200, JSON.stringify(body))
    }

    /** An object whose versions have one of the files each, the last one the last. */
    async function history(files: readonly Json[]): Promise<Json> {
      let object: Json = { work: {} }
      for (const { _id } of files) {
        const { status, body } = await root().post('/db/work', [
          payload('work', { ...object.work, ...inPool(pool), image: [{ _id }] }),
        ])
        assert.equal(status, 200, JSON.stringify(body))
        object = body[0]
        object.work = { _id: object.work._id, _version: object.work._version }
      }
      return object
    }

    async function some(count: number): Promise<Json[]> {
      const sent: { name: string; content: Buffer }[] = []
      for (let n = 0; n < count; n++) sent.push({ name: `${n}.jpg`, content: await picture() })
      return (await upload(museum.svc, 'root', sent)).body
    }

    const upgrade =
      /^update file_use[^;]*;/m.exec(
        readFileSync(join(import.meta.dirname, '../../migrations/0460_former_files.sql'), 'utf8'),
      )?.[0] ?? ''

    const tidy = (days: number) => museum.svc.app.tidy(new Date(Date.now() + days * day))

    /** Which of the files objects have, and which are there at all. */
    async function state(files: readonly Json[]): Promise<{ linked: boolean[]; there: boolean[] }> {
      const ids = files.map(({ _id }) => _id)
      const { rows } = await museum.svc.db.query<{ linked: boolean; there: boolean }>(
        `select exists (select from file_use where file_id = x) as linked, exists (select from file where id = x) as there
         from unnest($1::bigint[]) with ordinality as t(x, n) order by n`,
        [ids],
      )
      return { linked: rows.map(({ linked }) => linked), there: rows.map(({ there }) => there) }
    }

    const reports = async () =>
      (
        await museum.svc.db.query<{ info: Json }>(
          `select info from event where type = 'JANITOR' and info->>'type' = 'file_link_delete' order by id`,
        )
      ).rows.map(({ info }) => info)

    test('after the days, all but the latest former versions let go of theirs; the latest version never does', async () => {
      const files = await some(4)
      const [a, b, c, d] = files as [Json, Json, Json, Json]
      const { _system_object_id, work } = await history([a, b, c])
      // Of the same file in another object nothing goes with it.
      await history([d, a])
      await tidy(1000)
      assert.deepEqual((await state(files)).linked, [true, true, true, true], 'nothing is said')
      await say({ keep_days_history_versions: 10, keep_count_history_versions: 1 })
      await tidy(9)
      assert.deepEqual((await state(files)).linked, [true, true, true, true])
      await tidy(11)
      assert.deepEqual((await state(files)).linked, [true, true, true, true], 'the other object has it')
      assert.deepEqual(
        (await reports()).map(({ count, system_object_ids, log }) => [count, system_object_ids, log.length]),
        [[1, [_system_object_id], 1]],
      )
      await tidy(11)
      assert.equal((await reports()).length, 1, 'nothing is left to do')
      await say({ keep_days_history_versions: 10 })
      await tidy(11)
      assert.deepEqual((await state(files)).linked, [true, false, true, false])
      const { rows } = await museum.svc.db.query('select from file_use where file_id = $1', [a._id])
      assert.equal(rows.length, 1)
      await tidy(40.9)
      assert.deepEqual((await state(files)).there, [true, true, true, true], 'they are given up from then on')
      await tidy(42.5)
      assert.deepEqual((await state(files)).there, [true, false, true, false])
      const old = async (version: number) =>
        (await root().get(`/db/work/_all_fields/${work._id}`, { version })).body[0].work.image
      assert.deepEqual(await old(2), [{ _id: b._id, preferred: true }])
      assert.equal((await old(3))[0].original_filename, '2.jpg')
    })

    test('pools say it for what they hold and for those below, unless these say otherwise; versions are counted back', async () => {
      const files = await some(4)
      await say({})
      await history(files)
      // What an upgrade finds in the contents is what saves have written.
      const { rows } = await museum.svc.db.query<{ written: number; found: number }>(
        upgrade.replace(
          /^update file_use u set replaced_by = ([\s\S]*)\nwhere not u.latest;$/,
          'select u.replaced_by as written, $1 as found from file_use u where not u.latest',
        ),
      )
      assert.ok(rows.length >= 3)
      for (const { written, found } of rows) assert.equal(found, written)
      const kept = async (count: number | null) => {
        await sayInPool(museum.pool, { file_link_delete: { keep_count: count } })
        await tidy(0.1)
        return (await state(files)).linked
      }
      assert.deepEqual(await kept(2), [false, true, true, true])
      await sayInPool(pool, { file_link_delete: {} })
      assert.deepEqual(await kept(0), [false, true, true, true], 'all is kept here')
      await sayInPool(pool, null)
      await say({}, { allow_overwrite: false })
      assert.deepEqual(await kept(0), [false, true, true, true], 'pools are not asked')
      await say({}, { allow_overwrite: true })
      assert.deepEqual(await kept(1), [false, false, true, true])
      assert.deepEqual(await kept(0), [false, false, false, true])
      await sayInPool(museum.pool, null)
    })

    test('objects in the trash let go of theirs after the days; what comes back has what is still there', async () => {
      const files = await some(2)
      const [a, b] = files as [Json, Json]
      const { work, _system_object_id } = await history([a, b])
      await say({})
      await sayInPool(pool, { file_link_delete: { min_object_deleted_days: 5 } })
      await tidy(100)
      assert.deepEqual((await state(files)).linked, [true, true], 'it is not in the trash')
      const gone = await root().delete('/db/work', [[work._id, 2]], { delete_policy: 'remove' })
      assert.equal(gone.status, 200, JSON.stringify(gone.body))
      await tidy(4)
      assert.deepEqual((await state(files)).linked, [true, true])
      await tidy(6)
      assert.deepEqual((await state(files)).linked, [false, false])
      const back = await root().delete('/db/work', [[work._id, 3]], { delete_policy: 'undelete' })
      assert.equal(back.status, 200, JSON.stringify(back.body))
      assert.deepEqual((await state(files)).linked, [false, true])
      await tidy(100)
      assert.deepEqual((await state(files)).there, [false, true])
      // And once more, until nothing is there to come back.
      await root().delete('/db/work', [[work._id, 4]], { delete_policy: 'remove' })
      await tidy(6)
      await tidy(40)
      assert.deepEqual((await state(files)).there, [false, false])
      const empty = await root().delete('/db/work', [[work._id, 5]], { delete_policy: 'undelete' })
      assert.equal(empty.status, 200, JSON.stringify(empty.body))
      await museum.svc.drain()
      const { body } = await root().post('/search', {
        search: [{ type: 'in', fields: ['_system_object_id'], in: [_system_object_id] }],
        format: 'long',
      })
      assert.deepEqual(body.objects[0].work.image, [{ _id: b._id, preferred: true }])
      const changed = payload('work', { _id: work._id, _version: 6, note: 'kept', image: body.objects[0].work.image })
      assert.equal((await root().post('/db/work', [changed])).status, 200)
      await sayInPool(pool, null)
    })

    test('kill -9 while links are given up: all of a batch or nothing, and the next run does the rest', async () => {
      const files = await some(3)
      await history(files)
      const policies = () => [{ holder: `p${pool}`, days: null, count: 0, trashed: null }]
      const broken = { append: () => Promise.reject(new Error('the process ends')) }
      const run = async (events: Pick<ReturnType<typeof createEventLog>, 'append'>) => {
        const formerFiles = createFormerFiles({ events, policies, wakeIndex: () => {} })
        const one = createJanitor({ ...deps(), formerFiles })
        now = Date.now() + 1000
        await one.run()
        await one.close()
      }
      await run(broken)
      assert.deepEqual((await state(files)).linked, [true, true, true])
      const { rows } = await museum.svc.db.query('select from file where unlinked_at is not null and id = any($1)', [
        files.map(({ _id }) => _id),
      ])
      assert.equal(rows.length, 0)
      const before = (await reports()).length
      await Promise.all([run(createEventLog()), run(createEventLog())])
      assert.deepEqual((await state(files)).linked, [false, false, true])
      assert.deepEqual(
        (await reports()).slice(before).map(({ count }) => count),
        [2],
      )
    })

    test('object types without pools say it for their objects', () => {
      const removal = {
        allow_overwrite: true,
        file_link_delete: { keep_count_history_versions: null, keep_days_history_versions: 3 },
      }
      const own = {
        file_link_delete: { keep_days_history_versions: null, keep_count: 2, min_object_deleted_days: 1 },
      }
      const objecttypes = [
        { id: 1, settings: { ...defaultSettings, fields: { janitor_policy: own } } },
        { id: 2, settings: defaultSettings },
      ]
      const general = { days: 3, count: null, trashed: null }
      const pools = { values: () => [].values() } as unknown as PoolSnapshot
      assert.deepEqual(linkPolicies({ removal, pools, objecttypes }), [
        { holder: 't1', days: null, count: 2, trashed: 1 },
        { holder: 't2', ...general },
      ])
      assert.deepEqual(
        linkPolicies({ removal: { ...removal, allow_overwrite: false }, pools, objecttypes }).map(({ days }) => days),
        [3, 3],
      )
    })
  })

  test('what a setting names stays; it goes like others when it is not named any more', async () => {
    const { body } = await upload(museum.svc, 'root', [{ name: 'mark.png', content: await picture(8, 8, 'png') }])
    const [{ _id }] = body
    const save = async (watermark: object | null) => {
      const { pool } = (await root().get(`/pool/${museum.pool}`)).body[0]
      const { status } = await root().post('/pool', [{ pool: { _id: pool._id, _version: pool._version, watermark } }], {
        confirm: 'skip',
      })
      assert.equal(status, 200)
    }
    await save({ image: { _id } })
    await runAt(31)
    assert.equal((await root().get(`/eas/${_id}`)).status, 200)
    await save(null)
    await runAt(29)
    assert.equal((await root().get(`/eas/${_id}`)).status, 200)
    await runAt(31)
    assert.equal((await root().get(`/eas/${_id}`)).status, 403)
    await runAt(33)
    now = Date.now()
  })
})
