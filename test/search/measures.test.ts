import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { inPool, link, payload } from '../support/seed/museum.ts'
import { type SearchScene, startScene } from './support.ts'

let scene: SearchScene
before(async () => {
  scene = await startScene()
  const { svc, pool, ids } = scene
  const at = (lon: number, lat: number) => ({ location: { type: 'Point', coordinates: [lon, lat] } })
  const works = [
    {
      inventory: 'M1',
      width: 30,
      ...at(-0.121, 51.501),
      creator: link('person', ids.turner as number),
      made: { value: '1803-04' },
    },
    { inventory: 'M2', width: 50, ...at(13.4, 52.5), creator: link('person', ids.blake as number) },
    { inventory: 'M3', ...at(13.41, 52.51), made: { value: '-0044-03-15' } },
    { inventory: 'M4', price: 250, ...at(178.4, -18.1) },
    { inventory: 'M5', price: 5, ...at(-172.1, -13.8) },
  ]
  const saved = await svc.as('root').post(
    '/db/work',
    works.map((block) => payload('work', { ...inPool(pool), ...block })),
  )
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  await svc.drain()
})
after(() => scene[Symbol.asyncDispose]())

async function aggregated(it: object, search: object[] = []): Promise<Json> {
  const { status, body } = await scene.search({ objecttypes: ['work'], limit: 0, search, aggregations: { it } })
  assert.equal(status, 200, JSON.stringify(body))
  return body.aggregations.it
}
const inventories = (...values: string[]) => [{ type: 'in', fields: ['work.inventory'], in: values }]
const terms = ({ terms: list }: Json): unknown[] => list.map(({ term, count }: Json) => [term, count])

test('SR-011 aggregations by name have a type, a field, a value_field, an objecttype and a limit', async () => {
  const { status, body } = await scene.search({
    objecttypes: ['work'],
    limit: 0,
    aggregations: {
      types: { type: 'term', field: '_objecttype' },
      pools: { type: 'linked_object', objecttype: 'pool' },
      creators: { type: 'linked_object', field: 'work.creator', limit: 1 },
      widths: { type: 'term_stats', field: 'work.signed', value_field: 'work.width' },
    },
  })
  assert.equal(status, 200, JSON.stringify(body))
  const { types, pools, creators, widths } = body.aggregations
  assert.deepEqual(terms(types), [['work', 10]])
  assert.ok(pools.linked_objects.some(({ _id, count }: Json) => _id === scene.pool && count === 10))
  assert.deepEqual([creators.count, creators.linked_objects.length], [3, 1])
  assert.deepEqual(widths, {
    type: 'term_stats',
    field: 'work.signed',
    value_field: 'work.width',
    count: 2,
    // A boolean without value is false.
    terms: [
      { term: 'false', count: 8, values: 3, min: 20, max: 50, sum: 100, avg: 100 / 3 },
      { term: 'true', count: 2, values: 2, min: 7, max: 100, sum: 107, avg: 53.5 },
    ],
  })
})

test('SR-012 offset, sort, order, format and include decide what is answered of an aggregation', async () => {
  const field = 'work._nested:work__material.name'
  const term = (more: object) => aggregated({ type: 'term', field, ...more })
  const byName = { sort: 'term' }
  assert.deepEqual(terms(await term({})).slice(0, 1), [['paper', 2]])
  assert.deepEqual(terms(await term(byName)), [
    ['canvas', 1],
    ['oil', 1],
    ['paper', 2],
    ['watercolour', 1],
  ])
  assert.deepEqual(terms(await term({ ...byName, offset: 2 })), [
    ['paper', 2],
    ['watercolour', 1],
  ])
  assert.deepEqual(terms(await term({ ...byName, order: 'desc', offset: 3 })), [['canvas', 1]])
  assert.deepEqual(terms(await term({ order: 'asc' })).at(-1), ['paper', 2])
  assert.deepEqual(terms(await term({ ...byName, include: '.*a.*' })), [
    ['canvas', 1],
    ['paper', 2],
    ['watercolour', 1],
  ])
  const linked = await aggregated({
    type: 'linked_object',
    field: 'work.creator',
    format: 'long',
    limit: 1,
    include: 'Blake.*',
  })
  const [blake] = linked.linked_objects
  assert.equal(blake._linked_object.person.reference, 'blake-1')
  const short = await aggregated({ type: 'linked_object', field: 'work.creator', limit: 1, include: 'Blake.*' })
  assert.equal(short.linked_objects[0]._linked_object.person, undefined)
  assert.equal(blake.count, 2)
})

