import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { someFiles } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { assertDocumented } from '../support/documented.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

let museum: Museum
before(async () => {
  museum = await startMuseum()
  await someFiles(museum.svc, 9)
})
after(() => museum[Symbol.asyncDispose]())

const root = () => museum.svc.as('root')

/** Saves objects of one type and gives the answer's objects. */
async function save(objecttype: string, objects: object[], query = {}): Promise<Json[]> {
  const answer = await root().post(`/db/${objecttype}`, objects, query)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

async function read(objecttype: string, id: number, query = {}, mask = '_all_fields'): Promise<Json> {
  const answer = await root().get(`/db/${objecttype}/${mask}/${id}`, query)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body[0]
}

async function refused(objecttype: string, objects: unknown, status: number, code: string, query = {}): Promise<Json> {
  const before = await count()
  const answer = await root().post(`/db/${objecttype}`, objects, query)
  assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(answer.body))
  assert.deepEqual(await count(), before, 'a refused save changes nothing')
  return answer.body
}

async function count(): Promise<unknown> {
  const { rows } = await museum.svc.db.query(
    `select (select count(*) from object) as objects, (select count(*) from object_version) as versions,
            (select count(*) from object_link) as links, (select count(*) from object_unique) as unique_values,
            (select count(*) from event where type like 'OBJECT%') as events`,
  )
  return rows[0]
}

const work = (block: object, rest: object = {}) => payload('work', { ...inPool(museum.pool), ...block }, rest)

test('DB-001 POST creates and updates the objects of an array, each with type and mask, and answers them as stored', async () => {
  const created = await save('person', [payload('person', { name: 'Ada' }), payload('person', { name: 'Grace' })])
  assert.deepEqual(
    created.map(({ person }) => [person.name, person._version]),
    [
      ['Ada', 1],
      ['Grace', 1],
    ],
  )
  const [ada, grace] = created
  const answer = await save('person', [
    payload('person', { _id: grace.person._id, _version: 1, name: 'Grace Hopper' }),
    payload('person', { name: 'Joan' }, { _mask: 'person__standard' }),
    payload('person', { _id: ada.person._id, _version: 1, name: 'Ada Lovelace' }),
  ])
  assert.deepEqual(
    answer.map(({ _mask, person }) => [_mask, person._version, person.name]),
    [
      ['_all_fields', 2, 'Grace Hopper'],
      ['person__standard', 1, 'Joan'],
      ['_all_fields', 2, 'Ada Lovelace'],
    ],
  )
  assert.deepEqual([answer[0].person._id, answer[2].person._id], [grace.person._id, ada.person._id])
  for (const object of answer) {
    assert.deepEqual(await read('person', object.person._id, { format: 'standard' }, object._mask), object)
  }
  await refused('person', [{ _mask: '_all_fields', person: { name: 'x' } }], 400, 'InvalidValue')
  await refused('person', [{ _objecttype: 'person', person: { name: 'x' } }], 400, 'MaskNotFound')
  await refused('person', payload('person', { name: 'x' }), 400, 'ServerGeneric')
})

test('OBJ-015 VER-003 every object has a version; an update needs the stored one and makes the next one', async () => {
  const all: [type: string, block: object][] = [
    ['place', { name: { 'en-US': 'Somewhere' }, code: 'versioned' }],
    ['topic', { name: 'Any' }],
    ['work', inPool(museum.pool)],
    ['loan', { borrower: 'Any' }],
  ]
  for (const [type, block] of all) {
    const [{ [type]: first }] = await save(type, [payload(type, block)])
    assert.deepEqual([first._version, (await read(type, first._id))[type]._version], [1, 1], type)
    await refused(type, [payload(type, { ...block, _id: first._id, _version: 2 })], 400, 'VersionMismatch')
    const [{ [type]: second }] = await save(type, [payload(type, { ...block, _id: first._id, _version: 1 })])
    assert.deepEqual([second._version, (await read(type, first._id))[type]._version], [2, 2], type)
  }
  const [created] = await save('person', [payload('person', { name: 'Version One' })])
  assert.equal(created.person._version, 1)
  const id = created.person._id
  const [second] = await save('person', [payload('person', { _id: id, _version: 1, name: 'Version Two' })])
  assert.equal(second.person._version, 2)
  assert.equal(second._system_object_id, created._system_object_id)
  const stale = await refused(
    'person',
    [payload('person', { _id: id, _version: 1, name: 'x' })],
    400,
    'VersionMismatch',
  )
  assert.deepEqual([stale.parameters.got, stale.parameters.expected], [1, 2])
  const early = await refused(
    'person',
    [payload('person', { _id: id, _version: 3, name: 'x' })],
    400,
    'VersionMismatch',
  )
  assert.deepEqual([early.parameters.got, early.parameters.expected], [3, 2])
  await refused('person', [payload('person', { _id: id, name: 'x' })], 400, 'DatabaseUniqueKeyViolation')
  await refused('person', [payload('person', { _id: 999999, _version: 2, name: 'x' })], 404, 'ObjectNotFound')
})

