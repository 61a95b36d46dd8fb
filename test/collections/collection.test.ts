import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { toUser, wireGrant } from '../rights/people.ts'
import type { Answer, Json } from '../support/client.ts'
import { assertCommonParameters, assertDocumented, assertNamed } from '../support/documented.ts'
import { attachService } from '../support/service.ts'
import { statementsOf } from '../support/statements.ts'
import {
  assertInvariants,
  createCollection,
  createNotes,
  entriesOf,
  globalId,
  listed,
  ok,
  type Scene,
  startScene,
} from './support.ts'

let it: Scene

before(async () => {
  it = await startScene()
})
after(async () => {
  if (!it) return
  await assertInvariants(it.svc)
  await it[Symbol.asyncDispose]()
})

const missing = (answer: Answer): [number, string] => [answer.status, answer.body.code]
const ids = (answer: Answer): number[] => ok(answer).map((one: Json) => one.collection._id)

async function top(login: 'reader' | 'editor' | 'stranger'): Promise<Json> {
  const own = ok(await it[login].get('/collection/list')).find(
    (one: Json) => one._level === 3 && one._owner.user._id === it.ids[login],
  )
  assert.ok(own)
  return own
}

async function eventsOf(id: number): Promise<Json[]> {
  const { rows } = await it.svc.db.query(
    `select type, info, user_id as "by" from event where basetype = 'collection' and object_id = $1 order by id`,
    [id],
  )
  return rows as Json[]
}

describe('the collections of a new instance', () => {
  test('are the root, the users, and a top collection for each user, which cannot be deleted', async () => {
    const all = ok(await it.root.get('/collection/list'))
    assert.deepEqual(
      all
        .slice(0, 3)
        .map((one: Json) => [one.collection._id, one.collection._id_parent, one.collection.reference, one._level]),
      [
        [1, null, 'system:root', 1],
        [2, 1, 'system:users', 2],
        [3, 2, 'user:ref:system:root', 3],
      ],
    )
    const own = await top('stranger')
    assert.equal(own.collection.reference, 'user:ref:stranger')
    assert.equal(own.collection.is_system_collection, true)
    assert.deepEqual(
      own._path.map((one: Json) => one.collection),
      [{ _id: 1 }, { _id: 2 }],
    )
    for (const client of [it.stranger, it.root]) {
      const { status, body } = await client.delete(`/collection/${own.collection._id}`)
      assert.deepEqual([status, body.code], [400, 'ServerGeneric'])
    }
    assert.deepEqual(ids(await it.stranger.get('/collection/list')), [own.collection._id])
    assert.deepEqual(ids(await it.root.get('/collection/list/null')), [1])
    assert.deepEqual(ids(await it.stranger.get('/collection/list/null')), [])
    assert.deepEqual(missing(await it.stranger.get('/collection/list/2')), [404, 'ObjectNotFound'])
    assert.deepEqual(missing(await it.svc.as(null).get('/collection/list')), [401, 'UserRequired'])
  })
})

