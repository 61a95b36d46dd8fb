import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { picture, type Sent, upload } from '../files/support.ts'
import { tagged } from '../mappings/exiftool.ts'
import { type Archive, mapping, startArchive } from '../mappings/support.ts'
import { createPool } from '../pools/support.ts'
import { createUsers } from '../signin/support.ts'
import type { Json } from '../support/client.ts'

suite('uploads with a mapping', () => {
  let archive: Archive
  const root = () => archive.svc.as('root')
  before(async () => {
    archive = await startArchive()
  })
  after(() => archive[Symbol.asyncDispose]())

  async function collection(settings: object): Promise<number> {
    const create_object = { objecttype: 'photo', eas_field: 'file', pool_id: archive.pool, ...settings }
    const { status, body } = await root().post('/collection', {
      collection: { displayname: { 'en-US': 'Drop' }, create_object },
    })
    assert.equal(status, 200, JSON.stringify(body))
    return body.collection._id
  }

  async function photo(name: string, title: string): Promise<Sent> {
    const args = [
      `-XMP-dc:Title=${title}`,
      '-XMP-photoshop:City=Zürich',
      '-XMP-dc:Subject=lake',
      '-XMP-dc:Subject=dawn',
    ]
    return { name, content: await tagged(await picture(), args, name) }
  }

  async function sent(files: readonly Sent[], id: number): Promise<Json[]> {
    const { status, body } = await upload(archive.svc, 'root', files, { collection: id, produce_versions: 'true' })
    assert.equal(status, 200, JSON.stringify(body))
    const ids = body.map((record: Json) => record._linked_objects[0]._system_object_id)
    const objects: Json[] = []
    for (const one of ids) {
      const answer = await root().get(`/db/photo/_all_fields/system_object_id/${one}`, { format: 'long' })
      objects.push(answer.body[0].photo)
    }
    return objects
  }

  async function profiles(id: number): Promise<string[]> {
    const { body } = await root().get('/event/list', { type: 'COLLECTION_UPLOAD', object_id: id, limit: 100 })
    return body.objects.flatMap(({ event }: Json) => event.info.metadata_mapping_profile ?? [])
  }

  test('EVENT-041: the standard mapping fills new objects, and an event names its profile', async () => {
    const id = await collection({ mapping: 'standard' })
    const [one, two] = await sent([await photo('one.jpg', 'The lake'), await photo('two.jpg', 'The shore')], id)
    assert.deepEqual([one?.title['en-US'], one?.city, two?.title['en-US']], ['The lake', 'Zürich', 'The shore'])
    assert.deepEqual(
      one?.['_nested:photo__keywords'].map(({ keyword }: Json) => keyword._standard['1'].text['en-US']).sort(),
      ['dawn', 'lake'],
    )
    assert.deepEqual(
      one?.file.map((file: Json) => file.original_filename),
      ['one.jpg'],
    )
    assert.deepEqual(await profiles(id), ['file-metadata.yml'])
  })

  test('a mapping that is named fills what it names, and none fills nothing', async () => {
    const own = await mapping(archive.svc, [{ name: 'title', native: [{ field: 'photo.headline' }] }])
    const named = await collection({ mapping: own })
    const [one] = await sent([await photo('a.jpg', 'The lake')], named)
    assert.deepEqual([one?.headline, one?.city], ['The lake', undefined])
    const none = await collection({ mapping: 'none' })
    const [two] = await sent([await photo('b.jpg', 'The lake')], none)
    assert.deepEqual([two?.headline, two?.city, two?.title], [undefined, undefined, undefined])
    assert.deepEqual(await profiles(none), [])
  })

  test('objects that are made because files name them lie in the linked pool, else in that of the others', async () => {
    const other = (await createPool(root(), { name: { 'en-US': 'Topics' } }))._id
    const own = await mapping(archive.svc, [
      { name: 'keywords', native: [{ field: 'photo._nested:photo__topics.topic.topic.name' }] },
    ])
    const poolsOf = async (settings: object): Promise<Json[]> => {
      const [made] = await sent([await photo('c.jpg', 'The lake')], await collection({ mapping: own, ...settings }))
      assert.equal(made?._pool.pool._id, archive.pool)
      return made?.['_nested:photo__topics'].map(({ topic }: Json) => topic)
    }
    const poolOf = async ({ _system_object_id: id }: Json): Promise<number> =>
      (await root().get(`/db/topic/_all_fields/system_object_id/${id}`, { format: 'long' })).body[0].topic._pool.pool
        ._id
    const topics = await poolsOf({ linked_pool: { pool: { _id: other } } })
    assert.deepEqual(await Promise.all(topics.map(poolOf)), [other, other])
    // What is there already is linked to, wherever it lies.
    assert.deepEqual(
      (await poolsOf({})).map(({ _system_object_id }) => _system_object_id).toSorted(),
      topics.map(({ _system_object_id }) => _system_object_id).toSorted(),
    )
    const gone = await createPool(root(), { name: { 'en-US': 'Gone' } })
    const left = await collection({ mapping: own, linked_pool_id: gone._id })
    const removed = await root().delete(`/pool/${gone._id}`)
    assert.equal(removed.status, 200, JSON.stringify(removed.body))
    const answer = await upload(archive.svc, 'root', [await photo('d.jpg', 'x')], { collection: left })
    assert.deepEqual(
      [answer.status, answer.body.code, answer.body.parameters.path],
      [400, 'PoolNotFound', 'linked_pool_id'],
    )
  })

  test('what files name behind one link lies in the pool of that link, before that of all others', async () => {
    const [all, single] = await Promise.all(
      ['All', 'Single'].map((name) => createPool(root(), { name: { 'en-US': name } })),
    )
    const own = await mapping(archive.svc, [
      { name: 'keywords', native: [{ field: 'photo._nested:photo__topics.topic.topic.name' }] },
      { name: 'city', native: [{ field: 'photo.about.topic.name' }] },
    ])
    const link = 'photo._nested:photo__topics.topic'
    const poolsOf = async (title: string, settings: object): Promise<number[]> => {
      const args = [`-XMP-photoshop:City=${title}`, `-XMP-dc:Subject=${title} keyword`]
      const content = await tagged(await picture(), args, 'pools.jpg')
      const [made] = await sent([{ name: 'pools.jpg', content }], await collection({ mapping: own, ...settings }))
      const links = [made?.about, ...(made?.['_nested:photo__topics'] ?? []).map(({ topic }: Json) => topic)]
      return Promise.all(
        links.map(async ({ _system_object_id: id }: Json) => {
          const { body } = await root().get(`/db/topic/_all_fields/system_object_id/${id}`, { format: 'long' })
          return body[0].topic._pool.pool._id
        }),
      )
    }
    const of = (pool: number) => ({ pool: { _id: pool } })
    assert.deepEqual(await poolsOf('First', { linked_object_pools: { [link]: of(single?._id) } }), [
      archive.pool,
      single?._id,
    ])
    assert.deepEqual(
      await poolsOf('Second', {
        linked_pool_id: all?._id,
        linked_object_pools: { about: of(single?._id), '_nested:photo__topics.topic': null },
      }),
      [single?._id, all?._id],
    )
    const reference = 'pool-of-topics'
    const named = (await createPool(root(), { name: { 'en-US': 'Named' }, reference }))._id
    assert.deepEqual(
      await poolsOf('Third', { linked_object_pools: { 'photo.about': { pool: { 'lookup:_id': { reference } } } } }),
      [named, archive.pool],
    )
  })

  test('a pool of a link is one that there is, behind a link that has pools, in which its setter may create', async () => {
    const pool = (await createPool(root(), { name: { 'en-US': 'Held' } }))._id
    const save = (login: string, linked_object_pools: object, more: object = {}) =>
      archive.svc.as(login).post('/collection', {
        collection: { create_object: { objecttype: 'photo', eas_field: 'file', linked_object_pools }, ...more },
      })
    const path = (name: string) => `body.collection.create_object.linked_object_pools.${name}`
    const of = (_id: unknown) => ({ pool: { _id } })
    for (const [pools, code, name] of [
      [{ nothing: of(pool) }, 'UnknownField', 'nothing'],
      [{ title: of(pool) }, 'UnknownField', 'title'],
      [{ creator: of(pool) }, 'ServerGeneric', 'creator'],
      [{ about: of(999_999) }, 'PoolNotFound', 'about'],
      [{ about: of('x') }, 'ServerGeneric', 'about'],
      [{ about: 7 }, 'ServerGeneric', 'about'],
    ] as const) {
      const { status, body } = await save('root', pools)
      assert.deepEqual([status, body.code, body.parameters.path], [400, code, path(name)], JSON.stringify(pools))
    }
    await createUsers(archive.svc, { user: { login: 'may', _version: 1 } }, { user: { login: 'knows', _version: 1 } })
    const grant = async (login: string, rights: object): Promise<object> => {
      const { body } = await root().get('/user', { limit: 100 })
      const { _id } = body.find(({ user }: Json) => user.login === login).user
      return { who: { _basetype: 'user', user: { _id } }, rights }
    }
    const changed = await root().post('/pool', [
      {
        pool: { _id: pool, _version: 1 },
        _acl: [await grant('may', { read: {}, create: {} }), await grant('knows', { read: {} })],
      },
    ])
    assert.equal(changed.status, 200, JSON.stringify(changed.body))
    const refused = await save('knows', { about: of(pool) })
    assert.deepEqual(
      [refused.status, refused.body.code, refused.body.parameters.right, refused.body.parameters.path],
      [403, 'RightRequired', 'create', path('about')],
    )
    const saved = await save('may', { about: of(pool) })
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    const { collection: made } = saved.body
    assert.deepEqual(made.create_object.linked_object_pools, { about: of(pool) })
    // Without the right it may be sent back as it is, and not for another link.
    const withdrawn = await root().post('/pool', [
      { pool: { _id: pool, _version: 2 }, _acl: [await grant('may', { read: {} })] },
    ])
    assert.equal(withdrawn.status, 200, JSON.stringify(withdrawn.body))
    const again = await save('may', made.create_object.linked_object_pools, { _id: made._id, _version: made._version })
    assert.equal(again.status, 200, JSON.stringify(again.body))
    const other = { about: of(pool), '_nested:photo__topics.topic': of(pool) }
    const widened = await save('may', other, { _id: made._id, _version: made._version + 1 })
    assert.deepEqual([widened.status, widened.body.code], [403, 'RightRequired'])
  })
})