test('chosen ids are used when free, move the counters, and never change', async () => {
  const [first] = await save('person', [
    payload('person', { name: 'Chosen', _id: 5000 }, { _system_object_id: 70000, _uuid: 'my-uuid' }),
  ])
  assert.deepEqual([first.person._id, first._system_object_id, first._uuid], [5000, 70000, 'my-uuid'])
  const [next] = await save('person', [payload('person', { name: 'After' })])
  assert.ok(next.person._id > 5000 && next._system_object_id > 70000)
  await refused(
    'person',
    [payload('person', { name: 'x' }, { _system_object_id: 70000 })],
    400,
    'DatabaseUniqueKeyViolation',
  )
  await refused(
    'place',
    [payload('place', { name: { 'en-US': 'x' }, code: 'x' }, { _system_object_id: 70000 })],
    400,
    'DatabaseUniqueKeyViolation',
  )
  const moved = payload('person', { _id: 5000, _version: 1, name: 'x' }, { _system_object_id: 70002 })
  await refused('person', [moved], 400, 'InvalidValue')
  await refused(
    'person',
    [payload('person', { _id: 5000, _version: 1, name: 'x' }, { _uuid: 'other' })],
    400,
    'InvalidValue',
  )
  await refused(
    'person',
    [payload('person', { _version: 1, name: 'x' }, { _uuid: 'my-uuid', _system_object_id: 70001 })],
    400,
    'InvalidValue',
  )
})

test('fields of every type keep their value', async () => {
  const [person] = await save('person', [payload('person', { name: 'Maker' })])
  const [place] = await save('place', [
    payload('place', { name: { 'en-US': 'Berlin', 'de-DE': 'Berlin' }, code: 'ber' }),
  ])
  const block = {
    title: { 'en-US': 'A title', 'de-DE': 'Ein Titel' },
    inventory: 'AB12',
    note: 'Line one\nline two, “quoted”, 😀',
    width: -0,
    price: 9007199254740991,
    weight: 1.5e-7,
    signed: false,
    made: { value: '1850' },
    seen: { value: '2020-02-29T10:11:12+01:00' },
    period: { from: '1800', to: '1850-06', text: { 'en-US': 'early' } },
    location: { type: 'Point', coordinates: [13.4, 52.5] },
    image: [{ _id: 7, preferred: true }],
    vocabulary: { conceptURI: 'http://example.org/1', conceptName: 'one' },
    creator: link('person', person._system_object_id),
    place: link('place', place._system_object_id),
    '_nested:work__material': [
      {
        name: 'oil',
        amount: 3,
        origin: link('place', place._system_object_id),
        '_nested:work__material__supplier': [{ since: { value: '1849-12' } }],
      },
      { name: 'canvas' },
    ],
  }
  const [saved] = await save('work', [work(block)])
  const stored = await read('work', saved.work._id)
  const { creator, place: placed, image, '_nested:work__material': materials, ...plain } = stored.work
  const expected: Record<string, unknown> = { ...block }
  for (const name of ['creator', 'place', 'image', '_nested:work__material', 'width']) delete expected[name]
  for (const [name, value] of Object.entries(expected)) assert.deepEqual(plain[name], value, name)
  assert.equal(plain.width, 0)
  assert.equal(creator._system_object_id, person._system_object_id)
  assert.equal(placed.place._id, place.place._id)
  assert.equal(image[0]._id, 7)
  assert.equal(materials[0].origin._system_object_id, place._system_object_id)
  assert.ok(materials[0]._uuid && materials[1]._uuid)
  assert.equal(materials[0]['_nested:work__material__supplier'][0].since.value, '1849-12')
})