describe('saving', () => {
  test('creates a collection below the own top collection; it reads back as it was answered', async () => {
    const own = await top('reader')
    const fields = {
      reference: 'spring',
      shortname: 'sp',
      type: 'workfolder',
      displayname: { 'en-US': 'Spring', 'de-DE': 'Frühling' },
      description: { 'en-US': 'For the show' },
      webfrontend_props: { presentation: { slides: [1, 2] } },
      children_allowed: false,
      objects_allowed: false,
      create_object: {
        objecttype: 'note',
        pool: { pool: { _id: it.pool } },
        update_mode: 'upsert',
        update_policy: 'replace',
        plugin: 'some-plugin:make_objects',
        plugin_config: { quality: 3 },
        mapping: 'standard',
        recognize_series: true,
        linked_pool: { pool: { 'lookup:_id': { reference: 'open' } } },
        hierarchy_linked_object: { field: 'note.parent' },
        update_search_field: 'note.code',
      },
    }
    const sent = { _basetype: 'collection', collection: { _version: 1, ...fields } }
    const made = ok(await it.reader.post('/collection', sent))
    const { collection } = made
    assert.deepEqual([collection._version, collection._id_parent, made._level], [1, own.collection._id, 4])
    assert.deepEqual([made._count, made._count_recursive, made._has_children], [0, 0, false])
    assert.equal(made._owner.user._id, it.ids.reader)
    const { create_object: uploads, ...plain } = fields
    for (const [name, value] of Object.entries(plain)) assert.deepEqual(collection[name], value, name)
    const { pool: _, linked_pool: __, ...rest } = uploads
    assert.deepEqual(collection.create_object, { ...rest, pool_id: it.pool, linked_pool_id: it.pool })
    assert.deepEqual(made._create_object_compiled, collection.create_object)
    assert.deepEqual(ok(await it.reader.get(`/collection/${collection._id}`)), made)
    assert.ok('bag_delete' in made._generated_rights && 'owner' in made._generated_rights)
    assert.deepEqual(
      (await eventsOf(collection._id)).map(({ type, info }: Json) => [type, info]),
      [['COLLECTION_INSERT', { displayname: fields.displayname, shortname: 'sp', reference: 'spring' }]],
    )
    const child = await createCollection(it.reader, { 'lookup:_id_parent': { reference: 'spring' } })
    const seen = ok(await it.reader.get(`/collection/${child._id}`))
    assert.deepEqual(seen._create_object_compiled, made._create_object_compiled)
    assert.deepEqual(seen._path.at(-1).collection.displayname, fields.displayname)
    assert.equal(ok(await it.reader.get(`/collection/${collection._id}`))._has_children, true)
    // A field that is not there, or holds something else, is told when it is saved and not only at the uploads.
    for (const settings of [
      { eas_field: 'note.image' },
      { eas_field: 'title' },
      { update_search_field: 'note.name' },
      { update_search_field: '_global_object_id' },
    ]) {
      const create_object = { objecttype: 'note', ...settings }
      const refused = await it.reader.post('/collection', { collection: { create_object } })
      const [[name, field]] = Object.entries(settings) as [[string, string]]
      assert.deepEqual(
        [refused.status, refused.body.code, refused.body.parameters.path, refused.body.parameters.field],
        [400, 'UnknownField', `body.collection.create_object.${name}`, field],
      )
    }
    assert.deepEqual(ids(await it.reader.get(`/collection/list/${collection._id}`)), [child._id])
  })

  test('READ-013 POST and PUT create and update a collection', async () => {
    for (const method of ['post', 'put'] as const) {
      const made = ok(await it.reader[method]('/collection', { collection: { displayname: { 'en-US': method } } }))
      const { _id } = made.collection
      const changed = ok(
        await it.reader[method]('/collection', { collection: { _id, _version: 1, description: { 'en-US': 'd' } } }),
      )
      assert.deepEqual([changed.collection._version, changed.collection.displayname], [2, { 'en-US': method }])
      const late = await it.reader[method]('/collection', { collection: { _id, _version: 1 } })
      assert.deepEqual([late.status, late.body.code, late.body.parameters.expected], [400, 'VersionMismatch', 2])
      assert.deepEqual(
        (await eventsOf(_id)).map(({ type }: Json) => type),
        ['COLLECTION_INSERT', 'COLLECTION_UPDATE'],
      )
    }
  })

  test('READ-015 one collection is read, updated and deleted by its address, with all below it', async () => {
    const parent = await createCollection(it.reader, {
      displayname: { 'en-US': 'Parent' },
      reference: 'parent',
      shortname: 'p',
    })
    const child = await createCollection(it.reader, { _id_parent: parent._id, reference: 'child', shortname: 'c' })
    const grandchild = await createCollection(it.reader, { _id_parent: child._id })
    assert.equal(ok(await it.reader.get(`/collection/${parent._id}`)).collection.displayname['en-US'], 'Parent')
    const changed = ok(
      await it.reader.post(`/collection/${parent._id}`, { collection: { _version: 1, type: 'search' } }),
    )
    assert.deepEqual(
      [changed.collection._id, changed.collection.type, changed.collection._version],
      [parent._id, 'search', 2],
    )
    const other = await it.reader.post(`/collection/${parent._id}`, { collection: { _id: child._id, _version: 1 } })
    assert.equal(other.status, 400)
    assert.deepEqual(ok(await it.reader.delete(`/collection/${parent._id}`)), { status: { acknowledged: 'ok' } })
    for (const { _id } of [parent, child, grandchild]) {
      assert.deepEqual(missing(await it.reader.get(`/collection/${_id}`)), [404, 'ObjectNotFound'])
    }
  })

  test('EVENT-038 a deletion logs the deleted children too', async () => {
    const parent = await createCollection(it.reader, {
      displayname: { 'en-US': 'Gone' },
      reference: 'gone',
      shortname: 'g',
    })
    const child = await createCollection(it.reader, { _id_parent: parent._id, reference: 'gone-too' })
    ok(await it.reader.delete(`/collection/${parent._id}`))
    assert.deepEqual((await eventsOf(parent._id)).at(-1).info, {
      displayname: { 'en-US': 'Gone' },
      shortname: 'g',
      reference: 'gone',
    })
    assert.deepEqual(
      (await eventsOf(parent._id)).map(({ type }: Json) => type),
      ['COLLECTION_INSERT', 'COLLECTION_DELETE'],
    )
    assert.deepEqual(
      (await eventsOf(child._id)).map(({ type }: Json) => type),
      ['COLLECTION_INSERT', 'COLLECTION_DELETE'],
    )
  })

  test('a batch is all or nothing, and its collections may be parents of each other', async () => {
    const made = ok(
      await it.reader.put('/collection/list', [
        { collection: { 'lookup:_id_parent': { reference: 'batch-top' } } },
        { collection: { reference: 'batch-top' } },
      ]),
    )
    assert.equal(made[0].collection._id_parent, made[1].collection._id)
    assert.equal(made[0]._level, 5)
    const before = ids(await it.reader.get('/collection/list'))
    const refused = await it.reader.put('/collection/list', [
      { collection: { reference: 'batch-other' } },
      { collection: { reference: 'batch-top' } },
    ])
    assert.deepEqual([refused.status, refused.body.code], [400, 'DatabaseUniqueKeyViolation'])
    assert.deepEqual(ids(await it.reader.get('/collection/list')), before)
  })

  test('refuses by its place what cannot be', async () => {
    const own = await top('reader')
    const { _id } = await createCollection(it.reader, {})
    const cases: [object, string][] = [
      [{ collection: { pin_code: '12' } }, 'body.collection.pin_code'],
      [{ collection: { is_system_collection: true } }, 'body.collection.is_system_collection'],
      [{ collection: { reference: 'user:ref:somebody' } }, 'body.collection.reference'],
      [{ collection: { _version: 3 } }, 'body.collection._id'],
      [{ collection: { _id } }, 'body.collection._version'],
      [{ collection: { uuid: 'X'.repeat(36) } }, 'body.collection.uuid'],
      [{ collection: { create_object: { objecttype: 'nothing' } } }, 'body.collection.create_object.objecttype'],
      [{ collection: { create_object: { pool_id: it.vault } } }, 'body.collection.create_object.pool_id'],
      [{ collection: { create_object: { mapping: 7 } } }, 'body.collection.create_object.mapping'],
      [
        { collection: { create_object: { pool: { pool: { 'lookup:_id': { reference: 'vault' } } } } } },
        'body.collection.create_object.pool',
      ],
      [{ collection: { create_object: { mask_id: 1 } } }, 'body.collection.create_object.mask_id'],
      [{ collection: { create_object: { linked_pool_id: it.vault } } }, 'body.collection.create_object.linked_pool_id'],
      [{ collection: { create_object: { tags: [{ _id: 999 }] } } }, 'body.collection.create_object.tags[0]._id'],
      [{ collection: { 'lookup:_id': { reference: 'nothing' } } }, 'body.collection.lookup:_id'],
      [{ collection: { 'lookup:_id_parent': { reference: 'nothing' } } }, 'body.collection.lookup:_id_parent'],
      [{ collection: { _id_parent: 2 } }, 'body.collection._id_parent'],
      [{ collection: {}, _owner: toUser(it.ids.stranger) }, 'body._owner'],
      [
        {
          collection: {},
          _acl: [wireGrant(toUser(it.ids.stranger), 'bag_read', { send_email_notification: { text: 5 } })],
        },
        'body._acl[0].send_email_notification.text',
      ],
      [{ collection: { _id: own.collection._id, _version: 1, _id_parent: _id } }, 'body.collection._id_parent'],
    ]
    for (const [body, path] of cases) {
      const answer = await it.reader.post('/collection', body)
      assert.equal(answer.status, 400, JSON.stringify([body, answer.body]))
      const { parameters } = answer.body
      assert.equal(parameters.path ?? parameters.name, path, JSON.stringify(answer.body))
    }
  })
})

