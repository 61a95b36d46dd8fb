import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { picture, type Sent, upload } from '../files/support.ts'
import { seedPeople, toUser, wireGrant } from '../rights/people.ts'
import type { Json } from '../support/client.ts'
import { assertEventFlags } from '../support/event-flags.ts'
import { commitModel, defineModel, standardPool } from '../support/seed/model.ts'
import { startService, type TestService } from '../support/service.ts'

suite('uploads into collections', () => {
  let svc: TestService
  let pool: number
  let vault: number
  let tag: number
  let ids: Record<string, number>
  const root = () => svc.as('root')
  let made = 0

  before(async () => {
    svc = await startService()
    const model = defineModel({
      photo: {
        columns: { title: 'text_oneline', code: 'string', files: 'text', image: 'eas' },
        nested: { shot: { columns: { scan: 'eas', note: 'text_oneline' } } },
        flags: { pool_link: true, has_tags: true },
      },
    })
    await commitModel(svc, model)
    const people = await seedPeople(svc)
    ids = people.ids
    const standard = await standardPool(svc)
    const rights = 'bag_read read link mask create write asset_upload asset_show asset_download'
    const pools = await root().post('/pool', [
      {
        pool: { _id_parent: standard, name: { 'en-US': 'Open' } },
        _acl: [
          wireGrant(toUser(ids.editor as number), rights),
          wireGrant(toUser(ids.reader as number), 'bag_read read'),
        ],
      },
      { pool: { _id_parent: standard, name: { 'en-US': 'Vault' } }, _private_acl: true },
    ])
    assert.equal(pools.status, 200, JSON.stringify(pools.body))
    ;[pool, vault] = pools.body.map((one: Json) => one.pool._id)
    const tags = await root().post('/tags', [
      {
        _basetype: 'taggroup',
        taggroup: { displayname: { 'en-US': 'Origin' }, type: 'checkbox' },
        _tags: [{ displayname: { 'en-US': 'new' }, type: 'individual', enabled: true }],
      },
    ])
    assert.equal(tags.status, 200, JSON.stringify(tags.body))
    tag = tags.body[0]._tags[0]._id
  })
  after(() => svc[Symbol.asyncDispose]())

  /** A collection of the editor with these upload settings. */
  async function collection(create_object: object | null, more: object = {}, login = 'editor'): Promise<number> {
    const { status, body } = await svc.as(login).post('/collection', {
      collection: { displayname: { 'en-US': `Drop ${made++}` }, ...(create_object ? { create_object } : {}), ...more },
    })
    assert.equal(status, 200, JSON.stringify(body))
    return body.collection._id
  }

  async function send(names: readonly string[], query: object, login = 'editor'): Promise<Json[]> {
    const { status, body } = await put(names, query, login)
    assert.equal(status, 200, JSON.stringify(body))
    return body as unknown as Json[]
  }

  async function put(names: readonly string[], query: object, login = 'editor') {
    const files: Sent[] = []
    for (const name of names) files.push({ name, content: await picture() })
    return upload(svc, login, files, { ...query })
  }

  const objectsOf = (records: readonly Json[]): number[][] =>
    records.map(({ _linked_objects: linked }) => linked.map((one: Json) => one._system_object_id))

  async function read(id: number): Promise<Json> {
    const { body } = await root().get(`/db/photo/_all_fields/system_object_id/${id}`)
    return body[0]
  }

  async function listOf(id: number): Promise<number[]> {
    const { body } = await root().get(`/collection/objects/${id}`, { limit: 1000 })
    return body.objects.map((one: Json) => Number(one._global_object_id.split('@')[0]))
  }

  const named = (files: readonly Json[]): string[] => files.map(({ original_filename: name }) => name)

  test('each file becomes an object of the type, in the pool, with the tags, in the collection', async () => {
    const id = await collection({ objecttype: 'photo', eas_field: 'image', pool_id: pool, tags: [{ _id: tag }] })
    const records = await send(['a.jpg', 'b.jpg'], { collection: id })
    const [[one], [two]] = objectsOf(records) as [[number], [number]]
    assert.notEqual(one, two)
    assert.deepEqual(await listOf(id), [one, two])
    const object = await read(one)
    assert.equal(object._pool.pool._id, pool)
    assert.deepEqual(
      object._tags.map((each: Json) => each._id),
      [tag],
    )
    assert.deepEqual(named(object.photo.image), ['a.jpg'])
    assert.equal(object.photo.image[0].preferred, true)
    assert.equal(object._owner.user._id, ids.editor)
    assert.deepEqual(records[0]?._linked_objects, [{ _system_object_id: one, _version: 1 }])
  })

  test('EVENT-039 EVENT-040: an upload tells each file with its path, place, id, name and size', async () => {
    const id = await collection({ objecttype: 'photo', eas_field: 'image', pool_id: pool })
    const records = await send(['first.jpg', 'second.jpg'], { collection: id })
    const { status, body } = await root().get('/event/list', { type: 'COLLECTION_UPLOAD', object_id: id, limit: 10 })
    assert.equal(status, 200, JSON.stringify(body))
    const events = body.objects
      .map(({ event }: Json) => event)
      .toSorted((one: Json, other: Json) => one._id - other._id)
    assert.deepEqual(
      events.map(({ info }: Json) => [info.path, info.object_in_batch, info.file_eas_id, info.file, info.filesize]),
      records.map((record, index) => ['', index, record._id, ['first.jpg', 'second.jpg'][index], record.filesize]),
    )
    await assertEventFlags(svc, ['COLLECTION_UPLOAD'], { userLogged: true, pollable: true })
  })

  test('settings come from the nearest collection above that has some', async () => {
    const above = await collection({ objecttype: 'photo', eas_field: 'photo.image', pool_id: pool })
    const below = await collection(null, { _id_parent: above })
    const [[one]] = objectsOf(await send(['c.jpg'], { collection: below })) as [[number]]
    assert.deepEqual(await listOf(below), [one])
    assert.deepEqual(await listOf(above), [])
  })

  test('versions of one name come into one field, the first one preferred, whether sent together or later', async () => {
    const id = await collection({ objecttype: 'photo', eas_field: 'image', pool_id: pool, recognize_version: true })
    const [[one], [other]] = objectsOf(await send(['v.png', 'V.jpg'], { collection: id })) as [[number], [number]]
    assert.equal(one, other)
    const [[later], [alone]] = objectsOf(await send(['v.tif.jpg', 'v.jpeg'], { collection: id })) as [
      [number],
      [number],
    ]
    assert.notEqual(later, one)
    assert.equal(alone, one)
    const { photo } = await read(one)
    assert.deepEqual(
      photo.image.map((file: Json) => [file.original_filename, file.preferred]),
      [
        ['v.png', true],
        ['V.jpg', false],
        ['v.jpeg', false],
      ],
    )
    assert.deepEqual(await listOf(id), [one, later])
  })

  test('a series comes into the rows of one object, also when its files are sent at the same moment', async () => {
    const settings = {
      objecttype: 'photo',
      eas_field: '_nested:photo__shot.scan',
      pool_id: pool,
      recognize_series: true,
    }
    const id = await collection(settings)
    const names = Array.from({ length: 6 }, (_, number) => `view-${number + 1}.jpg`)
    const all = (await Promise.all(names.map((name) => send([name], { collection: id })))).flatMap(objectsOf).flat()
    assert.equal(new Set(all).size, 1)
    const { photo } = await read(all[0] as number)
    assert.deepEqual(photo['_nested:photo__shot'].flatMap((row: Json) => named(row.scan)).sort(), names)
    const [[single]] = objectsOf(await send(['other.jpg'], { collection: id })) as [[number]]
    assert.notEqual(single, all[0])
    // What has left the collection gets nothing more.
    const removed = await root().post(`/collection/remove/${id}`, [
      { _global_object_id: `${all[0]}@${svc.config.databaseName}` },
    ])
    assert.equal(removed.status, 200, JSON.stringify(removed.body))
    const [[fresh]] = objectsOf(await send(['view-9.jpg'], { collection: id })) as [[number]]
    assert.notEqual(fresh, all[0])
  })

  test('rows keep what else they have when a version comes to one of them', async () => {
    const settings = {
      objecttype: 'photo',
      eas_field: '_nested:photo__shot.scan',
      pool_id: pool,
      recognize_series: true,
    }
    const id = await collection({ ...settings, recognize_version: true })
    const [[one]] = objectsOf(await send(['s-1.png', 's-2.png'], { collection: id })) as [[number]]
    const { photo } = await read(one)
    const rows = photo['_nested:photo__shot'].map((row: Json, index: number) => ({ ...row, note: `note ${index}` }))
    const saved = await root().patch('/db/photo', [
      { _objecttype: 'photo', _mask: 'photo__standard', photo: { _id: photo._id, '_nested:photo__shot': rows } },
    ])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    await send(['s-2.jpg'], { collection: id })
    const after = await read(one)
    assert.deepEqual(
      after.photo['_nested:photo__shot'].map((row: Json) => [row.note, named(row.scan)]),
      [
        ['note 0', ['s-1.png']],
        ['note 1', ['s-2.png', 's-2.jpg']],
      ],
    )
  })

  suite('updates by name', () => {
    const settings = (more: object) => ({
      objecttype: 'photo',
      eas_field: 'image',
      pool_id: pool,
      update_mode: 'update',
      update_search_field: 'photo.files',
      ...more,
    })
    async function object(values: object): Promise<number> {
      const { status, body } = await svc
        .as('editor')
        .post(
          '/db/photo',
          [{ _objecttype: 'photo', _mask: 'photo__standard', _pool: { pool: { _id: pool } }, photo: values }],
          { await_index: 20 },
        )
      assert.equal(status, 200, JSON.stringify(body))
      return body[0]._system_object_id
    }

    test('a file comes to all objects whose field names it, whole or without its extension', async () => {
      const one = await object({ files: 'up-a.jpg; else.jpg' })
      const two = await object({ files: 'x\nUP-A' })
      const three = await object({ files: 'up-a b.jpg' })
      const id = await collection(settings({}))
      const [found] = objectsOf(await send(['up-a.jpg'], { collection: id }))
      assert.deepEqual(found?.toSorted(), [one, two].toSorted())
      assert.deepEqual(named((await read(three)).photo.image), [])
      assert.deepEqual((await listOf(id)).toSorted(), [one, two].toSorted())
    })

    test('without a match an update refuses and an upsert creates', async () => {
      const update = await collection(settings({}))
      const refused = await put(['nobody.jpg'], { collection: update })
      assert.deepEqual([refused.status, refused.body.code], [400, 'CollectionUploadNoObjectFound'])
      assert.deepEqual(await listOf(update), [])
      const upsert = await collection(settings({ update_mode: 'upsert' }))
      const [[one]] = objectsOf(await send(['nobody.jpg'], { collection: upsert })) as [[number]]
      assert.deepEqual(await listOf(upsert), [one])
    })

    const policies: [policy: string, files: [string, boolean][]][] = [
      [
        'create_version',
        [
          ['old.jpg', true],
          ['new.jpg', false],
        ],
      ],
      [
        'create_version_preferred',
        [
          ['old.jpg', false],
          ['new.jpg', true],
        ],
      ],
      ['replace', [['new.jpg', true]]],
    ]
    for (const [update_policy, expected] of policies) {
      test(`${update_policy} says what becomes of the file that is there`, async () => {
        const files = `${update_policy}`
        const [record] = await send(['old.jpg'], {})
        const one = await object({ files: 'new.jpg', code: files, image: [{ _id: record?._id }] })
        const id = await collection(settings({ update_policy, update_search_field: 'code' }))
        await upload(svc, 'editor', [{ name: `${files}.jpg`, content: await picture() }], {
          collection: id,
          filenames: [`${files}.jpg`],
        })
        const { photo } = await read(one)
        assert.deepEqual(
          photo.image.map((file: Json) => [
            file.original_filename === 'old.jpg' ? 'old.jpg' : 'new.jpg',
            file.preferred,
          ]),
          expected,
        )
      })
    }

    test('refuse leaves an object as it is that has a file', async () => {
      const [record] = await send(['old.jpg'], {})
      const one = await object({ files: 'kept.jpg', image: [{ _id: record?._id }] })
      const id = await collection(settings({ update_policy: 'refuse' }))
      const refused = await put(['kept.jpg'], { collection: id })
      assert.deepEqual([refused.status, refused.body.code], [400, 'UploadError'])
      assert.deepEqual(named((await read(one)).photo.image), ['old.jpg'])
    })
  })

  test('who may not put objects there, or not make them, is refused before anything is read or made', async () => {
    const none = await collection(null)
    const hidden = await collection({ objecttype: 'photo', eas_field: 'image', pool_id: vault }, {}, 'root')
    const cases: [query: object, login: string, status: number, code: string][] = [
      [{ collection: none }, 'editor', 400, 'CollectionUploadNoObjectFound'],
      [{ collection: 999_999 }, 'editor', 404, 'ObjectNotFound'],
      [{ collection: hidden }, 'editor', 404, 'ObjectNotFound'],
      [{ collection: none }, 'reader', 403, 'RightRequired'],
      [{ collection: 0 }, 'editor', 400, 'ServerGeneric'],
    ]
    for (const [query, login, status, code] of cases) {
      const answer = await put(['x.jpg'], query, login)
      assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify([query, login, answer.body]))
    }
    const id = await collection({ objecttype: 'photo', eas_field: 'image', pool_id: pool })
    const versions = await put(['x.jpg'], { collection: id, id_parents: [1], version_names: ['small'] })
    assert.equal(versions.status, 400)
    // The pool is taken from the editor meanwhile: nothing is half made.
    const other = await root().post('/collection', {
      collection: {
        displayname: { 'en-US': 'Into the vault' },
        create_object: { objecttype: 'photo', eas_field: 'image', pool_id: vault },
      },
      _acl: [wireGrant(toUser(ids.editor as number), 'bag_read link')],
    })
    assert.equal(other.status, 200, JSON.stringify(other.body))
    const refused = await put(['x.jpg'], { collection: other.body.collection._id })
    assert.equal(refused.status, 400, JSON.stringify(refused.body))
    assert.equal(refused.body.code, 'PoolNotFound')
    assert.deepEqual(await listOf(other.body.collection._id), [])
  })
})
