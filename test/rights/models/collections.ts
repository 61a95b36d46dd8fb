import assert from 'node:assert/strict'
import type { Client, Json } from '../../support/client.ts'
import type { Asking } from './reads.ts'

/**
 * The list of a collection that everybody sees, with all there is: who may not read an object is told its id alone. And a
 * list of the caller's own, into which it may only put what it reads.
 */
export async function askCollections(asking: Asking, root: Client): Promise<void> {
  const { client, world, names, knowledge, pick, who, heard } = asking
  const globalId = (index: number) => ({ _global_object_id: `${names.ids[index]}@test` })
  const live = world.things.filter(({ trashed }) => !trashed)
  const toAll = { who: { group: { 'lookup:_id': { reference: ':all' } } }, rights: { bag_read: {} } }
  const shared = await root.post('/collection', {
    collection: {},
    objects: live.map(({ index }) => globalId(index)),
    _acl: [toAll],
  })
  assert.equal(shared.status, 200, JSON.stringify(shared.body))
  const { _id } = shared.body.collection
  const { body } = await client.get(`/collection/objects/${_id}`, { limit: 10_000 })
  heard(body, `${who} reads a list`)
  assert.deepEqual(
    body.objects,
    live.map(({ index }) => (knowledge.sees(index) ? globalId(index) : { ...globalId(index), _not_allowed: true })),
    `${who} reads a list`,
  )
  await root.delete(`/collection/${_id}`)
  for (const { index, type, trashed } of [pick(world.things), pick(world.things)]) {
    const named = pick<Json>([
      globalId(index),
      { 'lookup:_global_object_id': { _objecttype: type.name, _system_object_id: names.ids[index] } },
    ])
    const what = `${who} collects ${type.name} ${names.ids[index]}`
    const own = await client.post('/collection', { collection: {}, objects: [named] })
    heard(own.body, what)
    if (trashed || !knowledge.sees(index)) assert.deepEqual([own.status, own.body.code], [400, 'LookupNotFound'], what)
    else assert.ok([200, 403].includes(own.status), `${what} ${JSON.stringify(own.body)}`)
    if (own.status === 200) await client.delete(`/collection/${own.body.collection._id}`)
  }
}