test('a mask writes its own fields and leaves all others', async () => {
  const [created] = await save('work', [
    work({ title: { 'en-US': 'before' }, note: 'kept', '_nested:work__material': [{ name: 'wood' }] }),
  ])
  const update = {
    _objecttype: 'work',
    _mask: 'work__title_only',
    work: { _id: created.work._id, _version: 1, title: { 'en-US': 'after' }, note: 'not written' },
  }
  await save('work', [update])
  const stored = await read('work', created.work._id)
  assert.deepEqual(stored.work.title, { 'en-US': 'after' })
  assert.equal(stored.work.note, 'kept')
  assert.equal(stored.work['_nested:work__material'][0].name, 'wood')
  const cleared = await save('work', [work({ _id: created.work._id, _version: 2, title: { 'en-US': 'after' } })])
  assert.equal(
    cleared[0].work.note ?? null,
    null,
    'a field that the mask lets be written and that is not sent is cleared',
  )
})

test('nested rows keep their _uuid through updates', async () => {
  const [created] = await save('work', [work({ '_nested:work__material': [{ name: 'a' }, { name: 'b' }] })])
  const rows = created.work['_nested:work__material']
  const [updated] = await save('work', [
    work({
      _id: created.work._id,
      _version: 1,
      '_nested:work__material': [{ name: 'new' }, { _uuid: rows[1]._uuid, name: 'b2' }],
    }),
  ])
  const after = updated.work['_nested:work__material']
  assert.equal(after[1]._uuid, rows[1]._uuid)
  assert.notEqual(after[0]._uuid, rows[0]._uuid)
  const twice = [
    { _uuid: 'same', name: 'x' },
    { _uuid: 'same', name: 'y' },
  ]
  await refused('work', [work({ '_nested:work__material': twice })], 400, 'ConstraintViolation')
  await save('work', [work({ '_nested:work__material': twice })], { skip_constraints: 1 })
})

test('links are found by _system_object_id, _uuid, _id, _global_object_id and lookup:_id', async () => {
  const [person] = await save('person', [payload('person', { name: 'Linked', reference: 'linked-person' })])
  const forms = [
    { _system_object_id: person._system_object_id },
    { _uuid: person._uuid },
    { _global_object_id: person._global_object_id },
    { person: { _id: person.person._id } },
    { person: { 'lookup:_id': { reference: 'linked-person' } } },
    { person: { 'lookup:_id': { name: 'Linked' } } },
    { person: { 'lookup:_id': { _uuid: person._uuid } } },
  ]
  const saved = await save(
    'work',
    forms.map((form) => work({ creator: { _objecttype: 'person', _mask: '_all_fields', ...form } })),
  )
  for (const [index, object] of saved.entries()) {
    assert.equal(object.work.creator._system_object_id, person._system_object_id, JSON.stringify(forms[index]))
  }
  const nothing = [
    { _system_object_id: 123456789 },
    { person: { 'lookup:_id': { reference: 'nobody' } } },
    { _uuid: 'none' },
  ]
  for (const form of nothing) await refused('work', [work({ creator: form })], 400, 'LookupNotFound')
  await save('person', [payload('person', { name: 'Twin' }), payload('person', { name: 'Twin' })])
  await refused('work', [work({ creator: { person: { 'lookup:_id': { name: 'Twin' } } } })], 400, 'LookupFoundTooMany')
  await refused('work', [work({ creator: { _system_object_id: saved[0]._system_object_id } })], 400, 'LookupNotFound')
})