describe('moving', () => {
  test('gives all below the owner of the new parent', async () => {
    const target = await createCollection(
      it.editor,
      { displayname: { 'en-US': 'Target' } },
      { _acl: [wireGrant(toUser(it.ids.reader), 'bag_read bag_create')] },
    )
    const moved = await createCollection(it.reader, { displayname: { 'en-US': 'Moved' } })
    const child = await createCollection(it.reader, { _id_parent: moved._id })
    const answer = ok(
      await it.reader.post('/collection', { collection: { _id: moved._id, _version: 1, _id_parent: target._id } }),
    )
    assert.equal(answer._owner.user._id, it.ids.editor)
    const below = ok(await it.editor.get(`/collection/${child._id}`))
    assert.equal(below._owner.user._id, it.ids.editor)
    assert.deepEqual(
      below._path.slice(-2).map((one: Json) => one.collection._id),
      [target._id, moved._id],
    )
    assert.equal(below._level, 6)
    // What the reader has left is what the grant above says.
    assert.deepEqual(missing(await it.reader.delete(`/collection/${moved._id}`)), [403, 'RightRequired'])
  })

  test('takes bag_create there and bag_acl here, and never puts one above itself', async () => {
    const shared = await createCollection(
      it.editor,
      {},
      { _acl: [wireGrant(toUser(it.ids.reader), 'bag_read bag_write')] },
    )
    const own = await createCollection(it.reader, {})
    const here = await it.reader.post('/collection', {
      collection: { _id: shared._id, _version: 1, _id_parent: own._id },
    })
    assert.deepEqual([here.status, here.body.parameters.right], [403, 'bag_acl'])
    const there = await it.reader.post('/collection', {
      collection: { _id: own._id, _version: 1, _id_parent: shared._id },
    })
    assert.deepEqual([there.status, there.body.parameters.right], [403, 'bag_create'])
    const child = await createCollection(it.reader, { _id_parent: own._id })
    const circle = await it.reader.post('/collection', {
      collection: { _id: own._id, _version: 1, _id_parent: child._id },
    })
    assert.deepEqual([circle.status, circle.body.code], [400, 'ServerGeneric'])
  })

  test('two moves at once never make a circle', async () => {
    const [a, b] = await Promise.all([createCollection(it.reader, {}), createCollection(it.reader, {})])
    const answers = await Promise.all([
      it.reader.post('/collection', { collection: { _id: a._id, _version: 1, _id_parent: b._id } }),
      it.reader.post('/collection', { collection: { _id: b._id, _version: 1, _id_parent: a._id } }),
    ])
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 400])
  })

  test('several moves of one request come out as one picture', async () => {
    const make = () => createCollection(it.reader, {})
    const [a, b, c] = [await make(), await make(), await make()]
    const below = await createCollection(it.reader, { _id_parent: a._id })
    ok(
      await it.reader.put('/collection/list', [
        { collection: { _id: a._id, _version: 1, _id_parent: b._id } },
        { collection: { _id: b._id, _version: 1, _id_parent: c._id } },
      ]),
    )
    const { _path } = ok(await it.reader.get(`/collection/${below._id}`))
    assert.deepEqual(
      _path.slice(-3).map((one: Json) => one.collection._id),
      [c._id, b._id, a._id],
    )
  })
})

