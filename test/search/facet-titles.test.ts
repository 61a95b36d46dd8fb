import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onStatement } from '../../src/platform/postgres/statements.ts'
import type { Json } from '../support/client.ts'
import { payload } from '../support/seed/museum.ts'
import { startScene } from './support.ts'

test('a facet reads the titles of its values when they have changed, and else finds them in memory', async () => {
  await using scene = await startScene()
  const facet = async (string: string): Promise<Json> => {
    const { status, body } = await scene.search({
      objecttypes: ['work'],
      search: [{ type: 'text', string }],
      limit: 0,
      aggregations: { place: { type: 'linked_object', field: 'work.place' } },
    })
    assert.equal(status, 200, JSON.stringify(body))
    return body.aggregations.place.linked_objects
  }
  const titles = (list: Json): string[] =>
    list.map((entry: Json) => entry._linked_object._standard['1'].text['en-US']).sort()
  const read: string[] = []
  const end = onStatement((text) => {
    if (/\bstandard\b/.test(text)) read.push(text)
  })
  try {
    assert.deepEqual(titles(await facet('westminster')), ['England', 'Europe', 'London'])
    assert.ok(read.length > 0)
    read.length = 0
    const [first] = await facet('bridge')
    assert.deepEqual(read, [])
    assert.deepEqual(titles(await facet('dawn')), ['England', 'Europe', 'London'])
    assert.deepEqual(read, [])
    assert.equal(first._path.length, 1)
  } finally {
    end()
  }
  const id = scene.ids.england
  const stored = (await scene.search({ search: [{ type: 'in', fields: ['_system_object_id'], in: [id] }] })).body
    .objects[0]
  const block = { ...stored.place, _version: stored.place._version, name: { 'en-US': 'Albion' } }
  const { status, body } = await scene.svc.as('root').post('/db/place', [payload('place', block)])
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual(titles(await facet('bridge')), ['Albion', 'Europe', 'London'])
})
