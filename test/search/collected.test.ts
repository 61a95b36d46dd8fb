import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createCollection, createNotes, entriesOf, ok, type Scene, startScene } from '../collections/support.ts'
import { toUser, wireGrant } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'

let it: Scene
let notes: number[]
before(async () => {
  it = await startScene()
  notes = await createNotes(it.root, it.pool, 4)
  const link = {
    _objecttype: 'link',
    _mask: 'link__standard',
    link: { text: 'one', note: { _objecttype: 'note', _system_object_id: notes[0] } },
  }
  ok(await it.root.post('/db/link', [link]))
  await it.svc.drain()
})
after(() => it[Symbol.asyncDispose]())

async function found(client: Client, ...search: object[]): Promise<string[]> {
  const { objects } = ok(
    await client.post('/search', { objecttypes: ['note'], search, sort: [{ field: 'note.code' }] }),
  )
  return objects.map((object: Json) => object.note.code)
}

const within = (...list: unknown[]) => ({ type: 'in', fields: ['_collections._id'], in: list })

test('objects are found, and counted, by the collections that the caller may see', async () => {
  const own = await createCollection(it.reader)
  const shared = await createCollection(it.reader, {}, { _acl: [wireGrant(toUser(it.ids.editor), 'bag_read')] })
  const push = async (id: number, list: number[]) =>
    ok(await it.reader.post(`/collection/push/${id}`, { objects: entriesOf(it.svc, list) }))
  await push(own._id, notes.slice(0, 2))
  await push(shared._id, notes.slice(1, 3))

  assert.deepEqual(await found(it.reader, within(own._id)), ['n0', 'n1'])
  assert.deepEqual(await found(it.reader, within(own._id, shared._id)), ['n0', 'n1', 'n2'])
  assert.deepEqual(await found(it.reader, within(null)), ['n3'])
  assert.deepEqual(await found(it.reader, within(null, shared._id)), ['n1', 'n2', 'n3'])
  assert.deepEqual(await found(it.reader, { ...within(own._id), bool: 'must_not' }), ['n2', 'n3'])
  const either = [
    { ...within(own._id), bool: 'should' },
    { type: 'in', fields: ['note.code'], in: ['n3'], bool: 'should' },
  ]
  assert.deepEqual(await found(it.reader, ...either), ['n0', 'n1', 'n3'])

  assert.deepEqual(await found(it.editor, within(own._id)), [], 'of others only what is shared')
  assert.deepEqual(await found(it.editor, within(shared._id)), ['n1', 'n2'])
  assert.deepEqual(await found(it.editor, within(null)), ['n0', 'n3'])
  assert.deepEqual(await found(it.root, within(own._id)), ['n0', 'n1'])

  const counts = async (client: Client) => {
    const aggregations = { lists: { type: 'term', field: '_collections._id', sort: 'term' } }
    const { aggregations: answer } = ok(await client.post('/search', { objecttypes: ['note'], limit: 0, aggregations }))
    return Object.fromEntries(answer.lists.terms.map(({ term, count }: Json) => [term, count]))
  }
  assert.deepEqual(await counts(it.reader), { [own._id]: 2, [shared._id]: 2 })
  assert.deepEqual(await counts(it.editor), { [shared._id]: 2 })

  await push(own._id, notes.slice(3))
  assert.deepEqual(await found(it.reader, within(own._id)), ['n0', 'n1', 'n3'], 'nothing that was found before is kept')
  assert.deepEqual(await counts(it.reader), { [own._id]: 3, [shared._id]: 2 })

  const linked = { type: 'in', fields: ['link.note.note._collections._id'], in: [own._id] }
  const count = async (client: Client) =>
    ok(await client.post('/search', { objecttypes: ['link'], search: [linked] })).count
  assert.equal(await count(it.root), 1)
  const wrong = await it.root.post('/search', { sort: [{ field: '_collections._id' }] })
  assert.equal(wrong.body.code, 'SearchFieldNotAllowed')
})
