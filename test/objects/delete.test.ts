import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

let museum: Museum
before(async () => {
  museum = await startMuseum()
})
after(() => museum[Symbol.asyncDispose]())

const root = () => museum.svc.as('root')

async function save(objecttype: string, objects: object[]): Promise<Json[]> {
  const answer = await root().post(`/db/${objecttype}`, objects)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

async function remove(
  objecttype: string,
  triples: unknown,
  query: Record<string, string | number> = {},
): Promise<Json> {
  const answer = await root().delete(`/db/${objecttype}`, triples, query)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

const latest = async (objecttype: string, id: number) =>
  (await root().get(`/db/${objecttype}/_all_fields/${id}`)).body[0]
const work = (block: object) => payload('work', { ...inPool(museum.pool), ...block })

async function eventsOf(systemObjectId: number): Promise<string[]> {
  const list = await root().get('/event/list', { system_object_id: systemObjectId, sort: '_id.ASC' })
  return list.body.objects.map((entry: Json) => entry.event.type)
}

test('without delete_policy the answer is the choice, with links or without, and nothing is deleted', async () => {
  const [linked, alone] = await save('person', [
    payload('person', { name: 'Linked' }),
    payload('person', { name: 'x' }),
  ])
  const [painting] = await save('work', [work({ creator: link('person', linked._system_object_id) })])
  for (const { person } of [linked, alone]) {
    const answer = await root().delete('/db/person', [[person._id, 1, null]])
    assert.equal(answer.status, 202)
    assert.deepEqual(
      answer.body.tasks[0].form.map((field: Json) => [
        field.name,
        field.options.map((option: Json) => option.value).sort(),
      ]),
      [['delete_policy', ['create_collection', 'remove', 'setnull']]],
    )
    const stored = await latest('person', person._id)
    assert.deepEqual([stored.person._version, stored._latest_version_deleted_at], [1, undefined])
  }
  assert.equal((await latest('work', painting.work._id)).work.creator._system_object_id, linked._system_object_id)
})

test('DB-032 the body is an array of triples: id, version, comment or null', async () => {
  const [one, two] = await save('person', [payload('person', { name: 'One' }), payload('person', { name: 'Two' })])
  await save('person', [payload('person', { _id: two.person._id, _version: 1, name: 'Two again' })])
  const triples = [
    [one.person._id, 1, 'no longer needed'],
    [two.person._id, 2, null],
  ]
  const removed = await remove('person', triples, { delete_policy: 'setnull' })
  assert.deepEqual(removed.removed.sort(), [one.person._id, two.person._id].sort())
  const said = async (object: Json) => {
    const [change] = (await latest('person', object.person._id))._changelog
    return [change.version, change.operation, change.comment ?? null]
  }
  assert.deepEqual(await said(one), [2, 'DELETE', 'no longer needed'])
  assert.deepEqual(await said(two), [3, 'DELETE', null])
})

test('DB-033 DB-039 setnull clears the links, remove takes the linking objects along', async () => {
  const [one, two] = await save('person', [payload('person', { name: 'One' }), payload('person', { name: 'Two' })])
  const [painting, drawing] = await save('work', [
    work({ creator: link('person', one._system_object_id) }),
    work({ creator: link('person', two._system_object_id) }),
  ])
  const cleared = await remove('person', [[one.person._id, 1, 'gone']], { delete_policy: 'setnull' })
  assert.deepEqual(cleared, {
    policy: 'setnull',
    removed: [one.person._id],
    setnull: [painting.work._id],
    create_collection: 0,
  })
  const after = await latest('work', painting.work._id)
  assert.equal(after.work.creator ?? null, null)
  assert.deepEqual([after.work._version, after._latest_version_deleted_at], [2, undefined])
  const removed = await remove('person', [[two.person._id, 1, null]], { delete_policy: 'remove' })
  assert.deepEqual(
    { ...removed, removed: removed.removed.sort() },
    { policy: 'remove', removed: [two.person._id, drawing.work._id].sort(), setnull: [], create_collection: 0 },
  )
  assert.deepEqual(await eventsOf(drawing._system_object_id), ['OBJECT_INSERT', 'OBJECT_DELETE'])
  assert.ok((await latest('work', drawing.work._id))._latest_version_deleted_at)
  assert.ok((await latest('person', two.person._id))._latest_version_deleted_at)
})

test('TRASH-001 DELETE moves a stored object to the trash once the policy is known, and logs it', async () => {
  const [person] = await save('person', [payload('person', { name: 'Goes' })])
  const id = person.person._id
  const listed = async () =>
    (await root().get('/db/person/_all_fields/list')).body.some((object: Json) => object.person._id === id)
  const triples = [[id, 1, 'why']]
  assert.equal((await root().delete('/db/person', triples)).status, 202)
  assert.deepEqual([await listed(), await eventsOf(person._system_object_id)], [true, ['OBJECT_INSERT']])
  await remove('person', triples, { delete_policy: 'remove' })
  assert.deepEqual(
    [await listed(), await eventsOf(person._system_object_id)],
    [false, ['OBJECT_INSERT', 'OBJECT_DELETE']],
  )
  const trashed = await latest('person', id)
  assert.ok(trashed._latest_version_deleted_at)
  assert.deepEqual([trashed.person.name, trashed.person._version], ['Goes', 2], 'it is kept with its content')
  const again = await root().delete('/db/person', [[id, 2, null]], { delete_policy: 'remove' })
  assert.deepEqual([again.status, again.body.code], [404, 'ObjectNotFound'])
})

test('DB-035 TRASH-002 TRASH-003 undelete and purge; the ids of a purged object are never used again', async () => {
  const [person] = await save('person', [payload('person', { name: 'Twice', reference: 'twice' })])
  const id = person.person._id
  const early = await root().delete('/db/person', [[id, 1, null]], { delete_policy: 'purge' })
  assert.deepEqual([early.status, early.body.code], [400, 'NotInTrash'])
  await remove('person', [[id, 1, null]], { delete_policy: 'setnull' })
  await save('person', [payload('person', { name: 'Other', reference: 'twice' })])
  const taken = await root().delete('/db/person', [[id, 2, null]], { delete_policy: 'undelete' })
  assert.deepEqual([taken.status, taken.body.code], [400, 'DatabaseUniqueKeyViolation'])

  const [other] = await save('person', [payload('person', { name: 'Third', reference: 'third' })])
  await remove('person', [[other.person._id, 1, null]], { delete_policy: 'setnull' })
  await remove('person', [[other.person._id, 2, null]], { delete_policy: 'undelete' })
  const restored = await latest('person', other.person._id)
  assert.deepEqual([restored.person._version, restored._latest_version_deleted_at ?? null], [3, null])
  assert.deepEqual(await eventsOf(other._system_object_id), ['OBJECT_INSERT', 'OBJECT_DELETE', 'OBJECT_UNDELETE'])
  await save('person', [payload('person', { _id: other.person._id, _version: 3, name: 'Third, changed' })])

  await remove('person', [[id, 2, null]], { delete_policy: 'purge' })
  for (const query of [{}, { all_versions: 1 }, { version: 1 }]) {
    assert.deepEqual((await root().get(`/db/person/_all_fields/${id}`, query)).body, [])
  }
  const back = await root().delete('/db/person', [[id, 2, null]], { delete_policy: 'undelete' })
  assert.deepEqual([back.status, back.body.code], [404, 'ObjectNotFound'])
  assert.equal((await eventsOf(person._system_object_id)).at(-1), 'OBJECT_PURGE')
  for (const ids of [{ _id: id }, {}]) {
    const rest = '_id' in ids ? {} : { _system_object_id: person._system_object_id }
    const again = await root().post('/db/person', [payload('person', { name: 'x', ...ids }, rest)])
    assert.deepEqual([again.status, again.body.code], [400, 'DatabaseUniqueKeyViolation'])
  }
})

test('reverse-nested objects and on_delete links follow their target', async () => {
  const [place] = await save('place', [payload('place', { name: { 'en-US': 'Here' } })])
  const [created] = await save('work', [
    work({
      place: link('place', place._system_object_id),
      '_reverse_nested:loan:work': [payload('loan', { borrower: 'Prado' })],
    }),
  ])
  const answer = await remove('place', [[place.place._id, 1, null]], { delete_policy: 'remove' })
  assert.deepEqual(
    [answer.removed, answer.setnull],
    [[place.place._id], [created.work._id]],
    'on_delete setnull wins over the policy',
  )
  const loans = (await latest('work', created.work._id)).work['_reverse_nested:loan:work']
  const gone = await remove('work', [[created.work._id, 2, null]], { delete_policy: 'setnull' })
  assert.deepEqual(gone.removed.sort(), [created.work._id, loans[0].loan._id].sort())
})

test('children of a deleted parent are moved to the top or go with it', async () => {
  const [top] = await save('place', [payload('place', { name: { 'en-US': 'Top' } })])
  const [child] = await save('place', [payload('place', { name: { 'en-US': 'Child' }, _id_parent: top.place._id })])
  const answer = await remove('place', [[top.place._id, 1, null]], { delete_policy: 'setnull' })
  assert.deepEqual(answer.setnull, [child.place._id])
  assert.equal((await latest('place', child.place._id)).place._id_parent ?? null, null)
})

test('wrong triples, versions and policies are refused', async () => {
  const [person] = await save('person', [payload('person', { name: 'Stays' })])
  const id = person.person._id
  const cases: [unknown, string | undefined, number, string][] = [
    [[[id, 2, null]], 'setnull', 400, 'VersionMismatch'],
    [[[id]], 'setnull', 400, 'InvalidValue'],
    [[[id, 1, null, 4]], 'setnull', 400, 'InvalidValue'],
    [[[`${id}`, 1, null]], 'setnull', 400, 'InvalidValue'],
    [[[id, 1, 7]], 'setnull', 400, 'InvalidValue'],
    [
      [
        [id, 1, null],
        [id, 1, null],
      ],
      'setnull',
      400,
      'InvalidValue',
    ],
    [[[987654, 1, null]], 'setnull', 404, 'ObjectNotFound'],
    [[[id, 1, null]], 'undelete', 400, 'NotInTrash'],
    [[[id, 1, null]], 'explode', 400, 'ServerGeneric'],
    [{}, 'setnull', 400, 'ServerGeneric'],
  ]
  for (const [body, policy, status, code] of cases) {
    const answer = await root().delete('/db/person', body, policy === undefined ? {} : { delete_policy: policy })
    assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify([body, policy, answer.body]))
  }
  assert.equal((await latest('person', id)).person._version, 1)
})
