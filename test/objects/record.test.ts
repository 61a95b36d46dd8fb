import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type People, seedPeople, toGroup, toUser, wireGrant } from '../rights/people.ts'
import type { Json, Query } from '../support/client.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

/** The record of an object: what the specification says of each of its fields, clause by clause. */
let museum: Museum
let people: People
before(async () => {
  museum = await startMuseum()
  people = await seedPeople(museum.svc)
})
after(() => museum[Symbol.asyncDispose]())

const root = () => museum.svc.as('root')

async function save(objecttype: string, objects: object[], query: Query = {}): Promise<Json[]> {
  const answer = await root().post(`/db/${objecttype}`, objects, query)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

async function create(objecttype: string, block: object, rest: object = {}): Promise<Json> {
  return (await save(objecttype, [payload(objecttype, block, rest)]))[0]
}

async function refused(objecttype: string, object: object, status: number, code: string): Promise<void> {
  const answer = await root().post(`/db/${objecttype}`, [object])
  assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(answer.body))
}

async function read(object: Json, query: Query = {}, mask = '_all_fields'): Promise<Json> {
  const path = `/db/${object._objecttype}/${mask}/system_object_id/${object._system_object_id}`
  const answer = await root().get(path, query)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  assert.equal(answer.body.length, 1)
  return answer.body[0]
}

async function createPool(name: string, block: object = {}): Promise<number> {
  const answer = await root().post('/pool', [
    { _basetype: 'pool', pool: { name: { 'en-US': name }, _id_parent: 1, ...block } },
  ])
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body[0].pool._id
}

/** One block for each object type of the model, with what its rules ask for. */
const blocks: Record<string, object> = {
  person: { name: 'Any' },
  place: { name: { 'en-US': 'Any' } },
  topic: { name: 'Any' },
  work: { title: { 'en-US': 'Any' }, '_nested:work__material': [{ name: 'oil', other: 1 }] },
  loan: { borrower: 'Any' },
}
const blockOf = (type: string) => ({ ...blocks[type], ...(type === 'work' ? inPool(museum.pool) : {}) })

test('OBJ-001 _objecttype is the type of the address, _mask names the mask that shapes the object', async () => {
  const block = { ...inPool(museum.pool), title: { 'en-US': 'Shaped' }, note: 'only in one mask' }
  const created = await create('work', block)
  assert.deepEqual([created._objecttype, created._mask, created.work.note], ['work', '_all_fields', block.note])
  for (const [mask, fields] of [
    ['_all_fields', { title: block.title, note: block.note }],
    ['work__title_only', { title: block.title }],
  ] as const) {
    const object = await read(created, { format: 'standard' }, mask)
    assert.deepEqual([object._objecttype, object._mask], ['work', mask])
    const { title, note } = object.work
    assert.deepEqual(note === undefined ? { title } : { title, note }, fields, mask)
  }
  const wrong = { _objecttype: 'person', _mask: '_all_fields', person: { name: 'x' } }
  await refused('work', wrong, 400, 'InvalidValue')
  await refused('work', { ...wrong, _objecttype: undefined }, 400, 'InvalidValue')
})

test('OBJ-002 _system_object_id is an integer that no other object of the instance has, of whatever type', async () => {
  const objects: Json[] = []
  for (const type of Object.keys(blocks)) {
    objects.push(...(await save(type, [payload(type, blockOf(type)), payload(type, blockOf(type))])))
  }
  const ids = objects.map((object) => object._system_object_id)
  assert.ok(ids.every(Number.isInteger))
  assert.equal(new Set(ids).size, ids.length)
  assert.ok(new Set(objects.map((object) => object[object._objecttype]._id)).size < ids.length, '_id is per type')
  for (const type of Object.keys(blocks)) {
    const taken = payload(type, blockOf(type), { _system_object_id: ids[0] })
    await refused(type, taken, 400, 'DatabaseUniqueKeyViolation')
  }
})

test('OBJ-003 _system_object_id is chosen by the client with version 1, and stays from then on', async () => {
  const id = 70_000
  const created = await create('person', { name: 'Chosen', _version: 1 }, { _system_object_id: id })
  assert.equal(created._system_object_id, id)
  const change = (version: number, systemObjectId: number) =>
    payload(
      'person',
      { _id: created.person._id, _version: version, name: 'Changed' },
      { _system_object_id: systemObjectId },
    )
  await refused('person', change(1, id + 1), 400, 'InvalidValue')
  const [second] = await save('person', [change(1, id)])
  assert.deepEqual([second._system_object_id, second.person._version], [id, 2])
  await refused('person', change(2, id + 1), 400, 'InvalidValue')
  const stored = (await root().get(`/db/person/_all_fields/${created.person._id}`)).body
  assert.deepEqual([stored.length, stored[0]._system_object_id, stored[0].person._version], [1, id, 2])
  assert.deepEqual((await root().get(`/db/person/_all_fields/system_object_id/${id + 1}`)).body, [])
})

