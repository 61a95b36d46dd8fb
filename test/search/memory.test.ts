// alone: it measures caches that all services of its process share
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cacheSizes } from '../../src/platform/memory/byte-cache.ts'
import { payload } from '../support/seed/museum.ts'
import { startScene } from './support.ts'

/** What searches leave in memory, when they are made to leave as much as possible. */

const sizeOf = (name: string) => cacheSizes().get(name) ?? { bytes: 0, entries: 0 }

test('cached results do not grow with what was asked: neither long texts nor a large trash stay in memory', async () => {
  await using scene = await startScene()
  const root = scene.svc.as('root')
  const people = Array.from({ length: 400 }, (_, index) => payload('person', { name: `Gone ${index}` }))
  const saved = await root.post('/db/person', people, { format: 'short' })
  assert.equal(saved.status, 200)
  const triples = saved.body.map((object: { person: { _id: number; _version: number } }) => [
    object.person._id,
    object.person._version,
    null,
  ])
  assert.equal((await root.delete('/db/person', triples, { delete_policy: 'remove' })).status, 200)
  await scene.svc.drain()
  const before = sizeOf('search_results')
  for (let index = 0; index < 60; index++) {
    const string = `bridge${index} ${'word '.repeat(1800)}`
    const answer = await scene.search({
      search: [{ type: 'text', string }],
      include_deleted: index % 2 === 0,
      limit: 1,
    })
    assert.equal(answer.status, 200)
  }
  const after = sizeOf('search_results')
  const entries = after.entries - before.entries
  assert.ok(entries >= 60, `${entries} results are kept`)
  assert.ok((after.bytes - before.bytes) / entries < 2000, `${after.bytes - before.bytes} bytes for ${entries} results`)
})

test('every cache of the service tells its size', async () => {
  await using scene = await startScene()
  const address = `/db/work/_all_fields/system_object_id/${scene.ids.bridge}`
  // What is read once is not kept.
  for (const _ of ['counted', 'kept'])
    assert.equal((await scene.svc.as('root').get(address, { format: 'standard' })).status, 200)
  await scene.search({ aggregations: { a: { type: 'linked_object', field: 'work.creator' } } })
  for (const name of [
    'answers',
    'caller_rights',
    'facet_sets',
    'object_heads',
    'object_ids',
    'object_statements',
    'objects',
    'search_results',
    'sessions',
    'user_names',
  ]) {
    assert.ok(sizeOf(name).entries > 0 && sizeOf(name).bytes > 0, name)
  }
})
