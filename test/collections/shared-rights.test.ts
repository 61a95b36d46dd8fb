import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { toUser } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { assertInvariants, createCollection, createNotes, entriesOf, ok, type Scene, startScene } from './support.ts'

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
})
