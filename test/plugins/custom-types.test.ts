import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type People, seedPeople } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { install, switched } from './support.ts'

let museum: Museum
let people: People
let root: Client
let plugin: Json

const name = 'custom-data-type-test'
const mapping = {
  conceptName: { type: 'text' },
  conceptURI: { type: 'string' },
  conceptAncestors: { type: 'text' },
  facetTerm: { type: 'text_l10n' },
  rank: { type: 'number' },
  checked: { type: 'boolean' },
  since: { type: 'date' },
  place: { type: 'geo_json' },
  address: { type: 'text_oneline', skipTerms: true },
}
const manifest = (more: object = {}) =>
  JSON.stringify({ plugin: { name }, custom_types: { term: { mapping, ...more } } })

const lion = {
  conceptName: 'Lion of Saint Mark',
  conceptURI: 'http://terms.example/animals/lion',
  conceptAncestors: ['Felids', 'Mammals'],
  facetTerm: { 'en-US': 'Lion', 'de-DE': 'Löwe' },
  rank: 7,
  checked: true,
  since: '1851-05',
  place: { type: 'Point', coordinates: [12.3, 45.4] },
  address: 'zanzibarious quarter',
  _standard: { text: 'Lion (animal)' },
  _fulltext: { text: 'panthera' },
}
const tiger = { conceptName: 'Tiger', rank: 12, facetTerm: { 'en-US': 'Tiger' }, since: '1900' }

let ids: number[]
before(async () => {
  museum = await startMuseum()
  people = await seedPeople(museum.svc)
  root = people.root
  const works = [lion, tiger, null].map((vocabulary) => payload('work', { ...inPool(museum.pool), vocabulary }))
  const saved = await root.post('/db/work', works)
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  ids = saved.body.map((object: Json) => object._system_object_id)
  await museum.svc.drain()
})
after(() => museum[Symbol.asyncDispose]())

const element = (fields: string, more: object): object => ({ fields: [`work.vocabulary.${fields}`], ...more })
async function search(more: object, client = root): Promise<Json> {
  const answer = await client.post('/search', { type: 'object', objecttypes: ['work'], ...more })
  return answer.status === 200 ? answer.body : `${answer.status} ${answer.body.code}`
}
async function found(one: object, client = root): Promise<unknown> {
  const body = await search({ search: [one], sort: [{ field: '_system_object_id' }] }, client)
  return body.objects?.map((object: Json) => ids.indexOf(object._system_object_id)) ?? body
}

test('members of values are searched once a plugin maps them, and objects from before are indexed anew', async () => {
  const byName = element('conceptName', { type: 'match', string: 'saint mark' })
  assert.equal(await found(byName), '400 SearchFieldUnknown')
  plugin = await install(museum.svc, name, { 'manifest.yml': manifest() })
  assert.deepEqual(plugin.unsupported, [])
  await museum.svc.drain()
  const searches: [object, number[]][] = [
    [byName, [0]],
    [element('conceptName', { type: 'in', in: ['Tiger'] }), [1]],
    [element('conceptURI', { type: 'in', in: [lion.conceptURI] }), [0]],
    [element('conceptAncestors', { type: 'in', in: ['Mammals'] }), [0]],
    [element('conceptAncestors', { type: 'match', mode: 'wildcard', string: 'felid*' }), [0]],
    [element('facetTerm', { type: 'match', string: 'löwe' }), [0]],
    [element('facetTerm.de-DE', { type: 'match', string: 'löwe' }), [0]],
    [element('facetTerm.en-US', { type: 'match', string: 'löwe' }), []],
    [element('facetTerm', { type: 'in', in: ['Löwe'] }), [0]],
    [element('rank', { type: 'in', in: [12] }), [1]],
    [{ type: 'range', field: 'work.vocabulary.rank', from: 8 }, [1]],
    [{ type: 'range', field: 'work.vocabulary.since', to: '1899' }, [0]],
    [element('checked', { type: 'in', in: [true] }), [0]],
    [element('address', { type: 'match', string: 'zanzibarious' }), [0]],
    [element('conceptURI', { type: 'in', in: [null] }), [1, 2]],
    // The value as a whole, as before.
    [{ type: 'match', fields: ['work.vocabulary'], string: 'panthera' }, [0]],
  ]
  for (const [one, expected] of searches) assert.deepEqual([one, await found(one)], [one, expected])
  const sorted = await search({ sort: [{ field: 'work.vocabulary.rank', order: 'DESC' }] })
  assert.deepEqual(
    sorted.objects.map((object: Json) => ids.indexOf(object._system_object_id)),
    [1, 0, 2],
  )
})

test('members are counted where the column is, hidden where it is, and complete words unless their type says otherwise', async () => {
  const term = (field: string) => ({ aggregations: { a: { type: 'term', field: `work.vocabulary.${field}` } } })
  const counted = async (field: string): Promise<unknown> => {
    const body = await search({ search: [], ...term(field) })
    return body.aggregations?.a.terms?.map(({ term: one, count }: Json) => `${one} ${count}`).sort() ?? body
  }
  assert.deepEqual(await counted('conceptAncestors'), ['Felids 1', 'Mammals 1'])
  assert.deepEqual(await counted('facetTerm'), ['Lion 1', 'Tiger 1'])
  assert.deepEqual(await counted('rank'), ['12 1', '7 1'])
  assert.equal(await counted('since'), '400 UnsupportedInAggregation')
  // Who sees no mask with the column finds nothing by its members.
  const byName = element('conceptName', { type: 'match', string: 'tiger' })
  assert.deepEqual(await found(byName, people.stranger), [])
  const suggested = async (query: string, field?: string): Promise<string[]> => {
    const fields = field === undefined ? {} : { fields: [`work.vocabulary.${field}`] }
    const { status, body } = await root.post('/suggest', { query, timeout: 60_000, ...fields })
    assert.equal(status, 200, JSON.stringify(body))
    return body.suggestions.tokens.flatMap(({ tokens }: Json) => tokens)
  }
  assert.deepEqual(await suggested('tige'), ['tiger'])
  assert.deepEqual(await suggested('felid', 'conceptAncestors'), ['felids'])
  assert.deepEqual(await suggested('zanzib', 'address'), [])
})

test('a mapping that changes or goes is taken over at once; what is no value of its type is left out', async () => {
  const byRank = element('rank', { type: 'in', in: [12] })
  await switched(museum.svc, plugin.id, false)
  assert.equal(await found(byRank), '400 SearchFieldUnknown')
  await switched(museum.svc, plugin.id, true)
  const odd = {
    ...{ conceptName: [['no'], 5, 'odd'], conceptURI: {}, facetTerm: 'plain', rank: 'x', checked: 1, since: 'soon' },
    place: { type: 'Polygon', coordinates: 'nowhere' },
  }
  const saved = await root.post('/db/work', [payload('work', { ...inPool(museum.pool), vocabulary: odd })])
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  ids.push(saved.body[0]._system_object_id)
  await museum.svc.drain()
  assert.deepEqual(await found(byRank), [1])
  assert.deepEqual(await found(element('conceptName', { type: 'match', string: 'odd' })), [3])
  assert.deepEqual(await found(element('facetTerm', { type: 'match', string: 'plain' })), [3])
  assert.deepEqual(await found(element('since', { type: 'in', in: [null] })), [2, 3])
})
