import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../support/client.ts'
import { startService } from '../support/service.ts'
import { commitModel } from './support.ts'

const swap = (one: string, other: string) => (name: string) => (name === one ? other : name === other ? one : name)

test('names that are exchanged in one commit lead to what they name now; ids decide what is what', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, [
    {
      name: 'person',
      in_main_search: true,
      columns: [
        { name: 'name', type: 'string' },
        { name: 'nick', type: 'string' },
      ],
      unique_keys: [{ columns: [{ column_name_hint: 'name' }] }],
    },
    {
      name: 'place',
      in_main_search: true,
      columns: [
        { name: 'name', type: 'string' },
        { name: 'nick', type: 'string' },
      ],
    },
    {
      name: 'work',
      in_main_search: true,
      columns: [
        { name: 'maker', type: 'link', other_table_name_hint: 'person' },
        { name: 'seat', type: 'link', other_table_name_hint: 'place' },
      ],
    },
  ])
  const save = async (type: string, block: object): Promise<Json> => {
    const answer = await root.post(`/db/${type}`, [{ _objecttype: type, _mask: '_all_fields', [type]: block }], {
      await_index: 10,
    })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body[0]
  }
  const ada = await save('person', { name: 'Ada', nick: 'countess' })
  const rome = await save('place', { name: 'Rome', nick: 'eternal' })
  const link = (type: string, object: Json) => ({
    _objecttype: type,
    _mask: '_all_fields',
    [type]: { _id: object[type]._id },
  })
  await save('work', { maker: link('person', ada), seat: link('place', rome) })

  const head = (await root.get('/schema/user/HEAD')).body
  const [tableName, columnName, linkName] = [swap('person', 'place'), swap('name', 'nick'), swap('maker', 'seat')]
  // Names alone are changed: the hints still have the old ones, beside the ids.
  const tables = head.tables.map((table: Json) => ({
    ...table,
    name: tableName(table.name),
    columns: table.columns.map((column: Json) => ({ ...column, name: linkName(columnName(column.name)) })),
  }))
  const masks = (await root.get('/mask/HEAD')).body
  const posted = await root.post('/schema/user/HEAD', { ...head, tables })
  assert.equal(posted.status, 200, JSON.stringify(posted.body))
  const committed = await root.post('/schema/commit', undefined, { confirm: 'yes' })
  assert.equal(committed.status, 200, JSON.stringify(committed.body))
  assert.equal(
    (await root.post('/mask/HEAD', { ...masks, version: (await root.get('/mask/HEAD')).body.version })).status,
    200,
    'masks of before go by ids',
  )
  await svc.drain()

  const read = async (type: string, id: number): Promise<Json> =>
    (await root.get(`/db/${type}/_all_fields/${id}`)).body[0]
  const person = await read('place', ada.person._id)
  assert.deepEqual(
    [person.place.nick, person.place.name, person._system_object_id],
    ['Ada', 'countess', ada._system_object_id],
  )
  const work = await read('work', 1)
  assert.deepEqual(
    [
      work.work.seat._objecttype,
      work.work.seat._system_object_id,
      work.work.maker._objecttype,
      work.work.maker._system_object_id,
    ],
    ['place', ada._system_object_id, 'person', rome._system_object_id],
  )
  const found = async (objecttype: string, field: string, value: string): Promise<number[]> => {
    const answer = await root.post('/search', {
      objecttypes: [objecttype],
      search: [{ type: 'in', fields: [field], in: [value] }],
    })
    return answer.body.objects.map((hit: Json) => hit._system_object_id)
  }
  assert.deepEqual(await found('place', 'place.nick', 'Ada'), [ada._system_object_id])
  assert.deepEqual(await found('place', 'place.name', 'Ada'), [])
  assert.deepEqual(await found('person', 'person.nick', 'Rome'), [rome._system_object_id])
  // The unique key went with its column.
  const twice = await root.post('/db/place', [{ _objecttype: 'place', _mask: '_all_fields', place: { nick: 'Ada' } }])
  assert.equal(twice.body.code, 'DatabaseUniqueKeyViolation')
  await save('place', { name: 'countess', nick: 'other' })
  const event = (await root.get('/event/list', { type: 'OBJECT_INSERT', system_object_id: ada._system_object_id })).body
    .objects[0]
  assert.equal(event.event.objecttype, 'person', 'the log has the name of then')
})

test('references that are exchanged in one request lead to what they name now', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const pool = (reference: string, more: object = {}) => ({
    _basetype: 'pool',
    pool: { reference, name: { 'en-US': reference }, ...more },
  })
  const created = await root.post('/pool', [pool('a', { _id_parent: 1 }), pool('b', { _id_parent: 1 })])
  assert.equal(created.status, 200, JSON.stringify(created.body))
  const [a, b] = created.body.map((one: Json) => one.pool)
  const exchanged = await root.post('/pool', [
    pool('b', { _id: a._id, _version: a._version }),
    pool('a', { _id: b._id, _version: b._version }),
    pool('c', { 'lookup:_id_parent': { reference: 'b' } }),
  ])
  assert.equal(exchanged.status, 200, JSON.stringify(exchanged.body))
  assert.equal(exchanged.body[2].pool._id_parent, a._id)
  assert.deepEqual(
    exchanged.body.slice(0, 2).map((one: Json) => [one.pool._id, one.pool.reference]),
    [
      [a._id, 'b'],
      [b._id, 'a'],
    ],
  )

  const tag = (reference: string, id?: object) => ({
    tag: { reference, shortname: `s${reference}`, displayname: { 'en-US': reference }, ...id },
  })
  const group = { taggroup: { displayname: { 'en-US': 'g' }, reference: 'g' } }
  const tags = await root.post('/tags', [{ ...group, _tags: [tag('x'), tag('y')] }])
  assert.equal(tags.status, 200, JSON.stringify(tags.body))
  const [{ taggroup, _tags: stored }] = tags.body
  const other = await root.post('/tags', [
    {
      taggroup: { ...group.taggroup, _id: taggroup._id, _version: taggroup._version },
      _tags: stored.map(({ _id, _version, reference }: Json) => tag(swap('x', 'y')(reference), { _id, _version })),
    },
  ])
  assert.equal(other.status, 200, JSON.stringify(other.body))
  assert.deepEqual(
    other.body[0]._tags.map((one: Json) => [one._id, one.reference, one.shortname]),
    [
      [stored[0]._id, 'y', 'sy'],
      [stored[1]._id, 'x', 'sx'],
    ],
  )
})
