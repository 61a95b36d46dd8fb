import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { picture, type Sent, upload } from '../files/support.ts'
import { tagged } from '../mappings/exiftool.ts'
import { type Archive, mapping, startArchive } from '../mappings/support.ts'
import { createPool } from '../pools/support.ts'
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
})