test('objects of one request link to each other by _uuid and by lookup', async () => {
  const [a, b] = await save('person', [
    payload('person', {
      name: 'A',
      reference: 'batch-a',
      '_nested:person__influence': [{ person: { _uuid: 'batch-b' } }],
    }),
    payload(
      'person',
      {
        name: 'B',
        reference: 'batch-bb',
        '_nested:person__influence': [{ person: { person: { 'lookup:_id': { reference: 'batch-a' } } } }],
      },
      { _uuid: 'batch-b' },
    ),
  ])
  const ofA = await read('person', a.person._id)
  const ofB = await read('person', b.person._id)
  assert.equal(ofA.person['_nested:person__influence'][0].person._system_object_id, b._system_object_id)
  assert.equal(ofB.person['_nested:person__influence'][0].person._system_object_id, a._system_object_id)
})

test('unique keys are enforced, within a request too, and free again after a change', async () => {
  await save('person', [payload('person', { name: 'U', reference: 'u1' })])
  const error = await refused(
    'person',
    [payload('person', { name: 'V', reference: 'u1' })],
    400,
    'DatabaseUniqueKeyViolation',
  )
  assert.deepEqual(error.parameters.values, { reference: 'u1' })
  await refused(
    'person',
    [payload('person', { name: 'a', reference: 'u2' }), payload('person', { name: 'b', reference: 'u2' })],
    400,
    'DatabaseUniqueKeyViolation',
  )
  const [one, two] = await save('person', [
    payload('person', { name: 'x', reference: 'swap1' }),
    payload('person', { name: 'y', reference: 'swap2' }),
  ])
  await save('person', [
    payload('person', { _id: one.person._id, _version: 1, name: 'x', reference: 'swap2' }),
    payload('person', { _id: two.person._id, _version: 1, name: 'y', reference: 'swap1' }),
  ])
  await refused(
    'work',
    [work({ '_nested:work__material': [{ name: 'tin' }, { name: 'tin' }] })],
    400,
    'DatabaseUniqueKeyViolation',
  )
  await save('work', [
    work({ '_nested:work__material': [{ name: 'tin' }] }),
    work({ '_nested:work__material': [{ name: 'tin' }] }),
  ])
})

test('a batch is all or nothing', async () => {
  await refused('person', [payload('person', { name: 'fine' }), payload('person', {})], 400, 'ConstraintViolation')
  const [one] = await save('person', [payload('person', { name: 'once' })])
  const same = payload('person', { _id: one.person._id, _version: 1, name: 'twice' })
  await refused('person', [same, same], 400, 'InvalidValue')
})

test('constraints name object, field, rule and value', async () => {
  const cases: [object, string, string][] = [
    [{ inventory: 'nope' }, 'check_regexp', 'work.inventory'],
    [{ note: 'x'.repeat(2001) }, 'length', 'work.note'],
    [{ width: -1 }, 'check_range', 'work.width'],
  ]
  for (const [block, rule, field] of cases) {
    const error = await refused('work', [work(block)], 400, 'ConstraintViolation')
    assert.deepEqual([error.parameters.rule, error.parameters.field], [rule, field])
  }
  await save('work', [work({ note: '😀'.repeat(2000) })])
  await save('work', [work({ inventory: 'nope' })], { skip_constraints: 1 })
})