describe('the height of the tree', () => {
  test('is limited, for new collections and for moved ones', async () => {
    const chain = (name: string, length: number) =>
      Array.from({ length }, (_, index) => ({
        collection: {
          reference: `${name}${index}`,
          ...(index === 0 ? {} : { 'lookup:_id_parent': { reference: `${name}${index - 1}` } }),
        },
      }))
    const high = ok(await it.reader.put('/collection/list', chain('high', 97)))
    assert.equal(high.at(-1)._level, 100)
    const beyond = { collection: { _id_parent: high.at(-1).collection._id } }
    const refused = await it.reader.post('/collection', beyond)
    assert.deepEqual([refused.status, refused.body.parameters], [400, { value: 101, most: 100 }])
    const low = ok(await it.reader.put('/collection/list', chain('low', 2)))
    const moved = await it.reader.post('/collection', {
      collection: { _id: low[0].collection._id, _version: 1, _id_parent: high.at(-2).collection._id },
    })
    assert.deepEqual([moved.status, moved.body.parameters], [400, { value: 101, most: 100 }])
    assert.equal(ok(await it.reader.get(`/collection/${low[1].collection._id}`))._level, 5)
    ok(await it.reader.delete(`/collection/${high[0].collection._id}`))
  })
})

describe('grants', () => {
  test('open a collection and what is below; private ones inherit sticky grants only', async () => {
    const grant = wireGrant(toUser(it.ids.stranger), 'bag_read')
    const shared = await createCollection(it.reader, { displayname: { 'en-US': 'Shared' } }, { _acl: [grant] })
    const open = await createCollection(it.reader, { _id_parent: shared._id })
    const closed = await createCollection(it.reader, { _id_parent: shared._id }, { _private_acl: true })
    const seen = async () =>
      ids(await it.stranger.get('/collection/list'))
        .filter((id) => id >= shared._id)
        .toSorted((a, b) => a - b)
    assert.deepEqual(await seen(), [shared._id, open._id])
    assert.deepEqual(missing(await it.stranger.get(`/collection/${closed._id}`)), [404, 'ObjectNotFound'])
    const wire = ok(await it.stranger.get(`/collection/${shared._id}`))
    assert.deepEqual(Object.keys(wire._generated_rights), ['bag_read'])
    assert.equal('_acl' in wire, false)
    assert.equal(wire._has_acl, true)
    assert.deepEqual(ids(await it.stranger.get(`/collection/list/${shared._id}`)), [open._id])
    const [entry] = ok(await it.reader.get(`/collection/${shared._id}`))._acl
    ok(
      await it.reader.post(`/collection/${shared._id}`, {
        collection: { _version: 1 },
        _acl: [{ ...entry, sticky: true }],
      }),
    )
    assert.deepEqual(await seen(), [shared._id, open._id, closed._id])
    ok(await it.reader.post(`/collection/${shared._id}`, { collection: { _version: 2 }, _acl: [] }))
    assert.deepEqual(await seen(), [])
    assert.equal(ok(await it.reader.get(`/collection/${shared._id}`))._has_acl, false)
  })

  test('each change asks for its right', async () => {
    const grants = (rights: string) => ({ _acl: [wireGrant(toUser(it.ids.stranger), rights)] })
    const shared = await createCollection(it.reader, {}, grants('bag_read'))
    const change = (body: object) => it.stranger.post(`/collection/${shared._id}`, body)
    const right = async (answer: Promise<Answer>) => (await answer).body.parameters?.right
    assert.equal(await right(change({ collection: { _version: 1, type: 'x' } })), 'bag_write')
    assert.equal(await right(it.stranger.post('/collection', { collection: { _id_parent: shared._id } })), 'bag_create')
    assert.equal(await right(it.stranger.delete(`/collection/${shared._id}`)), 'bag_delete')
    assert.equal(
      await right(it.stranger.post(`/collection/push/${shared._id}`, { objects: [{ _global_object_id: '1@other' }] })),
      'link',
    )
    assert.equal(
      await right(it.stranger.post(`/collection/remove/${shared._id}`, [{ _global_object_id: '1@other' }])),
      'unlink',
    )
    ok(
      await it.reader.post(`/collection/${shared._id}`, {
        collection: { _version: 1 },
        ...grants('bag_read bag_write'),
      }),
    )
    for (const more of [
      grants('bag_read bag_delete'),
      { _private_acl: true },
      { collection: { _version: 2, create_object: { objecttype: 'note' } } },
      { collection: { _version: 2, uuid: crypto.randomUUID() } },
    ]) {
      assert.equal(await right(change({ collection: { _version: 2 }, ...more })), 'bag_acl', JSON.stringify(more))
    }
    ok(await change({ collection: { _version: 2, type: 'x' } }))
  })

  test('bag_create alone makes collections below, and gives nothing in the name of their owner', async () => {
    const _acl = [wireGrant(toUser(it.ids.stranger), 'bag_read bag_create')]
    const shared = await createCollection(it.reader, {}, { _acl })
    const below = (collection: object, more: object = {}) =>
      it.stranger.post('/collection', { collection: { _id_parent: shared._id, ...collection }, ...more })
    for (const [collection, more] of [
      [{}, { _acl: [wireGrant(toUser(it.ids.stranger), 'bag_read bag_write bag_acl')] }],
      [{}, { _private_acl: true }],
      [{ create_object: { objecttype: 'note' } }, {}],
    ] as const) {
      const { status, body } = await below(collection, more)
      assert.deepEqual([status, body.code, body.parameters.right], [403, 'RightRequired', 'bag_acl'])
      assert.equal(body.parameters.collection, shared._id)
    }
    assert.equal(ok(await below({})).collection._id_parent, shared._id)
  })
})

