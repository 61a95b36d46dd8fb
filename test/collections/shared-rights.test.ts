import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { toUser } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { assertInvariants, createNotes, entriesOf, ok, type Scene, startScene } from './support.ts'

let it: Scene
let pool: number
let notes: number[]
let free = 0

/** The reader and the editor have two pools; of the first one the reader may pass on what it has, but for `delete`. */
before(async () => {
  it = await startScene()
  const rights = (names: string, grantable: boolean) =>
    Object.fromEntries(names.split(' ').map((name) => [name, grantable ? { _grantable: true } : {}]))
  const _acl = [to(it.ids.reader, { ...rights('read write mask', true), ...rights('delete link', false) })]
  const made = await it.root.post('/pool', [
    { pool: { _id_parent: it.vault, reference: 'shared', name: { 'en-US': 'Shared' } }, _acl },
  ])
  pool = ok(made).map((one: Json) => one.pool._id)[0]
  notes = await createNotes(it.root, pool, 6, 'shared')
  await it.svc.drain()
})
after(async () => {
  if (!it) return
  await assertInvariants(it.svc)
  await it[Symbol.asyncDispose]()
})

const to = (who: number, rights: object, more: object = {}) => ({ who: toUser(who), rights, ...more })

/** A collection of the reader with notes, shared so. */
async function share(ids: readonly number[], ...acl: object[]): Promise<Json> {
  free++
  const body = { collection: { displayname: { 'en-US': `s${free}` } }, objects: entriesOf(it.svc, ids), _acl: acl }
  return ok(await it.reader.post('/collection', body)).collection
}

/** Which of the notes a caller finds: by a search, in a list, one by one; counts and facets agree. */
async function seen(client: Client): Promise<number[]> {
  const search = { objecttypes: ['note'], limit: 100, aggregations: { codes: { type: 'term', field: 'note.code' } } }
  const found = ok(await client.post('/search', search))
  const bySearch = found.objects.map((one: Json) => one._system_object_id)
  assert.equal(found.count, bySearch.length)
  const byList = ok(await client.get('/db/note/note__standard/list', { limit: 100 })).map(
    (one: Json) => one._system_object_id,
  )
  assert.deepEqual(new Set(bySearch), new Set(byList))
  for (const id of notes) {
    const [one] = ok(await client.get(`/db/note/note__standard/global_object_id/${id}@test`))
    assert.equal(one !== undefined, byList.includes(id))
  }
  return notes.filter((id) => byList.includes(id))
}

