import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { RE2JS } from 're2js'
import type { Json } from '../support/client.ts'
import { type SearchScene, startScene, text } from './support.ts'

let scene: SearchScene
before(async () => {
  scene = await startScene()
})
after(() => scene[Symbol.asyncDispose]())

async function aggregate(aggregation: object, request: object = {}): Promise<Json> {
  const answer = await scene.search({ objecttypes: ['work'], limit: 0, aggregations: { it: aggregation }, ...request })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body.aggregations.it
}

const terms = async (field: string, more: object = {}, request: object = {}): Promise<[string, number][]> =>
  (await aggregate({ type: 'term', field, ...more }, request)).terms.map((entry: Json) => [entry.term, entry.count])

describe('term', () => {
  test('values with the number of matches, most frequent first', async () => {
    assert.deepEqual(await terms('work._nested:work__material.name'), [
      ['paper', 2],
      ['canvas', 1],
      ['oil', 1],
      ['watercolour', 1],
    ])
    assert.deepEqual(await terms('work.signed'), [
      ['false', 3],
      ['true', 2],
    ])
    assert.deepEqual(await terms('work.made'), [
      ['1794', 1],
      ['1801-05', 1],
      ['1803', 1],
      ['1900-12-31', 1],
    ])
    assert.deepEqual(await terms('work.width', { sort: 'term' }), [
      ['7', 1],
      ['20', 1],
      ['100', 1],
    ])
    assert.deepEqual(await terms('work.inventory', { sort: 'term', order: 'desc', limit: 2 }), [
      ['X1', 1],
      ['N100', 1],
    ])
    assert.deepEqual(await terms('_objecttype', {}, { objecttypes: [] }), [
      ['work', 5],
      ['person', 3],
      ['place', 3],
      ['topic', 3],
    ])
    assert.deepEqual(await terms('_objecttype', {}, { objecttypes: [], search: [text('blake')] }), [
      ['person', 1],
      ['work', 1],
    ])
  })

  test('limit, offset, order and include', async () => {
    const field = 'work._nested:work__material.name'
    assert.deepEqual(await terms(field, { limit: 1 }), [['paper', 2]])
    assert.deepEqual(await terms(field, { limit: 2, offset: 1 }), [
      ['canvas', 1],
      ['oil', 1],
    ])
    assert.deepEqual(await terms(field, { sort: 'term', order: 'desc' }).then((all) => all.map(([term]) => term)), [
      'watercolour',
      'paper',
      'oil',
      'canvas',
    ])
    assert.deepEqual(await terms(field, { include: '.*a.*' }).then((all) => all.map(([term]) => term)), [
      'paper',
      'canvas',
      'watercolour',
    ])
    assert.deepEqual(await terms(field, { include: 'pape' }), [])
    const { count } = await aggregate({ type: 'term', field, limit: 1 })
    assert.equal(count, 4)
  })

  test('only matches count', async () => {
    assert.deepEqual(await terms('work._nested:work__material.name', {}, { search: [text('tyger')] }), [['paper', 1]])
    assert.deepEqual(await terms('work._nested:work__material.name', {}, { search: [text('nothing')] }), [])
    assert.deepEqual(await terms('work.title', {}, { search: [text('tyger')] }), [['The Tyger', 1]])
  })
})