test('DB-003 DB-004 a dry run validates everything and writes nothing', async () => {
  const [existing] = await save('person', [payload('person', { name: 'real', reference: 'dry' })])
  const id = existing.person._id
  const before = await count()
  const [created, updated] = await save(
    'person',
    [payload('person', { name: 'dry' }), payload('person', { _id: id, _version: 1, name: 'changed' })],
    { dry_run: 1 },
  )
  assert.deepEqual(await count(), before)
  assert.ok(!('_system_object_id' in created) && !('_id' in created.person))
  assert.equal(created.person.name, 'dry')
  assert.deepEqual(
    [updated._system_object_id, updated.person._id, updated.person.name],
    [existing._system_object_id, id, 'changed'],
  )
  const stored = await read('person', id)
  assert.deepEqual([stored.person.name, stored.person._version], ['real', 1])

  const person = (block: object) => [payload('person', block)]
  const [top] = await save('place', [payload('place', { name: { 'en-US': 'Top' } })])
  const circle = payload('place', { _id: top.place._id, _version: 1, _id_parent: top.place._id })
  const dry = { dry_run: 1 }
  await refused('person', person({ name: 'z', reference: 'dry' }), 400, 'DatabaseUniqueKeyViolation', dry)
  await refused('person', person({ reference: 'no name' }), 400, 'ConstraintViolation', dry)
  await refused('person', person({ name: 1850 }), 400, 'InvalidValue', dry)
  await refused('person', person({ _id: id, _version: 7, name: 'x' }), 400, 'VersionMismatch', dry)
  await refused('person', [{ _objecttype: 'person', _mask: 'nope' }], 400, 'MaskNotFound', dry)
  await refused('work', [work({ creator: { _system_object_id: 123456789 } })], 400, 'LookupNotFound', dry)
  await refused('work', [work({ inventory: 'nope' })], 400, 'ConstraintViolation', dry)
  await refused('work', [payload('work', {})], 400, 'PoolRequired', dry)
  await refused('place', [circle], 400, 'HierarchyCycle', dry)
  await root().post('/user', [{ _basetype: 'user', user: { login: 'nobody' }, _password: 'nobody' }])
  const denied = await museum.svc
    .as('nobody')
    .post('/db/person', [payload('person', { name: 'x' }, { _mask: 'person__standard' })], dry)
  assert.deepEqual([denied.status, denied.body.code], [403, 'ObjectInsufficientRights'])
})

test('objects of pooled types need a pool', async () => {
  await refused('work', [payload('work', { title: { 'en-US': 'no pool' } })], 400, 'PoolRequired')
  await refused('work', [payload('work', { _pool: { pool: { _id: 99999 } } })], 400, 'PoolNotFound')
  const [saved] = await save('work', [
    payload('work', {}, { _pool: { pool: { 'lookup:_id': { reference: 'system:standard' } } } }),
  ])
  assert.equal(saved.work._pool.pool._id, museum.pool)
})

test('DB-006 skip_constraints lets through what the checks refuse: no pool, rows of one _uuid, tags of one group', async () => {
  const groups = await root().post('/tags', [
    { taggroup: { type: 'choice' }, _tags: [{ reference: 'draft' }, { reference: 'public' }] },
  ])
  const tags = groups.body[0]._tags.map((tag: Json) => tag._id)
  const rows = [
    { _uuid: 'same', name: 'x' },
    { _uuid: 'same', name: 'y' },
  ]
  const cases: [object, string][] = [
    [payload('work', { title: { 'en-US': 'Nowhere' } }), 'PoolRequired'],
    [work({ '_nested:work__material': rows }), 'ConstraintViolation'],
    [work({}, { _tags: tags.map((_id: number) => ({ _id })) }), 'ConstraintViolation'],
    [work({ inventory: 'odd' }), 'ConstraintViolation'],
  ]
  for (const [object, code] of cases) await refused('work', [object], 400, code)
  const saved = await save(
    'work',
    cases.map(([object]) => object),
    { skip_constraints: 1 },
  )
  const [nowhere, twice, tagged, unchecked] = await Promise.all(saved.map((object) => read('work', object.work._id)))
  assert.equal(nowhere._pool ?? null, null)
  assert.deepEqual(
    twice.work['_nested:work__material'].map((row: Json) => [row._uuid, row.name]),
    [
      ['same', 'x'],
      ['same', 'y'],
    ],
  )
  assert.deepEqual(tagged._tags.map((tag: Json) => tag._id).sort(), tags.sort())
  assert.equal(unchecked.work.inventory, 'odd')
})