test('an id that leaves the counter no room is refused by its name', async () => {
  const last = Number.MAX_SAFE_INTEGER
  for (const [name, block, rest] of [
    ['_id', { _id: last }, {}],
    ['_system_object_id', {}, { _system_object_id: last }],
  ] as const) {
    const { status, body } = await root().post('/db/person', [payload('person', { name: 'x', ...block }, rest)])
    assert.deepEqual([status, body.code, body.parameters.name], [400, 'InvalidValue', name])
  }
})

test('OBJ-005 _uuid is text that one object has, _created the time of its creation', async () => {
  const since = Date.now()
  const [one, two] = await save('person', [payload('person', { name: 'One' }), payload('person', { name: 'Two' })])
  assert.ok(typeof one._uuid === 'string' && one._uuid.length > 0)
  assert.notEqual(one._uuid, two._uuid)
  const chosen = await create('person', { name: 'Own' }, { _uuid: 'a-uuid-of-my-own' })
  assert.equal(chosen._uuid, 'a-uuid-of-my-own')
  for (const type of ['person', 'topic']) {
    await refused(type, payload(type, { name: 'x' }, { _uuid: chosen._uuid }), 400, 'DatabaseUniqueKeyViolation')
  }
  assert.match(one._created, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
  const created = Date.parse(one._created)
  // The database has a clock of its own.
  assert.ok(created > since - 60_000 && created < Date.now() + 60_000)
  const [later] = await save('person', [payload('person', { _id: one.person._id, _version: 1, name: 'Later' })])
  const stored = await read(one)
  for (const object of [later, stored]) {
    assert.deepEqual([object._created, object._uuid, object.person._version], [one._created, one._uuid, 2])
  }
  assert.ok(Date.parse(stored._last_modified) > created, 'the time of creation is not that of the last change')
})

test('OBJ-006 _owner says who owns the object, and whether that is the contact of its pool', async () => {
  const contact = await createPool('With a contact', { contact: toUser(people.ids.reader) })
  const owned = async (pool: number, owner: object) =>
    (await create('work', { ...inPool(pool), title: { 'en-US': 'Owned' } }, { _owner: owner }))._owner
  const reader = {
    _id: people.ids.reader,
    'lookup:_id': { reference: 'reader' },
    _generated_displayname: 'reader',
  }
  const staff = { _id: people.ids.staff, 'lookup:_id': { reference: 'staff' }, _generated_displayname: 'staff' }
  const user = { _basetype: 'user', _owner: true, user: reader }
  assert.deepEqual(await owned(museum.pool, toUser(people.ids.reader)), { ...user, _pool_contact: false })
  assert.deepEqual(await owned(contact, toUser(people.ids.reader)), { ...user, _pool_contact: true })
  const mistaken = [
    { ...toUser(people.ids.reader), _basetype: 'group' },
    { ...toUser(people.ids.reader), ...toGroup(people.ids.staff) },
  ]
  const block = { ...inPool(museum.pool), title: { 'en-US': 'Owned' } }
  for (const _owner of mistaken) {
    assert.equal((await museum.svc.as('root').post('/db/work', [payload('work', block, { _owner })])).status, 400)
  }
  const group = { _basetype: 'group', _owner: true, group: staff }
  assert.deepEqual(await owned(museum.pool, toGroup(people.ids.staff)), { ...group, _pool_contact: false })
})

test('OBJ-009 a save sets _comment, _tags, _pool and _acl, of a new object and of a stored one', async () => {
  const { body } = await root().post('/tags', [{ taggroup: {}, _tags: [{ reference: 'one' }, { reference: 'two' }] }])
  const [one, two] = body[0]._tags.map((tag: Json) => tag._id)
  const other = await createPool('Other')
  const fields = (comment: string, tag: number, pool: number, who: number) => ({
    _comment: comment,
    _tags: [{ _id: tag }],
    _pool: { pool: { _id: pool } },
    _acl: [wireGrant(toUser(who), 'read')],
  })
  const shown = async (object: Json) => {
    const { _comment, _tags, _pool, _acl } = await read(object, { format: 'full' })
    return [
      _comment,
      _tags.map((tag: Json) => tag._id),
      _pool.pool._id,
      _acl.map((grant: Json) => [grant.who.user._id, grant.rights]),
    ]
  }
  const { reader, stranger } = people.ids
  const created = await create('work', {}, fields('first', one, museum.pool, reader))
  assert.deepEqual(await shown(created), ['first', [one], museum.pool, [[reader, { read: {} }]]])
  const update = payload('work', { _id: created.work._id, _version: 1 }, fields('second', two, other, stranger))
  await save('work', [update])
  assert.deepEqual(await shown(created), ['second', [two], other, [[stranger, { read: {} }]]])
})

test('OBJ-011 the content stands under the name of the type: _id, _version and the fields of the mask', async () => {
  const person = await create('person', { name: 'Ada', _id: 4242, born: { value: '1815' } })
  const topic = await create('topic', { name: 'Sums', _id: 4242 })
  assert.deepEqual([person.person._id, topic.topic._id], [4242, 4242], 'unique per type only')
  await refused('topic', payload('topic', { name: 'Twice', _id: 4242 }), 400, 'DatabaseUniqueKeyViolation')
  for (const format of ['short', 'standard', 'standard_extended', 'long', 'full']) {
    const object = await read(person, { format })
    assert.deepEqual([object.person._id, object.person._version], [4242, 1], format)
    assert.ok(!('person' in (await read(topic, { format }))), 'under the name of its own type only')
  }
  await save('person', [payload('person', { _id: 4242, _version: 1, name: 'Ada', born: { value: '1815' } })])
  const { _id, _version, name, born } = (await read(person, { format: 'standard' })).person
  assert.deepEqual([_id, _version, name, born], [4242, 2, 'Ada', { value: '1815' }])

  const work = await create('work', { ...inPool(museum.pool), title: { 'en-US': 'T' }, inventory: 'X1', note: 'n' })
  const fields = async (mask: string) =>
    Object.keys((await read(work, { format: 'standard' }, mask)).work).filter((key) => key !== '_pool')
  assert.deepEqual((await fields('work__title_only')).sort(), ['_id', '_version', 'title'])
  const all = await fields('_all_fields')
  for (const key of ['_id', '_version', 'title', 'inventory', 'note']) assert.ok(all.includes(key), key)
})

test('OBJ-012 ids of a save that fails are not given back: there is a gap in both numberings', async () => {
  const [before] = await save('person', [payload('person', { name: 'Before', reference: 'gap' })])
  // Only the write finds out that two of one request have the same value: by then the ids are drawn.
  const twins = ['a', 'b'].map((name) => payload('person', { name, reference: 'twin' }))
  const answer = await root().post('/db/person', twins)
  assert.deepEqual([answer.status, answer.body.code], [400, 'DatabaseUniqueKeyViolation'])
  const [next] = await save('person', [payload('person', { name: 'After' })])
  assert.equal(next.person._id, before.person._id + 3)
  assert.equal(next._system_object_id, before._system_object_id + 3)
})

test('OBJ-013 ids of purged objects are not used again, neither drawn nor chosen', async () => {
  const created = await create('person', { name: 'Gone' })
  const id = created.person._id
  for (const [version, delete_policy] of [
    [1, 'setnull'],
    [2, 'purge'],
  ] as const) {
    const answer = await root().delete('/db/person', [[id, version, null]], { delete_policy })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
  }
  const next = await create('person', { name: 'Next' })
  assert.ok(next.person._id > id && next._system_object_id > created._system_object_id)
  const taken = { _system_object_id: created._system_object_id }
  await refused('person', payload('person', { name: 'x', _id: id }), 400, 'DatabaseUniqueKeyViolation')
  await refused('person', payload('person', { name: 'x' }, taken), 400, 'DatabaseUniqueKeyViolation')
  await refused('topic', payload('topic', { name: 'x' }, taken), 400, 'DatabaseUniqueKeyViolation')
})

test('OBJ-014 without _version or with 1 a save creates, with any other it updates', async () => {
  const people = async () => (await root().get('/db/person/_all_fields/list', { format: 'short' })).body.length
  const count = await people()
  const absent = await create('person', { name: 'No version' })
  const one = await create('person', { name: 'Version one', _version: 1 })
  assert.notEqual(absent.person._id, one.person._id)
  assert.deepEqual([absent.person._version, one.person._version, await people()], [1, 1, count + 2])
  const id = absent.person._id
  await refused('person', payload('person', { name: 'x', _id: id }), 400, 'DatabaseUniqueKeyViolation')
  // Version 1 of an object that is named and has that version is the one update that needs no other number.
  await save('person', [payload('person', { name: 'Two', _id: id, _version: 1 })])
  const updated = [2, 3, 4].map((version) => payload('person', { name: `From ${version}`, _id: id, _version: version }))
  for (const [index, object] of updated.entries()) {
    const [{ person }] = await save('person', [object])
    assert.deepEqual([person._id, person._version, person.name], [id, index + 3, `From ${index + 2}`])
  }
  assert.equal(await people(), count + 2)
  for (const version of [2, 7]) {
    await refused('person', payload('person', { name: 'Nobody', _version: version }), 404, 'ObjectNotFound')
  }
  assert.equal(await people(), count + 2, 'no other version creates')
})

test('OBJ-019 payloads of every type may have properties that nobody lists', async () => {
  const person = await create('person', { name: 'Linked' })
  for (const type of Object.keys(blocks)) {
    const answer = await root().post(`/db/${type}`, [
      payload(type, { ...blockOf(type), unlisted: { any: ['thing'] }, 'x:y': null }, { _unlisted: 1, more: 'text' }),
    ])
    assert.equal(answer.status, 200, `${type} ${JSON.stringify(answer.body)}`)
    const stored = await read(answer.body[0])
    for (const name of ['unlisted', 'x:y', '_unlisted', 'more']) {
      assert.ok(!(name in stored) && !(name in stored[type]), name)
    }
  }
  const linked = { ...link('person', person._system_object_id), unlisted: true }
  const work = await create('work', { ...inPool(museum.pool), creator: linked })
  assert.equal(work.work.creator._system_object_id, person._system_object_id)
})