describe('linked_object', () => {
  const linked = async (field: string, more: object = {}): Promise<[unknown, number, unknown[]][]> =>
    (await aggregate({ type: 'linked_object', field, ...more })).linked_objects.map((entry: Json) => [
      entry._linked_object._standard?.['1'].text['en-US'],
      entry.count,
      entry._path.map((step: Json) => step._system_object_id),
    ])

  test('objects that are linked to, with all above them', async () => {
    const { europe, england, london, turner, blake, baer } = scene.ids
    assert.deepEqual(await linked('work.place'), [
      ['Europe', 2, [europe]],
      ['England', 2, [europe, england]],
      ['London', 1, [europe, england, london]],
    ])
    assert.deepEqual(await linked('work.creator'), [
      ['Turner, Joseph Mallord William', 2, [turner]],
      ['Blake, William', 1, [blake]],
      ['Bär, Ägidius', 1, [baer]],
    ])
    assert.deepEqual(
      await linked('work._nested:work__topic.topic', { sort: 'term' }).then((all) =>
        all.map(([name, count]) => [name, count]),
      ),
      [
        ['nature', 2],
        ['people', 2],
        ['swimmer', 1],
      ],
    )
  })

  test('filter_parent shows one level', async () => {
    assert.deepEqual(await linked('work.place', { filter_parent: 0 }).then((all) => all.map(([name]) => name)), [
      'Europe',
    ])
    assert.deepEqual(
      await linked('work.place', { filter_parent: scene.ids.england }).then((all) => all.map(([name]) => name)),
      ['London'],
    )
  })

  test('language and include work on the texts', async () => {
    assert.deepEqual(await linked('work.place', { include: 'Eu.*' }).then((all) => all.map(([name]) => name)), [
      'Europe',
    ])
    assert.deepEqual(
      await linked('work.place', { include: 'Euro.a', language: 'de-DE' }).then((all) => all.map(([name]) => name)),
      ['Europe'],
    )
  })

  test('pools', async () => {
    const { linked_objects } = await aggregate({ type: 'linked_object', objecttype: 'pool' })
    assert.ok(linked_objects.some((entry: Json) => entry._id === scene.pool && entry.count === 5))
  })
})

describe('ranges', () => {
  test('dates and numbers', async () => {
    const ranges = [{ to: '1800' }, { from: '1801', to: '1850' }, { from: '1851' }]
    const { ranges: dates } = await aggregate({ type: 'date_range', field: 'work.made', ranges })
    assert.deepEqual(dates, [
      { ...ranges[0], count: 1 },
      { ...ranges[1], count: 2 },
      { ...ranges[2], count: 1 },
    ])
    const widths = await aggregate(
      { type: 'range', field: 'work.width', ranges: [{ to: 20 }, { from: 21 }] },
      { search: [text('tyger', { bool: 'must_not' })] },
    )
    assert.deepEqual(
      widths.ranges.map((range: Json) => range.count),
      [1, 1],
    )
  })
})

test('what cannot be counted is refused', async () => {
  const code = async (aggregation: object) => (await scene.search({ aggregations: { it: aggregation } })).body.code
  assert.equal(await code({ type: 'sum', field: 'work.width' }), 'UnsupportedInAggregation')
  assert.equal(await code({ type: 'term', field: 'work.creator' }), 'UnsupportedInAggregation')
  assert.equal(await code({ type: 'linked_object', field: 'work.title' }), 'UnsupportedInAggregation')
  assert.equal(await code({ type: 'term', field: '_score' }), 'SearchFieldNotAllowed')
  assert.equal(await code({ type: 'term', field: 'work.nothing' }), 'SearchFieldUnknown')
  assert.equal(await code({ type: 'term', field: 'work.title', include: '(' }), 'ServerGeneric')
  assert.equal(await code({ type: 'date_range', field: 'work.width', ranges: [] }), 'UnsupportedInAggregation')
})

test('patterns of one request are bounded together, before any of them is compiled', async (t) => {
  const asked = (include: string, times: number) =>
    scene.search({
      objecttypes: ['work'],
      limit: 0,
      aggregations: Object.fromEntries(
        Array.from({ length: times }, (_, at) => [`a${at}`, { type: 'term', field: 'work.title', include }]),
      ),
    })
  const compile = t.mock.method(RE2JS, 'compile')
  const huge = await asked('.{1,1000}'.repeat(50), 1)
  assert.equal(huge.status, 400)
  assert.match(JSON.stringify(huge.body), /include must be a regular expression \(it is too large/)
  assert.equal(compile.mock.callCount(), 0)
  const together = await asked('x{600}', 50)
  assert.equal(together.status, 400)
  assert.match(JSON.stringify(together.body), /aggregations\.a3\.include.*too large together/)
  assert.equal(compile.mock.callCount() <= 4, true)
  assert.equal((await asked('.*x.*', 50)).status, 200)
})