describe('counts', () => {
  test('are those of the list, and of all below that the caller may see', async () => {
    const notes = await createNotes(it.root, it.pool, 3, 'counted')
    const grant = { _acl: [wireGrant(toUser(it.ids.stranger), 'bag_read')] }
    const parent = await createCollection(it.reader, {}, { ...grant, objects: entriesOf(it.svc, notes) })
    await createCollection(it.reader, { _id_parent: parent._id }, { objects: entriesOf(it.svc, notes.slice(1)) })
    await createCollection(
      it.reader,
      { _id_parent: parent._id },
      { _private_acl: true, _objects: [{ _global_object_id: '7@elsewhere' }] },
    )
    const counts = ({ _count, _count_recursive, _has_remote_objects }: Json) => [
      _count,
      _count_recursive,
      _has_remote_objects,
    ]
    assert.deepEqual(counts(ok(await it.reader.get(`/collection/${parent._id}`))), [3, 6, false])
    assert.deepEqual(counts(ok(await it.stranger.get(`/collection/${parent._id}`))), [3, 5, false])
    assert.deepEqual(await listed(it.reader, parent._id), notes)
    assert.ok(globalId(it.svc, 1))
  })
})

describe('the interface', () => {
  test('REC-011 READ-014 READ-016 the record of a collection has its fields beside the stated ones', async () => {
    const sent = {
      collection: {
        reference: 'fields',
        shortname: 'fields-short',
        type: 'search',
        displayname: { 'en-US': 'Fields' },
        description: { 'en-US': 'All of them' },
        webfrontend_props: { query: 'a' },
        create_object: { objecttype: 'note', tags: [], recognize_version: true },
        children_allowed: true,
        objects_allowed: true,
        uuid: crypto.randomUUID(),
      },
      _acl: [wireGrant(toUser(it.ids.stranger), 'bag_read')],
      _private_acl: true,
    }
    const made = ok(await it.reader.post('/collection', sent))
    const { _id, _version, _id_parent, is_system_collection, ...fields } = made.collection
    assert.deepEqual(fields, sent.collection)
    assert.deepEqual([_version, _id_parent, is_system_collection], [1, (await top('reader')).collection._id, false])
    assert.deepEqual(Object.keys(made).toSorted(), [
      '_acl',
      '_basetype',
      '_count',
      '_count_recursive',
      '_create_object_compiled',
      '_created_at',
      '_generated_rights',
      '_has_acl',
      '_has_children',
      '_has_pin',
      '_has_remote_objects',
      '_hotfolder_upload_urls',
      '_invalid_acl',
      '_level',
      '_owner',
      '_path',
      '_private_acl',
      '_updated_at',
      'collection',
    ])
    assert.deepEqual([made._private_acl, made._has_acl, made._has_pin], [true, true, false])
    // It can be sent back as it was read, and says nothing that is ignored.
    for (const [method, path] of [
      ['post', '/collection'],
      ['put', '/collection'],
      ['post', `/collection/${_id}`],
    ] as const) {
      const stored = ok(await it.reader.get(`/collection/${_id}`))
      const answer = await it.reader[method](path, stored, { strict: 1 })
      const again = ok(answer)
      assert.equal(answer.headers['x-svc-ignored'], undefined)
      assert.equal(again.collection._version, stored.collection._version + 1)
      assert.deepEqual({ ...again.collection, _version: 1 }, made.collection)
    }
    for (const operation of ['post /collection', 'put /collection', 'post /collection/{collectionId}'])
      await assertDocumented(it.svc, operation, ['allow_invalid_acl', 'background_invalid_acl'], 'collections.md')
    await assertCommonParameters(it.svc, 'get /collection/{collectionId}', 'delete /collection/{collectionId}')
    assertNamed('collections.md', Object.keys(sent.collection))
    const cleared = { reference: null, shortname: null, type: null, description: null, create_object: null }
    const { _version: last } = ok(await it.reader.get(`/collection/${_id}`)).collection
    const { collection } = ok(
      await it.reader.post(`/collection/${_id}`, { collection: { _version: last, ...cleared } }),
    )
    assert.deepEqual(
      Object.keys(collection).filter((name) => name in cleared),
      ['description'],
    )
    assert.deepEqual(ok(await it.reader.delete(`/collection/${_id}`)), { status: { acknowledged: 'ok' } })
  })

  test('a batch costs as many statements as one', async () => {
    const count = (work: () => Promise<unknown>) => statementsOf(it.svc, work)
    const save = (many: number) => () =>
      it.reader.put(
        '/collection/list',
        Array.from({ length: many }, () => ({
          collection: {},
          objects: entriesOf(it.svc, notes),
          _acl: [wireGrant(toUser(it.ids.stranger), 'bag_read')],
        })),
      )
    const notes = await createNotes(it.root, it.pool, 60, 'statement')
    const lists = [await createCollection(it.reader), await createCollection(it.reader)]
    const push = (list: Json, many: number) => () =>
      it.reader.post(`/collection/push/${list._id}`, { objects: entriesOf(it.svc, notes.slice(0, many)) })
    assert.equal(await count(save(20)), await count(save(1)))
    assert.equal(await count(push(lists[0], 60)), await count(push(lists[1], 1)))
    const list20 = () => it.reader.get('/collection/list', { limit: 20 })
    assert.equal(await count(list20), await count(() => it.reader.get('/collection/list', { limit: 1 })))
  })

  test('users who are made at once have one top collection each', async () => {
    const logins = Array.from({ length: 6 }, (_, index) => `together${index}`)
    const made = await Promise.all(logins.map((login) => it.root.post('/user', [{ user: { login } }])))
    const ids = new Set(made.map((answer) => ok(answer)[0].user._id))
    const { rows } = await it.svc.db.query<{ id: number }>(
      'select user_id as id from collection where user_id = any($1)',
      [[...ids]],
    )
    assert.deepEqual(rows.map(({ id }) => id).toSorted(), [...ids].toSorted())
  })

  test('so many collections, and entries in them, belong to one user', async () => {
    const notes = await createNotes(it.root, it.pool, 3, 'quota')
    const [{ user }] = ok(await it.root.post('/user', [{ user: { login: 'collector', _password: 'collects a lot' } }]))
    // With the top collection, two.
    await using other = await attachService(it.svc.dsn, { quotaCollections: 2, quotaCollectionEntries: 2 })
    const top = await it.svc.db.query<{ id: number }>('select id from collection where owner_user = $1', [user._id])
    const _id_parent = top.rows[0]?.id
    const over = (answer: Answer) => [answer.status, answer.body.code, answer.body.parameters.quota]
    const root = other.as('root')
    const list = ok(await root.post('/collection', { collection: { _id_parent } })).collection
    const add = (ids: readonly number[]) =>
      root.post(`/collection/push/${list._id}`, { objects: entriesOf(it.svc, ids) })
    const tooMany = [429, 'QuotaExceeded', 'svc.quotas.collections']
    assert.deepEqual(over(await root.post('/collection', { collection: { _id_parent } })), tooMany)
    const moved = await createCollection(it.root)
    const move = { collection: { _id: moved._id, _version: moved._version, _id_parent } }
    assert.deepEqual(over(await root.post(`/collection/${moved._id}`, move)), tooMany)
    ok(await add(notes.slice(0, 2)))
    assert.deepEqual(over(await add(notes.slice(2))), [429, 'QuotaExceeded', 'svc.quotas.collectionEntries'])
    // What is there moves to the end.
    assert.equal(ok(await add(notes.slice(0, 1))).count, 2)
    assert.equal(ok(await root.get(`/collection/${list._id}`))._count, 2)
  })
})
