import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { createNotes, ok, type Scene, startScene } from '../collections/support.ts'
import { upload } from '../files/support.ts'
import type { Answer, Client, Json } from '../support/client.ts'
import { attachService, startService } from '../support/service.ts'

const right = 'system.api.publish'

suite('publish records', () => {
  let it: Scene
  let notes: number[]
  let hidden: number
  /** May read notes, and records of publications alone, write them, or delete them. */
  let getter: Client
  let poster: Client
  let deleter: Client
  before(async () => {
    it = await startScene()
    notes = await createNotes(it.root, it.pool, 5)
    ;[hidden] = (await createNotes(it.root, it.vault, 1, 'v')) as [number]
    const collectors = [
      { internalname: 'portal', displayname: { 'en-US': 'Portal' }, url: 'https://portal.example', type: 'web' },
      { internalname: 'doi', prefix: '10.1234', display_format: 'name_type_doi' },
    ]
    ok(await it.root.post('/config/system/config/publish', { collectors }))
    const person = async (login: string, given: object): Promise<Client> => {
      const groups = [{ group: { _id: it.ids.staff } }]
      const user = { user: { login }, _password: login, _system_rights: { [right]: given }, _groups: groups }
      ok(await it.root.post('/user', [user], { confirm: 'ignore_password_requirements' }))
      return it.svc.as(login)
    }
    const { pool } = ok(await it.root.get(`/pool/${it.pool}`))[0]
    getter = await person('getter', { get: true })
    poster = await person('poster', { post: true })
    deleter = await person('deleter', { delete: true })
    const _acl = [{ who: { group: { _id: it.ids.staff } }, rights: { bag_read: {}, read: {}, mask: {} } }]
    ok(await it.root.post('/pool', [{ pool: { _id: it.pool, _version: pool._version }, _acl }]))
  })
  after(() => it[Symbol.asyncDispose]())

  const record = (note: number, more: object = {}) => ({
    _basetype: 'publish',
    publish: { system_object_id: note, collector: 'portal', publish_uri: `https://portal.example/${note}`, ...more },
  })
  const save = async (...records: object[]): Promise<Json[]> => ok(await it.root.post('/publish', records))
  const all = async (client = it.root): Promise<Json[]> => ok(await client.get('/publish'))
  const refused = (answer: Answer, code: string, status = 400) =>
    assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(answer.body))

  test('PUB-001 PUB-002 PUB-003 a record says which object is published where; the service asks nothing of that place', async () => {
    const svc_uri = 'https://archive.example/detail/1'
    const before = Date.now()
    const [stored] = await save(record(notes[0] as number, { publish_uri: 'https://nowhere.invalid/x', svc_uri }))
    assert.deepEqual(Object.keys(stored), ['_basetype', 'publish', '_timestamp_created'])
    assert.equal(stored._basetype, 'publish')
    assert.deepEqual(stored.publish, {
      _id: stored.publish._id,
      version: 0,
      system_object_id: notes[0],
      collector: 'portal',
      publish_uri: 'https://nowhere.invalid/x',
      svc_uri,
    })
    assert.ok(Number.isInteger(stored.publish._id) && stored.publish._id > 0)
    assert.match(stored._timestamp_created, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
    assert.ok(Math.abs(Date.parse(stored._timestamp_created) - before) < 600_000)
    // What is at the address is none of the service's business: it is stored as it was sent, and nothing is made of it.
    assert.deepEqual(ok(await it.root.get(`/publish/${stored.publish._id}`)), [stored])
    ok(await it.root.delete(`/publish/${stored.publish._id}`))
  })

  test('the link back is the deep link by uuid where none is sent; other words for it are understood', async () => {
    const [{ _uuid: uuid }] = ok(await it.root.get(`/db/note/_all_fields/system_object_id/${notes[0]}`))
    const [first, second] = await save(
      record(notes[0] as number),
      record(notes[0] as number, { native_uri: 'https://archive.example/1' }),
    )
    assert.equal(first.publish.svc_uri, `${it.svc.config.externalUrl}/api/v1/objects/uuid/${uuid}`)
    assert.equal(second.publish.svc_uri, 'https://archive.example/1')
    const both = record(notes[0] as number, { native_uri: 'https://a.example', svc_uri: 'https://a.example' })
    refused(await it.root.post('/publish', [both]), 'PublishInvalidData')
    for (const { publish } of [first, second]) ok(await it.root.delete(`/publish/${publish._id}`))
  })

  test('PUBAPI-001 PUBAPI-006 reading takes system.api.publish[get]; an unknown id is an empty list', async () => {
    const [one, two] = await save(record(notes[0] as number), record(notes[1] as number))
    for (const client of [it.reader, poster, deleter]) {
      for (const path of ['/publish', `/publish/${one.publish._id}`, '/publish/999999']) {
        const answer = await client.get(path)
        refused(answer, 'SystemRightRequired', 403)
        assert.equal(answer.body.parameters.right, `${right}[get]`)
      }
    }
    assert.deepEqual(await all(getter), [one, two])
    assert.deepEqual(await all(), [one, two])
    assert.deepEqual(ok(await getter.get(`/publish/${one.publish._id}`)), [one])
    assert.deepEqual(ok(await getter.get('/publish/999999')), [])
    assert.deepEqual(ok(await getter.get('/publish', { limit: 1, offset: 1 })), [two])
    assert.equal((await getter.get('/publish', { limit: 10_001 })).status, 400)
    for (const { publish } of [one, two]) ok(await it.root.delete(`/publish/${publish._id}`))
  })

  test('PUBAPI-003 PUBAPI-004 a request changes records and makes others; stored is what is answered', async () => {
    const [old, kept] = await save(record(notes[0] as number), record(notes[1] as number))
    const changed = await save(
      record(notes[2] as number, { _id: 0, collector: 'doi' }),
      record(notes[3] as number, { _id: old.publish._id, publish_uri: 'https://portal.example/new', version: 1 }),
      record(notes[2] as number),
    )
    assert.deepEqual(
      changed.map(({ publish }) => [publish.system_object_id, publish.collector, publish.publish_uri, publish.version]),
      [
        [notes[2], 'doi', `https://portal.example/${notes[2]}`, 0],
        [notes[3], 'portal', 'https://portal.example/new', 1],
        [notes[2], 'portal', `https://portal.example/${notes[2]}`, 0],
      ],
    )
    assert.equal(changed[1].publish._id, old.publish._id)
    assert.equal(changed[1]._timestamp_created, old._timestamp_created)
    const stored = await all()
    assert.deepEqual(stored, [changed[1], kept, changed[0], changed[2]])
    for (const { publish } of stored) ok(await it.root.delete(`/publish/${publish._id}`))
  })

  test('a request is stored whole or not at all', async () => {
    const good = record(notes[0] as number)
    const [{ publish: kept }] = await save(good)
    const cases: [object, string, number][] = [
      [record(notes[0] as number, { _id: 999_999 }), 'PublishInvalidData', 400],
      [record(notes[0] as number, { collector: 'unknown' }), 'PublishUnknownCollector', 400],
      [record(notes[0] as number, { version: 2 }), 'PublishInvalidData', 400],
      [record(notes[0] as number, { publish_uri: '' }), 'PublishInvalidData', 400],
      [record(notes[0] as number, { publish_uri: 7 }), 'ServerGeneric', 400],
      [record(notes[0] as number, { svc_uri: '' }), 'PublishInvalidData', 400],
      [record(notes[0] as number, { native_uri: '' }), 'PublishInvalidData', 400],
      [record(notes[0] as number, { native_uri: 7 }), 'PublishInvalidData', 400],
      [record(notes[0] as number, { publish_uri: 'https://a.example/\u0000' }), 'ServerGeneric', 400],
      [record(notes[0] as number, { publish_uri: 'x'.repeat(10_001) }), 'ServerGeneric', 400],
      [record(notes[0] as number, { version: -1 }), 'ServerGeneric', 400],
      [record(999_999), 'ObjectNotFound', 404],
      [record(0), 'ServerGeneric', 400],
    ]
    for (const [bad, code, status] of cases) refused(await it.root.post('/publish', [good, bad]), code, status)
    const twice = record(notes[0] as number, { _id: kept._id })
    refused(await it.root.post('/publish', [twice, twice]), 'PublishInvalidData')
    refused(await it.root.post('/publish', {}), 'ServerGeneric')
    assert.deepEqual(ok(await it.root.post('/publish', [])), [])
    assert.equal((await all()).length, 1)
    ok(await it.root.delete(`/publish/${kept._id}`))
  })

  test('PUBAPI-002 PUBAPI-007 writing takes [post], deleting takes [delete]', async () => {
    const [{ publish }] = ok(await poster.post('/publish', [record(notes[0] as number)]))
    for (const client of [it.reader, getter, deleter]) {
      const answer = await client.post('/publish', [record(notes[0] as number)])
      refused(answer, 'SystemRightRequired', 403)
      assert.equal(answer.body.parameters.right, `${right}[post]`)
    }
    for (const client of [it.reader, getter, poster]) {
      const answer = await client.delete(`/publish/${publish._id}`)
      refused(answer, 'SystemRightRequired', 403)
      assert.equal(answer.body.parameters.right, `${right}[delete]`)
    }
    await using still = await attachService(it.svc.dsn, { readOnly: true })
    const root = still.as('root')
    refused(await root.post('/publish', [record(notes[0] as number)]), 'ReadOnlyMode')
    refused(await root.delete(`/publish/${publish._id}`), 'ReadOnlyMode')
    assert.equal((await all()).length, 1)
    ok(await deleter.delete(`/publish/${publish._id}`))
    assert.deepEqual(await all(), [])
  })

  test('RIGHTS-007 each method takes the variant of the right that is called like it', async () => {
    const [{ publish }] = await save(record(notes[0] as number))
    const path = `/publish/${publish._id}`
    const asked = async (client: Client) => {
      const answers = [
        await client.get('/publish'),
        await client.get(path),
        await client.post('/publish', []),
        await client.delete(path),
      ]
      return answers.map(({ status, body }) => (status === 403 ? body.parameters.right : status))
    }
    const [get, post, del] = ['get', 'post', 'delete'].map((name) => `system.api.publish[${name}]`)
    assert.deepEqual(await asked(getter), [200, 200, post, del])
    assert.deepEqual(await asked(poster), [get, get, 200, del])
    assert.deepEqual(await asked(it.reader), [get, get, post, del])
    assert.deepEqual(await asked(deleter), [get, get, post, 200])
  })

  test('PUBAPI-005 PUBAPI-008 the path names the record by its own id; deletion is acknowledged, also of none', async () => {
    const [one] = await save(record(notes[4] as number))
    const id = one.publish._id
    assert.notEqual(id, notes[4])
    assert.deepEqual(ok(await it.root.get(`/publish/${id}`)), [one])
    assert.deepEqual(ok(await it.root.get(`/publish/${notes[4]}`)), [], 'the id of the object names no record')
    for (const bad of ['0', '-1', 'x', '1.5', '9007199254740993']) {
      assert.equal((await it.root.get(`/publish/${bad}`)).status, 400, bad)
      assert.equal((await it.root.delete(`/publish/${bad}`)).status, 400, bad)
    }
    const done = { status: { acknowledged: 'ok' } }
    assert.deepEqual(ok(await it.root.delete(`/publish/${id}`)), done)
    assert.deepEqual(ok(await it.root.delete(`/publish/${id}`)), done)
    assert.deepEqual(await all(), [])
  })

  test('records of objects that a caller may not read are neither told, changed nor deleted', async () => {
    const [secret] = await save(record(hidden))
    const id = secret.publish._id
    assert.deepEqual(await all(getter), [])
    assert.deepEqual(ok(await getter.get(`/publish/${id}`)), [])
    refused(await poster.post('/publish', [record(hidden)]), 'ObjectNotFound', 404)
    const unknown = await poster.post('/publish', [record(999_999)])
    refused(unknown, 'ObjectNotFound', 404)
    refused(await poster.post('/publish', [record(notes[0] as number, { _id: id })]), 'PublishInvalidData')
    ok(await deleter.delete(`/publish/${id}`))
    assert.deepEqual(await all(), [secret])
    ok(await it.root.delete(`/publish/${id}`))
  })

  test('objects in the trash cannot be published; records go when their object is purged', async () => {
    const [gone] = (await createNotes(it.root, it.pool, 1, 'gone')) as [number]
    const [{ publish }] = await save(record(gone))
    const read = async () => ok(await it.root.get(`/db/note/_all_fields/system_object_id/${gone}`))[0].note
    const remove = async (delete_policy: string) => {
      const { _id, _version } = await read()
      ok(await it.root.delete('/db/note', [[_id, _version, null]], { delete_policy }))
    }
    await remove('remove')
    refused(await it.root.post('/publish', [record(gone)]), 'PublishDeletedObject')
    const kept = (await all()).map((one) => one.publish._id)
    assert.deepEqual(kept, [publish._id])
    await remove('purge')
    assert.deepEqual(await all(), [])
  })

  test('an object shows its records in _published, where its mask shows them', async () => {
    const [one, two] = await save(record(notes[0] as number), record(notes[0] as number, { collector: 'doi' }))
    const [shown] = ok(await it.reader.get(`/db/note/note__standard/system_object_id/${notes[0]}`))
    assert.deepEqual(
      shown._published,
      [one, two].map(({ publish, _timestamp_created }) => ({ ...publish, timestamp_created: _timestamp_created })),
    )
    assert.equal(shown._published_count, 2)
    ok(await it.root.delete(`/publish/${one.publish._id}`))
    const [again] = ok(await it.reader.get(`/db/note/note__standard/system_object_id/${notes[0]}`))
    assert.equal(again._published_count, 1)
    ok(await it.root.delete(`/publish/${two.publish._id}`))
  })

  test('objects are found, and counted, by their records', async () => {
    await it.svc.drain()
    const [a, b, c] = await save(
      record(notes[0] as number),
      record(notes[1] as number, { collector: 'doi' }),
      record(notes[0] as number, { collector: 'doi', publish_uri: 'https://doi.example/10.1234/0' }),
    )
    const found = async (client: Client, field: string, ...list: unknown[]): Promise<Json[]> => {
      const search = [{ type: 'in', fields: [`_published.${field}`], in: list }]
      const request = { objecttypes: ['note'], search, sort: [{ field: 'note.code' }] }
      return ok(await client.post('/search', request)).objects.map((object: Json) => object.note.code)
    }
    assert.deepEqual(await found(it.reader, 'collector', 'portal'), ['n0'])
    assert.deepEqual(await found(it.reader, 'collector', 'doi'), ['n0', 'n1'])
    assert.deepEqual(await found(it.reader, 'collector', 'other'), [])
    assert.deepEqual(await found(it.reader, 'publish_uri', 'https://doi.example/10.1234/0'), ['n0'])
    assert.deepEqual(await found(it.reader, '_id', b.publish._id), ['n1'])
    assert.deepEqual(await found(it.reader, 'collector', null), ['n2', 'n3', 'n4'])
    assert.deepEqual(await found(it.reader, 'collector', null, 'portal'), ['n0', 'n2', 'n3', 'n4'])
    assert.deepEqual(await found(it.stranger, 'collector', 'doi'), [])
    const aggregations = { targets: { type: 'term', field: '_published.collector' } }
    const counted = async (client: Client) =>
      ok(
        await client.post('/search', { objecttypes: ['note'], limit: 0, aggregations }),
      ).aggregations.targets.terms.map(({ term, count }: Json) => [term, count])
    assert.deepEqual(await counted(it.reader), [
      ['doi', 2],
      ['portal', 1],
    ])
    assert.deepEqual(await counted(it.stranger), [])
    for (const { publish } of [a, b, c]) ok(await it.root.delete(`/publish/${publish._id}`))
    assert.deepEqual(await found(it.reader, 'collector', 'doi'), [], 'a removal counts at once')
    assert.deepEqual(await counted(it.reader), [])
    const wrong = await it.root.post('/search', {
      search: [{ type: 'in', fields: ['_published.collector'], in: [{}] }],
    })
    assert.equal(wrong.status, 400)
  })

  test('the picture of a target is kept as long as the target names it', async () => {
    const sharp = (await import('sharp')).default
    const content = await sharp({ create: { width: 4, height: 4, channels: 3, background: 'red' } })
      .png()
      .toBuffer()
    const [file] = ok(await upload(it.svc, 'root', [{ name: 'logo.png', content }]))
    const put = (logo: unknown) =>
      it.root.post('/config/system/config/publish', { collectors: [{ internalname: 'portal', logo }] })
    const holders = async () =>
      (await it.svc.db.query(`select file_id as id from file_holder where section = 'publish'`)).rows.map(
        ({ id }) => id,
      )
    ok(await put({ _id: file._id }))
    assert.deepEqual(await holders(), [file._id])
    const missing = await put({ _id: 999_999 })
    refused(missing, 'ServerGeneric')
    assert.equal(missing.body.parameters.path, 'system/config/publish/collectors/0/logo')
    ok(await put(null))
    assert.deepEqual(await holders(), [])
  })
})

test('without targets nothing can be published', async () => {
  await using svc = await startService()
  const publish = { system_object_id: 1, collector: 'portal', publish_uri: 'https://portal.example/1' }
  const answer = await svc.as('root').post('/publish', [{ _basetype: 'publish', publish }])
  assert.deepEqual([answer.status, answer.body.code], [400, 'PublishUnknownCollector'])
})