test('hierarchies: parents by _id and lookup, cycles are refused', async () => {
  const [europe] = await save('place', [payload('place', { name: { 'en-US': 'Europe' }, code: 'eu' })])
  const [germany] = await save('place', [
    payload('place', { name: { 'en-US': 'Germany' }, code: 'de', _id_parent: europe.place._id }),
  ])
  const [berlin] = await save('place', [
    payload('place', { name: { 'en-US': 'Berlin' }, 'lookup:_id_parent': { code: 'de' } }),
  ])
  assert.equal(berlin.place._id_parent, germany.place._id)
  const cycle = [
    payload('place', { _id: europe.place._id, _version: 1, name: { 'en-US': 'Europe' }, _id_parent: berlin.place._id }),
  ]
  await refused('place', cycle, 400, 'HierarchyCycle')
  const self = [payload('place', { _id: europe.place._id, _version: 1, _id_parent: europe.place._id })]
  await refused('place', self, 400, 'HierarchyCycle')
  const swap = [
    payload('place', { _id: europe.place._id, _version: 1, _id_parent: germany.place._id }),
    payload('place', { _id: germany.place._id, _version: 1, _id_parent: europe.place._id }),
  ]
  await refused('place', swap, 400, 'HierarchyCycle')
  await save('place', [
    payload('place', { _id: berlin.place._id, _version: 1, name: { 'en-US': 'Berlin' }, _id_parent: null }),
  ])
  assert.equal((await read('place', berlin.place._id)).place._id_parent ?? null, null)
})

test('polyhierarchies: several parents', async () => {
  const [a, b] = await save('topic', [payload('topic', { name: 'Travel' }), payload('topic', { name: 'Leisure' })])
  const [beach] = await save('topic', [
    payload('topic', { name: 'Beach', _parents: [{ _system_object_id: a._system_object_id }, b.topic._id] }),
  ])
  const stored = await read('topic', beach.topic._id)
  assert.deepEqual(
    stored.topic._parents.map((parent: Json) => parent._system_object_id).sort(),
    [a._system_object_id, b._system_object_id].sort(),
  )
})

test('DB-019 DB-020 DB-021 reverse-nested objects missing from the payload go to the trash', async () => {
  await assertDocumented(museum.svc, 'post /db/{objecttype}', ['skip_reverse_nested'], 'objects-saving.md')
  const loans = [{ borrower: 'Prado' }, { borrower: 'Louvre' }].map((loan) => payload('loan', loan))
  const [created] = await save('work', [work({ '_reverse_nested:loan:work': loans })], { format: 'full' })
  const stored = await read('work', created.work._id)
  const [prado, louvre] = stored.work['_reverse_nested:loan:work']
  assert.equal(prado.loan.borrower, 'Prado')

  await save('work', [work({ _id: created.work._id, _version: 1 })], { skip_reverse_nested: 1 })
  assert.equal((await read('work', created.work._id)).work['_reverse_nested:loan:work'].length, 2)

  const shown = { _objecttype: 'work', _mask: 'work__loans_shown', work: { _id: created.work._id, _version: 2 } }
  await save('work', [shown])
  const emptied = { ...shown, work: { ...shown.work, _version: 3, '_reverse_nested:loan:work': [] } }
  await save('work', [emptied])
  assert.equal((await read('work', created.work._id)).work['_reverse_nested:loan:work'].length, 2, 'read-only field')

  const kept = payload('loan', { _id: louvre.loan._id, _version: 1, borrower: 'Louvre' })
  await save('work', [work({ _id: created.work._id, _version: 4, '_reverse_nested:loan:work': [kept] })])
  const left = (await read('work', created.work._id)).work['_reverse_nested:loan:work']
  assert.deepEqual(
    left.map((loan: Json) => [loan.loan._id, loan.loan._version]),
    [[louvre.loan._id, 1]],
  )
  assert.ok((await read('loan', prado.loan._id))._latest_version_deleted_at, 'the one that was missing is deleted')
  assert.equal((await read('loan', louvre.loan._id))._latest_version_deleted_at, undefined)

  const stale = payload('loan', { _id: louvre.loan._id, _version: 9, borrower: 'x' })
  await refused(
    'work',
    [work({ _id: created.work._id, _version: 5, '_reverse_nested:loan:work': [stale] })],
    400,
    'VersionMismatch',
  )
})