test('SR-013 language, filter_parent, precision, ranges and bounds decide what an aggregation counts', async () => {
  const { ids } = scene
  const placed = await aggregated({ type: 'linked_object', field: 'work.place', filter_parent: ids.europe })
  assert.deepEqual(
    placed.linked_objects.map(({ _system_object_id: id, count }: Json) => [id, count]),
    [[ids.england, 2]],
  )
  const named = (language: string) =>
    aggregated({ type: 'linked_object', field: 'work.place', include: 'Europa', language })
  assert.equal((await named('de-DE')).count, 1)
  assert.equal((await named('en-US')).count, 0)
  const titles = async (more: object): Promise<unknown[]> =>
    terms(await aggregated({ type: 'term', sort: 'term', ...more }, inventories('N10', 'N2')))
  const english = [
    ['Dawn over the river', 1],
    ['Westminster Bridge', 1],
  ]
  assert.deepEqual(await titles({ field: 'work.title' }), english)
  assert.deepEqual(await titles({ field: 'work.title', language: 'en-US' }), english)
  // An object without a German title counts by its other title, unless the name of the field has the language.
  const german = ['Die Brücke von Westminster', 1]
  assert.deepEqual(await titles({ field: 'work.title', language: 'de-DE' }), [english[0], german])
  assert.deepEqual(await titles({ field: 'work.title.de-DE' }), [german])
  assert.deepEqual(await titles({ field: 'work.title', language: 'de-DE', include: 'Die.*' }), [german])
  const stats = await aggregated(
    { type: 'term_stats', field: 'work.title', value_field: 'work.width', language: 'de-DE' },
    inventories('N10'),
  )
  assert.deepEqual(
    stats.terms.map(({ term, sum }: Json) => [term, sum]),
    [['Die Brücke von Westminster', 100]],
  )
  const ranged = await aggregated({
    type: 'range',
    field: 'work.width',
    ranges: [{ to: 20 }, { from: 21, to: 60 }, { from: 61 }],
  })
  assert.deepEqual(
    ranged.ranges.map(({ count }: Json) => count),
    [2, 2, 1],
  )
  const grid = (more: object) => aggregated({ type: 'geohash_grid', field: 'work.location', ...more })
  const keys = async (more: object) => (await grid(more)).cells.map(({ key, count }: Json) => [key, count])
  assert.deepEqual(await keys({ precision: 1, sort: 'term' }), [
    ['2', 1],
    ['g', 2],
    ['r', 1],
    ['u', 2],
  ])
  assert.deepEqual(await keys({ precision: 3, limit: 2, sort: 'term', offset: 1 }), [
    ['gcp', 2],
    ['ruy', 1],
  ])
  const bounds = { top_left: { lat: 60, lon: -10 }, bottom_right: { lat: 40, lon: 20 } }
  assert.deepEqual(await keys({ precision: 1, bounds }), [
    ['g', 2],
    ['u', 2],
  ])
  const overLine = { top_left: { lat: 0, lon: 170 }, bottom_right: { lat: -30, lon: -170 } }
  assert.deepEqual(await keys({ precision: 1, bounds: overLine }), [
    ['2', 1],
    ['r', 1],
  ])
})

test('cells of geohashes and of tiles have their place on the map', async () => {
  const search = inventories('M1')
  const hash = await aggregated({ type: 'geohash_grid', field: 'work.location', precision: 3 }, search)
  assert.deepEqual(hash, {
    type: 'geohash_grid',
    field: 'work.location',
    precision: 3,
    count: 1,
    cells: [
      {
        key: 'gcp',
        count: 1,
        bounds: { top_left: { lat: 52.03125, lon: -1.40625 }, bottom_right: { lat: 50.625, lon: 0 } },
      },
    ],
  })
  // https://tile.openstreetmap.org/10/511/340.png has London.
  const tile = await aggregated({ type: 'geotile_grid', field: 'work.location', precision: 10 }, search)
  assert.deepEqual([tile.precision, tile.cells[0].key], [10, '10/511/340'])
  const { top_left: first, bottom_right: last } = tile.cells[0].bounds
  assert.ok(first.lat > 51.501 && last.lat < 51.501 && first.lon < -0.121 && last.lon > -0.121)
  const whole = await aggregated({ type: 'geotile_grid', field: 'work.location', precision: 0 })
  assert.deepEqual(
    whole.cells.map(({ key, count }: Json) => [key, count]),
    [['0/0/0', 6]],
  )
  assert.equal((await aggregated({ type: 'geohash_grid', field: 'work.location' })).precision, 5)
  assert.equal((await aggregated({ type: 'geotile_grid', field: 'work.location' })).precision, 7)
})

test('geo_bounds are the narrowest that hold all, over the date line where that is shorter', async () => {
  const bounds = async (...names: string[]) =>
    (await aggregated({ type: 'geo_bounds', field: 'work.location' }, inventories(...names))).bounds
  assert.deepEqual(await bounds('M1', 'M2'), {
    top_left: { lat: 52.5, lon: -0.121 },
    bottom_right: { lat: 51.501, lon: 13.4 },
  })
  assert.deepEqual(await bounds('M4', 'M5'), {
    top_left: { lat: -13.8, lon: 178.4 },
    bottom_right: { lat: -18.1, lon: -172.1 },
  })
  assert.deepEqual(await bounds('M2', 'M4'), {
    top_left: { lat: 52.5, lon: 13.4 },
    bottom_right: { lat: -18.1, lon: 178.4 },
  })
  assert.equal(await bounds('X1'), null)
})