describe('rights through collections', () => {
  test('a grant on a collection opens the objects in it, as long as they are in it', async () => {
    assert.deepEqual(await seen(it.stranger), [])
    const { _id } = await share(notes.slice(0, 2), to(it.ids.stranger, { bag_read: {}, read: {} }))
    assert.deepEqual(await seen(it.stranger), notes.slice(0, 2))
    ok(await it.reader.post(`/collection/push/${_id}`, { objects: entriesOf(it.svc, [notes[2] as number]) }))
    assert.deepEqual(await seen(it.stranger), notes.slice(0, 3))
    ok(await it.reader.post(`/collection/remove/${_id}`, entriesOf(it.svc, notes.slice(0, 2))))
    assert.deepEqual(await seen(it.stranger), [notes[2]])
    ok(await it.reader.delete(`/collection/${_id}`))
    assert.deepEqual(await seen(it.stranger), [])
  })

  test('a PIN keeps the objects until it is entered, and another one does so again', async () => {
    const { _id, _version } = await share(notes.slice(0, 2), to(it.ids.stranger, { bag_read: {}, read: {} }))
    const below = await it.reader.post('/collection', {
      collection: { _id_parent: _id },
      objects: entriesOf(it.svc, notes.slice(2, 4)),
    })
    assert.equal(below.status, 200, JSON.stringify(below.body))
    const direct = await it.reader.post('/collection', {
      collection: { _id_parent: _id },
      objects: entriesOf(it.svc, notes.slice(4, 5)),
      _acl: [to(it.ids.stranger, { bag_read: {}, read: {} })],
    })
    assert.equal(direct.status, 200, JSON.stringify(direct.body))
    assert.deepEqual(await seen(it.stranger), notes.slice(0, 5))
    const enter = async (pin_code: string): Promise<void> => {
      const codes = [{ collection_id: _id, pin_code }]
      ok(await it.stranger.post('/user', [{ user: { _id: it.ids.stranger }, _collection_pin_codes: codes }]))
    }
    ok(await it.reader.post(`/collection/${_id}`, { collection: { _version, pin_code: 'sesame' } }))
    // Who has a grant below it is not asked.
    assert.deepEqual(await seen(it.stranger), notes.slice(4, 5))
    await enter('other')
    assert.deepEqual(await seen(it.stranger), notes.slice(4, 5))
    await enter('sesame')
    assert.deepEqual(await seen(it.stranger), notes.slice(0, 5))
    assert.deepEqual(await seen(it.reader), await seen(it.root))
    ok(await it.reader.post(`/collection/${_id}`, { collection: { _version: _version + 1, pin_code: 'abcd' } }))
    assert.deepEqual(await seen(it.stranger), notes.slice(4, 5))
    ok(await it.reader.post(`/collection/${_id}`, { collection: { _version: _version + 2, pin_code: null } }))
    assert.deepEqual(await seen(it.stranger), notes.slice(0, 5))
    ok(await it.reader.delete(`/collection/${_id}`))
    assert.deepEqual(await seen(it.stranger), [])
  })

  test('for whom, when and where the grant says', async () => {
    const [one, two] = notes as [number, number]
    const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
    const read = { read: {} }
    const cases: readonly (readonly [object, number[]])[] = [
      [to(it.ids.stranger, read, { when: { from: at(-2), to: at(1) } }), [one, two]],
      [to(it.ids.stranger, read, { when: { from: at(1) } }), []],
      [to(it.ids.stranger, read, { when: { to: at(-1) } }), []],
      [to(it.ids.stranger, read, { active: false }), []],
      [to(it.ids.editor, read), []],
      [to(it.ids.stranger, { read: { objecttype_ids: [] } }), []],
      [to(it.ids.stranger, { read: { pool_ids: [pool] } }), [one, two]],
      [to(it.ids.stranger, { read: { pool_ids: [it.pool] } }), []],
      [{ who: { group: { 'lookup:_id': { reference: ':all' } } }, rights: read }, [one, two]],
    ]
    for (const [grant, expected] of cases) {
      const { _id } = await share([one, two], grant)
      assert.deepEqual(await seen(it.stranger), expected, JSON.stringify(grant))
      ok(await it.reader.delete(`/collection/${_id}`))
    }
  })

  test('a grant that ends or begins does so at the same request', async () => {
    const end = Date.now() + 1500
    const { _id } = await share(
      [notes[0] as number],
      to(it.ids.stranger, { read: {} }, { when: { to: new Date(end).toISOString() } }),
    )
    assert.deepEqual(await seen(it.stranger), [notes[0]])
    await new Promise((done) => setTimeout(done, end - Date.now() + 5))
    assert.deepEqual(await seen(it.stranger), [])
    ok(await it.reader.delete(`/collection/${_id}`))
  })

  test('what is below inherits it, unless it is private; sticky grants come through', async () => {
    const [one, two, three] = notes as [number, number, number]
    const { _id } = await share([one], to(it.ids.stranger, { read: {} }))
    const below = async (id: number, more: object) =>
      ok(
        await it.reader.post('/collection', {
          collection: { _id_parent: _id },
          objects: entriesOf(it.svc, [id]),
          ...more,
        }),
      ).collection
    await below(two, {})
    const { _id: hidden } = await below(three, { _private_acl: true })
    assert.deepEqual(await seen(it.stranger), [one, two])
    const top = ok(await it.reader.get(`/collection/${_id}`))
    const [grant] = top._acl
    const version = top.collection._version
    ok(
      await it.reader.post(`/collection/${_id}`, {
        collection: { _version: version },
        _acl: [{ ...grant, sticky: true }],
      }),
    )
    assert.deepEqual(await seen(it.stranger), [one, two, three])
    ok(await it.reader.post(`/collection/${hidden}`, { collection: { _version: 1 }, _private_acl: false }))
    assert.deepEqual(await seen(it.stranger), [one, two, three])
    ok(await it.reader.delete(`/collection/${_id}`))
    assert.deepEqual(await seen(it.stranger), [])
  })

  test('what the owner may not pass on is asked about (202), and gives nothing where it is stored all the same', async () => {
    const [one] = notes as [number]
    const body = {
      collection: {},
      objects: entriesOf(it.svc, [one]),
      _acl: [to(it.ids.stranger, { bag_read: {}, read: {}, delete: {} })],
    }
    const asked = await it.reader.post('/collection', body)
    assert.equal(asked.status, 202, JSON.stringify(asked.body))
    assert.deepEqual(
      asked.body.tasks.map(({ buttons }: Json) => buttons[0]),
      [{ text: 'Continue', name: 'allow_invalid_acl', value: 'true' }],
    )
    assert.deepEqual(await seen(it.stranger), [])
    const saved = ok(await it.reader.post('/collection', body, { allow_invalid_acl: true }))
    assert.equal(saved._invalid_acl, true)
    assert.deepEqual(await seen(it.stranger), [one])
    const [shown] = ok(
      await it.stranger.get(`/db/note/note__standard/global_object_id/${one}@test`, { format: 'full' }),
    )
    assert.deepEqual(Object.keys(shown._generated_rights), ['read'])
    const found = ok(
      await it.reader.post('/search', {
        type: 'collection',
        search: [{ type: 'in', fields: ['_invalid_acl'], in: [true], bool: 'must' }],
      }),
    )
    assert.deepEqual(
      found.objects.map((each: Json) => each.collection._id),
      [saved.collection._id],
    )
    // What is wrong in it goes, and nothing is wrong any more.
    ok(await it.reader.post(`/collection/objects/${saved.collection._id}`, { objects: [] }))
    const path = `/collection/${saved.collection._id}`
    const invalid = async (): Promise<boolean> => ok(await it.reader.get(path))._invalid_acl
    assert.equal(await invalid(), false)
    const splice = (query: Record<string, string>) =>
      it.reader.post(
        `/collection/splice/${saved.collection._id}`,
        { index: 0, count: 0, objects: entriesOf(it.svc, [one]) },
        query,
      )
    assert.equal((await splice({})).status, 202)
    assert.equal(ok(await it.reader.get(path))._count, 0)
    ok(await splice({ allow_invalid_acl: 'true' }))
    assert.equal(await invalid(), true)
    ok(await it.reader.post(`/collection/objects/${saved.collection._id}`, { objects: [] }))
    ok(await splice({ background_invalid_acl: 'true' }))
    await it.svc.drain()
    assert.equal(await invalid(), true)
    ok(await it.reader.delete(path))
  })

  test('an owner who may pass on nothing any more passes on nothing', async () => {
    const [one] = notes as [number]
    const { _id } = await share([one], to(it.ids.stranger, { read: {} }))
    assert.deepEqual(await seen(it.stranger), [one])
    const [before] = ok(await it.root.get(`/pool/${pool}`))
    const less = [to(it.ids.reader, { read: {}, write: {}, mask: {}, link: {}, delete: {} })]
    const change = async (_acl: object[], query: object = {}) => {
      const [now] = ok(await it.root.get(`/pool/${pool}`))
      return it.root.post('/pool', [{ pool: { _id: pool, _version: now.pool._version }, _acl }], query as never)
    }
    const asked = await change(less)
    assert.equal(asked.status, 202, JSON.stringify(asked.body))
    assert.equal(asked.body.tasks[0].buttons[0].name, 'allow_invalid_acl')
    assert.deepEqual(await seen(it.stranger), [one])
    const isInvalid = async () => ok(await it.reader.get(`/collection/${_id}`))._invalid_acl
    for (const query of [
      { allow_invalid_acl: 'true' },
      { background_invalid_acl: 'true', background_invalid_acl_timelimit: '1m' },
    ]) {
      ok(await change(less, query))
      assert.deepEqual(await seen(it.stranger), [])
      await it.svc.drain()
      assert.equal(await isInvalid(), true)
      ok(await change(before._acl))
      assert.deepEqual(await seen(it.stranger), [one])
      assert.equal(await isInvalid(), false)
    }
    ok(await it.reader.delete(`/collection/${_id}`))
  })

  test('what comes through a collection is not passed on through another one', async () => {
    const [one] = notes as [number]
    const { _id } = await share([one], to(it.ids.editor, { bag_read: {}, read: { _grantable: true } }))
    assert.deepEqual(await seen(it.editor), [one])
    const body = { collection: {}, objects: entriesOf(it.svc, [one]), _acl: [to(it.ids.stranger, { read: {} })] }
    // It takes the right to add it to collections, which no collection gives.
    const refused = await it.editor.post('/collection', body)
    assert.deepEqual([refused.status, refused.body.code], [403, 'CollectionObjectInsufficientRights'])
    ok(await it.reader.delete(`/collection/${_id}`))
  })

  test('the explanation names the collection', async () => {
    const [one] = notes as [number]
    const { _id } = await share([one], to(it.ids.stranger, { read: {} }))
    const told = ok(await it.root.get('/right/explain', { user: it.ids.stranger, system_object_id: one }))
    const read = told.rights.find(({ name }: Json) => name === 'read')
    assert.equal(read.holds, true)
    assert.deepEqual(
      read.by.map(({ on }: Json) => on),
      [{ _basetype: 'collection', collection: { _id } }],
    )
    ok(await it.reader.delete(`/collection/${_id}`))
  })

  test('who may add to a shared collection of others opens nothing that it could not pass on itself', async () => {
    const [one] = notes as [number]
    // The editor reads and links notes of the pool, and may pass on nothing; root may pass on everything.
    const [own] = (await createNotes(it.root, it.pool, 1, 'linkable')) as [number]
    const grants = [to(it.ids.editor, { bag_read: {}, link: {} }), to(it.ids.stranger, { read: {} })]
    const made = ok(
      await it.root.post('/collection', { collection: {}, objects: entriesOf(it.svc, [one]), _acl: grants }),
    )
    const { _id } = made.collection
    const pushed = await it.editor.post(`/collection/push/${_id}`, { objects: entriesOf(it.svc, [own]) })
    assert.deepEqual([pushed.status, pushed.body.code], [403, 'CollectionObjectInsufficientRights'])
    ok(await it.root.post(`/collection/push/${_id}`, { objects: entriesOf(it.svc, [own]) }))
    ok(await it.root.delete(`/collection/${_id}`))
  })

  test('DB-015 DB-016 collection_policy says what becomes of an object of which a collection would say too much', async () => {
    const made = async () => {
      const [note] = ok(
        await it.root.post('/db/note', [
          {
            _objecttype: 'note',
            _mask: 'note__standard',
            _pool: { pool: { _id: pool } },
            note: { title: 'x', code: `p${++free}` },
          },
        ]),
      )
      const id = note._system_object_id
      const { _id } = await share([id], to(it.ids.stranger, { bag_read: {}, read: {} }))
      return { id, _id, note }
    }
    // In the other pool the owner of the collection has nothing that it may pass on.
    const move = ({ note }: Json, query: object) =>
      it.root.post(
        '/db/note',
        [
          {
            _objecttype: 'note',
            _mask: 'note__standard',
            _pool: { pool: { _id: it.pool } },
            note: { ...note.note, _pool: { pool: { _id: it.pool } } },
          },
        ],
        query as never,
      )
    const invalid = async (id: number) => ok(await it.reader.get(`/collection/${id}`))._invalid_acl
    const listedIn = async (id: number) => ok(await it.reader.get(`/collection/objects/${id}`)).count
    const one = await made()
    const asked = await move(one, {})
    assert.equal(asked.status, 202, JSON.stringify(asked.body))
    assert.deepEqual(
      asked.body.tasks[0].buttons.flatMap(({ name, value }: Json) => (name ? [[name, value]] : [])),
      [
        ['collection_policy', 'setinvalid'],
        ['collection_policy', 'remove'],
      ],
    )
    assert.deepEqual([await invalid(one._id), await listedIn(one._id)], [false, 1])
    ok(await move(one, { collection_policy: 'setinvalid' }))
    assert.deepEqual([await invalid(one._id), await listedIn(one._id)], [true, 1])
    const reads = (id: number) => it.stranger.get(`/db/note/note__standard/global_object_id/${id}@test`)
    assert.deepEqual(ok(await reads(one.id)), [])
    const two = await made()
    assert.equal(ok(await reads(two.id)).length, 1)
    ok(await move(two, { collection_policy: 'remove' }))
    assert.deepEqual([await invalid(two._id), await listedIn(two._id)], [false, 0])
    assert.deepEqual(ok(await reads(two.id)), [])
    // New objects do not come into the collection at all.
    const create = (query: object) =>
      it.root.post(
        '/db/note',
        [
          {
            _objecttype: 'note',
            _mask: 'note__standard',
            _pool: { pool: { _id: it.pool } },
            note: { title: 'y', code: `q${++free}` },
          },
        ],
        query as never,
      )
    assert.equal((await create({ collection: two._id })).status, 202)
    ok(await create({ collection: two._id, collection_policy: 'remove' }))
    assert.equal(await listedIn(two._id), 0)
    ok(await create({ collection: two._id, collection_policy: 'setinvalid' }))
    assert.deepEqual([await invalid(two._id), await listedIn(two._id)], [true, 1])
    for (const { _id } of [one, two]) ok(await it.reader.delete(`/collection/${_id}`))
  })

  test('ERR-014 OTAPI-016 object types ask as well; to save all the same takes bag_acl on the collections', async () => {
    const types = async () => ok(await it.root.get('/objecttype')).map(({ objecttype }: Json) => objecttype)
    const { _id: type } = (await types()).find(({ name }: Json) => name === 'link')
    const change = async (client: Client, _acl: object[], query: object = {}) => {
      const { _version } = (await types()).find(({ name }: Json) => name === 'link')
      return client.post('/objecttype', [{ objecttype: { _id: type, _version: _version + 1 }, _acl }], query as never)
    }
    const rights = { read: { _grantable: true }, mask: {}, link: {} }
    ok(await change(it.root, [to(it.ids.reader, rights)]))
    const [link] = ok(
      await it.root.post('/db/link', [{ _objecttype: 'link', _mask: 'link__standard', link: { text: 'x' } }]),
    )
    const id = link._system_object_id
    const { _id } = await share([id], to(it.ids.stranger, { bag_read: {}, read: {} }))
    const [editor] = ok(await it.root.get(`/user/${it.ids.editor}`))
    const manager = {
      user: { _id: it.ids.editor, _version: editor.user._version },
      _system_rights: { 'system.objecttypemanager': {} },
    }
    ok(await it.root.post('/user', [manager]))
    const reads = async () => ok(await it.stranger.get(`/db/link/link__standard/global_object_id/${id}@test`)).length
    assert.equal(await reads(), 1)
    assert.equal((await change(it.editor, [])).status, 202)
    const refused = await change(it.editor, [], { allow_invalid_acl: 'true' })
    assert.deepEqual(
      [refused.status, refused.body.code, refused.body.parameters.param],
      [400, 'UrlParameterNotSupported', 'allow_invalid_acl'],
    )
    assert.equal(await reads(), 1)
    const invalid = async () => ok(await it.reader.get(`/collection/${_id}`))._invalid_acl
    // In the background nobody is asked: it is looked at after the answer, for so long at a time.
    ok(await change(it.editor, [], { background_invalid_acl: 'true', background_invalid_acl_timelimit: '1m30.5s' }))
    assert.equal(await reads(), 0)
    await it.svc.drain()
    assert.equal(await invalid(), true)
    const wrong = await change(it.root, [], { background_invalid_acl_timelimit: 'soon' })
    assert.equal(wrong.status, 400)
    ok(await it.reader.delete(`/collection/${_id}`))
  })

  test('an owner who leaves a group passes on nothing by it, and the collection says so', async () => {
    const [note] = (await createNotes(it.root, it.vault, 1, 'grouped')) as [number]
    const [{ group }] = ok(await it.root.post('/group', [{ group: { name: 'sharers' } }]))
    const vault = async (_acl: object[]) => {
      const [now] = ok(await it.root.get(`/pool/${it.vault}`))
      ok(await it.root.post('/pool', [{ pool: { _id: it.vault, _version: now.pool._version }, _acl }]))
    }
    const join = async (_groups: object[]) => {
      const [{ user }] = ok(await it.root.get(`/user/${it.ids.reader}`))
      ok(await it.root.post('/user', [{ user: { _id: it.ids.reader, _version: user._version }, _groups }]))
    }
    const rights = { read: { _grantable: true }, link: {}, mask: {} }
    await vault([{ who: { _basetype: 'group', group: { _id: group._id } }, rights }])
    await join([{ group: { _id: group._id } }])
    const { _id } = await share([note], to(it.ids.stranger, { read: {} }))
    const reads = async () => ok(await it.stranger.get(`/db/note/note__standard/global_object_id/${note}@test`)).length
    assert.equal(await reads(), 1)
    await join([])
    assert.equal(await reads(), 0)
    let invalid = false
    for (let n = 0; n < 100 && !invalid; n++) {
      await it.svc.drain()
      invalid = ok(await it.root.get(`/collection/${_id}`))._invalid_acl
    }
    assert.equal(invalid, true)
    ok(await it.root.delete(`/collection/${_id}`))
    await vault([])
  })
})
