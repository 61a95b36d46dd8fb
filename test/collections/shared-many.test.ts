import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onStatement } from '../../src/platform/postgres/statements.ts'
import { toUser } from '../rights/people.ts'
import type { Json } from '../support/client.ts'
import { createNotes, entriesOf, ok, startScene } from './support.ts'

/** More objects than a condition lists: a bit for each id says who is in a collection, where the ids are not far apart. */

test('a search finds what collections of hundreds of objects open, and nothing else', async () => {
  await using it = await startScene()
  const ids = await createNotes(it.root, it.pool, 300)
  await it.svc.drain()
  // Every fifth one is in no list; the first and the last ones are.
  const listed = ids.filter((_, index) => index % 5 !== 2)
  const halves = [listed.slice(0, 120), listed.slice(120)]
  const lists: Json[] = []
  for (const half of halves) {
    const _acl = [{ who: toUser(it.ids.stranger), rights: { bag_read: {}, read: {} } }]
    const made = await it.root.post('/collection', { collection: {}, objects: entriesOf(it.svc, half), _acl })
    lists.push(ok(made).collection)
  }
  let byBits = 0
  using _ = {
    [Symbol.dispose]: onStatement((text) => {
      if (/get_bit\(\$\d+::bytea, \(d\.id - \d+\)::int\)/.test(text)) byBits++
    }),
  }
  let asked = 0
  async function found(): Promise<number[]> {
    // No two searches are alike, so none is answered by what is kept.
    const unseen = { type: 'in', bool: 'must_not', fields: ['_system_object_id'], in: [1_000_000 + asked++] }
    const { count, objects } = ok(
      await it.stranger.post('/search', { objecttypes: ['note'], search: [unseen], limit: 1000, format: 'short' }),
    )
    assert.equal(count, objects.length)
    return objects.map((each: Json) => each._system_object_id).sort((a: number, b: number) => a - b)
  }
  const before = await found()
  assert.deepEqual(before, listed)
  // The numbers of access sets are read beside the first searches.
  while (byBits === 0) assert.deepEqual(await found(), listed)
  ok(await it.root.post(`/collection/remove/${lists[0]?._id}`, entriesOf(it.svc, halves[0]?.slice(0, 20) ?? [])))
  assert.deepEqual(await found(), listed.slice(20))
  ok(await it.root.delete(`/collection/${lists[1]?._id}`))
  assert.deepEqual(await found(), listed.slice(20, 120))
  assert.ok(byBits > 1)
})