test('dates are counted by the years and the months that they lie in', async () => {
  const by = (field: string, more: object = {}) =>
    aggregated({ type: 'term', field, sort: 'term', limit: 100, ...more })
  assert.deepEqual(terms(await by('work.made.range_year')), [
    ['-0044', 1],
    ['1794', 1],
    ['1801', 1],
    ['1803', 2],
    ['1900', 1],
  ])
  assert.deepEqual(terms(await by('work.period.range_year')), [
    ['1790', 1],
    ['1803', 1],
    ['1804', 1],
    ['1805', 1],
  ])
  const months = terms(await by('work.made.range_month', { include: '1803-.*' }))
  assert.deepEqual([months.length, months[0], months[3]], [12, ['1803-01', 1], ['1803-04', 2]])
  assert.deepEqual(terms(await by('work.made.range_month', { include: '1801-.*' })), [['1801-05', 1]])
  assert.deepEqual(await scene.works({ type: 'in', fields: ['work.made.range_year'], in: ['1801', 1900] }), [
    'beast',
    'dawn',
  ])
  assert.deepEqual(await scene.works({ type: 'in', fields: ['work.made.range_month'], in: ['1801-04'] }), [])
})

test('numbers are measured by term, of one row of a nested table together', async () => {
  const row = 'work._nested:work__material'
  const stats = await aggregated({
    type: 'term_stats',
    field: `${row}.name`,
    value_field: `${row}.amount`,
    sort: 'term',
  })
  assert.deepEqual(
    stats.terms.map(({ term, count, min, max, sum, avg }: Json) => [term, count, min, max, sum, avg]),
    [
      ['canvas', 1, 1, 1, 1, 1],
      ['oil', 1, 3, 3, 3, 3],
      ['paper', 2, 1, 3, 4, 2],
      ['watercolour', 1, 1, 1, 1, 1],
    ],
  )
  const price = await aggregated(
    { type: 'term_stats', field: 'work.inventory', value_field: 'work.price' },
    inventories('M4', 'X1'),
  )
  assert.deepEqual(price.terms, [
    { term: 'M4', count: 1, values: 1, min: 250, max: 250, sum: 250, avg: 250 },
    { term: 'X1', count: 1, values: 0, min: null, max: null, sum: null, avg: null },
  ])
})

test('what cannot be measured is refused', async () => {
  for (const [aggregation, code, name] of [
    [{ type: 'term_stats', field: 'work.title' }, 'ServerGeneric', 'aggregations.it.value_field'],
    [{ type: 'term_stats', field: 'work.title', value_field: 'work.note' }, 'SearchFieldNotAllowed'],
    [{ type: 'term_stats', field: 'work.creator', value_field: 'work.width' }, 'UnsupportedInAggregation'],
    [
      { type: 'term_stats', field: 'person.name', value_field: 'work.width' },
      'ServerGeneric',
      'aggregations.it.value_field',
    ],
    [{ type: 'term', field: 'work.note', value_field: 'work.width' }, 'ServerGeneric', 'aggregations.it.value_field'],
    [{ type: 'geohash_grid', field: 'work.title' }, 'SearchFieldNotAllowed'],
    [{ type: 'geohash_grid', field: 'work.location', precision: 13 }, 'ServerGeneric', 'aggregations.it.precision'],
    [{ type: 'geotile_grid', field: 'work.location', precision: 30 }, 'ServerGeneric', 'aggregations.it.precision'],
    [{ type: 'geotile_grid', field: 'work.location', bounds: {} }, 'ServerGeneric', 'aggregations.it.bounds.top_left'],
    [{ type: 'geo_bounds', field: 'work.location', precision: 5 }, 'ServerGeneric', 'aggregations.it.precision'],
    [{ type: 'term', field: 'work.made.range_week' }, 'SearchFieldUnknown'],
    [{ type: 'term', field: 'work._nested:work__material.supplier.range_year' }, 'SearchFieldUnknown'],
    [{ type: 'linked_object', field: 'work.creator', format: 'wide' }, 'ServerGeneric', 'aggregations.it.format'],
    [
      { type: 'linked_object', field: 'work.creator', format: 'long', limit: 101 },
      'ServerGeneric',
      'aggregations.it.limit',
    ],
    [{ type: 'linked_object', field: '_pool', format: 'long' }, 'ServerGeneric', 'aggregations.it.format'],
    [{ type: 'histogram', field: 'work.width' }, 'UnsupportedInAggregation'],
  ] as const) {
    const { status, body } = await scene.search({ aggregations: { it: aggregation } })
    assert.deepEqual([status, body.code], [400, code], JSON.stringify(aggregation))
    if (name) assert.equal(body.parameters.name, name, JSON.stringify(aggregation))
  }
})