test('DB-022 DB-023 bidirectional links are kept in step on both sides, unless that is skipped', async () => {
  await assertDocumented(museum.svc, 'post /db/{objecttype}', ['skip_bidirectional_update'], 'objects-saving.md')
  const [a, b] = await save('person', [payload('person', { name: 'Teacher' }), payload('person', { name: 'Pupil' })])
  const row = { person: link('person', b._system_object_id), active: true, note: 'taught' }
  await save('person', [
    payload('person', { _id: a.person._id, _version: 1, name: 'Teacher', '_nested:person__influence': [row] }),
  ])
  const pupil = await read('person', b.person._id)
  assert.equal(pupil.person._version, 2)
  const [opposite] = pupil.person['_nested:person__influence']
  assert.deepEqual(
    [opposite.person._system_object_id, opposite.active, opposite.note],
    [a._system_object_id, true, 'taught'],
  )
  await save('person', [payload('person', { _id: b.person._id, _version: 2, name: 'Pupil' })])
  assert.equal((await read('person', a.person._id)).person['_nested:person__influence'].length, 0)
  const alone = payload('person', {
    _id: a.person._id,
    _version: 3,
    name: 'Teacher',
    '_nested:person__influence': [row],
  })
  const [linking] = await save('person', [alone], { skip_bidirectional_update: 1 })
  assert.equal(linking.person['_nested:person__influence'][0].person._system_object_id, b._system_object_id)
  const opposite3 = (await read('person', b.person._id)).person
  assert.deepEqual([opposite3['_nested:person__influence'].length, opposite3._version], [0, 3])
})

test('DB-007 DB-030 DB-031 skip_plugins and skip_events are for callers with system.root', async () => {
  await assertDocumented(museum.svc, 'post /db/{objecttype}', ['skip_events'], 'objects-saving.md')
  const people = await root().post('/user', [
    { _basetype: 'user', user: { login: 'editor' }, _password: 'editor' },
    { _basetype: 'user', user: { login: 'boss' }, _password: 'boss', _system_rights: { 'system.root': {} } },
  ])
  assert.equal(people.status, 200, JSON.stringify(people.body))
  for (const param of ['skip_plugins', 'skip_events']) {
    const answer = await museum.svc.as('editor').post('/db/person', [payload('person', { name: 'x' })], { [param]: 1 })
    assert.deepEqual([answer.status, answer.body.code], [403, 'SystemRightRequired'], param)
    assert.equal(answer.body.parameters.right, 'system.root')
  }
  const events = async () =>
    (await museum.svc.db.query<{ n: number }>(`select count(*)::int as n from event where type like 'OBJECT%'`)).rows[0]
      ?.n ?? 0
  const create = async (query: Record<string, number>) => {
    const answer = await museum.svc.as('boss').post('/db/person', [payload('person', { name: 'silent' })], query)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body[0].person._id
  }
  await create({})
  const before = await events()
  const id = await create({ skip_plugins: 1 })
  assert.equal(await events(), before + 1)
  await create({ skip_events: 1 })
  const update = payload('person', { _id: id, _version: 1, name: 'still silent' })
  assert.equal((await museum.svc.as('boss').post('/db/person', [update], { skip_events: 1 })).status, 200)
  assert.equal(await events(), before + 1)
})

test('each written object has its event with the short text', async () => {
  const [created] = await save('person', [payload('person', { name: 'Eventful' })])
  const events = await root().get('/event/list', { system_object_id: created._system_object_id })
  const [entry] = events.body.objects
  assert.equal(entry.event.type, 'OBJECT_INSERT')
  assert.equal(entry.event.info.standard, 'Eventful')
  assert.deepEqual(
    [entry.event.objecttype, entry.event.object_id, entry.event.object_version],
    ['person', created.person._id, 1],
  )
})

test('wrong objecttype, mask and shapes are refused with their place', async () => {
  await refused('nothing', [], 400, 'UnknownObjecttype')
  await refused('person', [{ _objecttype: 'work', _mask: '_all_fields' }], 400, 'InvalidValue')
  await refused('person', [{ _objecttype: 'person', _mask: 'nope' }], 400, 'MaskNotFound')
  const forgotten = await refused('person', [{ _objecttype: 'person', person: {} }], 400, 'MaskNotFound')
  assert.match(forgotten.message, /_mask is missing/)
  await refused('person', {}, 400, 'ServerGeneric')
  await refused('person', [null], 400, 'InvalidValue')
  const error = await refused(
    'person',
    [payload('person', { name: 'x', born: { value: '2021-13' } })],
    400,
    'InvalidValue',
  )
  assert.equal(error.parameters.name, '0.person.born')
})
