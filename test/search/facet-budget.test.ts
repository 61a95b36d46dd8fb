import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { onStatement } from '../../src/platform/postgres/statements.ts'
import { createFacetSetCache, SetsGone } from '../../src/search/postgres/query/facets/facet-sets.ts'
import { type FacetColumn, facetCounts } from '../../src/search/postgres/query/facets/facets.ts'
import { createPostgresIndex } from '../../src/search/postgres/service.ts'
import type { Client, Json } from '../support/client.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { attachService, type TestService } from '../support/service.ts'

/** Facets with more values than memory has room for are counted in the database, and answer the same. */

const works = 1200
/** Bytes: half of it holds the values of most facets here, and neither the inventory numbers nor the titles. */
const little = 160_000

let museum: Museum
let small: TestService
before(async () => {
  museum = await startMuseum()
  small = await attachService(museum.svc.dsn, {
    searchIndex: (options) => createPostgresIndex({ ...options, memory: { ...options.memory, facetSets: little } }),
  })
  const root = museum.svc.as('root')
  const save = async (type: string, blocks: object[]): Promise<number[]> => {
    const body = blocks.map((block) => payload(type, block))
    const answer = await root.post(`/db/${type}`, body, { await_index: 30 })
    assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500))
    return answer.body.map((object: Json) => object._system_object_id)
  }
  const persons = await save(
    'person',
    Array.from({ length: 1000 }, (_, number) => ({ name: `Painter ${number % 10}${number}` })),
  )
  const [top] = await save('place', [{ name: { 'en-US': 'Top' }, code: 'TOP' }])
  const places = await save(
    'place',
    Array.from({ length: 20 }, (_, number) => ({
      name: { 'en-US': `Place ${number}` },
      code: `P${number}`,
      'lookup:_id_parent': { _system_object_id: top },
    })),
  )
  await save(
    'work',
    Array.from({ length: works }, (_, number) => ({
      ...inPool(museum.pool),
      inventory: `N${number}`,
      title: { 'en-US': `${number % 3 === 0 ? 'dawn' : 'river'} ${number % 700}` },
      width: number % 50,
      signed: number % 2 === 0,
      creator: link('person', persons[(number * 7) % persons.length] as number),
      place: link('place', places[number % places.length] as number),
      // The same values in several sets: they count once for each work, whichever sets are in memory.
      '_nested:work__material': [`oil ${number % 400}`, `canvas ${number % 7}`, `chalk ${(number * 3) % 500}`].map(
        (name) => ({
          name,
        }),
      ),
    })),
  )
})
after(async () => {
  await small[Symbol.asyncDispose]()
  await museum[Symbol.asyncDispose]()
})

async function aggregate(client: Client, aggregation: object, request: object = {}): Promise<Json> {
  const answer = await client.post('/search', {
    objecttypes: ['work'],
    limit: 0,
    aggregations: { it: aggregation },
    ...request,
  })
  assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500))
  return answer.body.aggregations.it
}

/** What was counted in the database meanwhile. */
async function storedDuring<T>(work: () => Promise<T>): Promise<{ result: T; stored: number; loaded: number }> {
  let [stored, loaded] = [0, 0]
  const stop = onStatement((text) => {
    if (text.includes('with counted as materialized')) stored++
    if (text.startsWith("select id, array_to_string(ids, ',') as ids, labels from search_facet_set")) loaded++
  })
  try {
    return { result: await work(), stored, loaded }
  } finally {
    stop()
  }
}

describe('with little memory', { skip: process.env.TEST_SEARCH_INDEX !== undefined }, () => {
  const large = ['work.inventory', 'work._nested:work__material.name', 'work.title']
  const fields: [string, object][] = [
    ...large.map((field): [string, object] => [field, { type: 'term', field }]),
    ['work.width', { type: 'term', field: 'work.width' }],
    ['work.creator', { type: 'linked_object', field: 'work.creator' }],
    ['work.place', { type: 'linked_object', field: 'work.place' }],
  ]
  const shapes = [
    {},
    { limit: 1000 },
    { limit: 7, offset: 300 },
    { sort: 'term', limit: 20 },
    { sort: 'term', order: 'desc', limit: 20, offset: 5 },
    { order: 'asc', limit: 15 },
    { limit: 0 },
  ]
  const included = [{ include: '.*7' }, { include: '.*7', sort: 'term', limit: 200 }]
  const matching = { search: [{ type: 'match', fields: ['work.title'], mode: 'fulltext', string: 'dawn' }] }

  test('each facet answers what it does with much, in every order and part', async () => {
    for (const [field, aggregation] of fields) {
      for (const shape of [...shapes, ...included]) {
        for (const request of [{}, matching]) {
          const asked = { ...aggregation, ...shape }
          const expected = await aggregate(museum.svc.as('root'), asked, request)
          assert.deepEqual(
            await aggregate(small.as('root'), asked, request),
            expected,
            `${field} ${JSON.stringify(shape)}`,
          )
        }
      }
      assert.ok((await aggregate(small.as('root'), aggregation)).count > 1, field)
    }
    const below = { type: 'linked_object', field: 'work.place', filter_parent: 0 }
    assert.deepEqual(await aggregate(small.as('root'), below), await aggregate(museum.svc.as('root'), below))
  })

  test('what has no room is counted in the database, and is not loaded in vain the next time', async () => {
    // In other words, so that no result is taken from memory.
    const anew = (number: number) => ({
      search: [{ type: 'in', bool: 'must_not', fields: ['work.inventory'], in: [`Z${number}`] }],
    })
    const facet = (field: string) => ({ type: 'term', field })
    await aggregate(small.as('root'), facet('work.inventory'), anew(1))
    const again = await storedDuring(() => aggregate(small.as('root'), facet('work.inventory'), anew(2)))
    assert.equal(again.result.count, works)
    assert.deepEqual([again.stored, again.loaded], [1, 0])
    await aggregate(small.as('root'), facet('work.width'), anew(3))
    const fits = await storedDuring(() => aggregate(small.as('root'), facet('work.width'), anew(4)))
    assert.deepEqual([fits.result.count, fits.stored, fits.loaded], [50, 0, 0])
    const plenty = await storedDuring(() => aggregate(museum.svc.as('root'), facet('work.inventory'), anew(5)))
    assert.equal(plenty.stored, 0)
  })

  test('few matches of a large facet are counted in memory', async () => {
    const few = { search: [{ type: 'in', bool: 'must', fields: ['work.inventory'], in: ['N1', 'N2'] }] }
    const asked = { type: 'term', field: 'work.inventory' }
    const { result, stored } = await storedDuring(() => aggregate(small.as('root'), asked, few))
    assert.deepEqual([result.count, stored], [2, 0])
  })

  test('sets that are gone are counted once more, and then have no values', async () => {
    const cache = createFacetSetCache({ mostBytes: 0, onForget: () => {} })
    const column = { place: 1 } as FacetColumn
    const counted = { values: '2000000000,2000000001', counts: '3,4' }
    await assert.rejects(facetCounts(museum.svc.db, cache, column, counted), SetsGone)
    assert.deepEqual([...(await facetCounts(museum.svc.db, cache, column, counted)).counts], [])
  })
})
