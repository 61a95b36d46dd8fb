import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Answer, Json } from '../support/client.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { startService, type TestService } from '../support/service.ts'

const point = (lon: number, lat: number) => ({ type: 'Point', coordinates: [lon, lat] })
const polygon = (...ring: [number, number][]) => ({ type: 'Polygon', coordinates: [[...ring, ring[0]]] })

const places: Record<string, object> = {
  london: point(-0.12, 51.5),
  berlin: point(13.4, 52.5),
  sydney: point(151.2, -33.87),
  fiji: point(178.4, -18.1),
  samoa: point(-172.1, -13.8),
  station: point(0, -90),
  pole: point(45, 90),
  null: point(0, 0),
  line: {
    type: 'LineString',
    coordinates: [
      [2, 48],
      [13, 52],
      [21, 52],
    ],
  },
  field: polygon([10, 50], [12, 50], [12, 51], [10, 51]),
  // Over the date line, cut as the standard wants it, and not cut.
  cut: {
    type: 'MultiPolygon',
    coordinates: [
      polygon([179, -17], [180, -17], [180, -16]).coordinates,
      polygon([-180, -17], [-179, -17], [-180, -16]).coordinates,
    ],
  },
  uncut: {
    type: 'LineString',
    coordinates: [
      [179, 60],
      [-179, 61],
    ],
  },
  feature: {
    type: 'Feature',
    properties: { name: 'x' },
    geometry: {
      type: 'MultiPoint',
      coordinates: [
        [100, 1],
        [101, 2],
      ],
    },
  },
  collection: {
    type: 'FeatureCollection',
    features: [
      { type: 'Feature', properties: null, geometry: point(-70, 40) },
      { type: 'Feature', properties: null, geometry: null },
    ],
  },
  mixed: { type: 'GeometryCollection', geometries: [point(-100, 20), point(-101, 21)] },
}

let svc: TestService
let names: Map<number, string>
before(async () => {
  svc = await startService()
  await commitModel(
    svc,
    defineModel({
      spot: {
        columns: { name: 'text_oneline', at: 'geo_json', size: 'number' },
        nested: { stop: { columns: { at: 'geo_json', note: 'text_oneline' } } },
      },
    }),
  )
  const spots = [
    ...Object.entries(places).map(([name, at]) => ({ name, at })),
    {
      name: 'tour',
      '_nested:spot__stop': [
        { at: point(5, 5), note: 'a' },
        { at: point(6, 6), note: 'b' },
      ],
    },
    { name: 'nowhere' },
  ]
  const body = spots.map((spot) => ({ _objecttype: 'spot', _mask: '_all_fields', spot }))
  const saved = await svc.as('root').post('/db/spot', body)
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  names = new Map(saved.body.map((object: Json, index: number) => [object._system_object_id, spots[index]?.name]))
  await svc.drain()
})
after(() => svc[Symbol.asyncDispose]())

const ask = (element: object): Promise<Answer> => svc.as('root').post('/search', { search: [element], limit: 100 })
async function found(element: object): Promise<string[]> {
  const { status, body } = await ask(element)
  assert.equal(status, 200, JSON.stringify(body))
  return body.objects.map((object: Json) => names.get(object._system_object_id)).sort()
}
const at = (lat: number, lon: number) => ({ lat, lon })
const box = (top_left: unknown, bottom_right: unknown, field = 'spot.at') => ({
  type: 'geo_bounding_box',
  fields: [field],
  geo_bounding_box: { top_left, bottom_right },
})
const shape = (...points: object[]) => ({ type: 'geo_shape', fields: ['spot.at'], geo_shape: { points } })
const everywhere = Object.keys(places).sort()

describe('boxes', () => {
  test('SR-030 geo_bounding_box finds what shares a point with the box of two corners', async () => {
    assert.deepEqual(await found(box(at(55, -5), at(50.9, 9))), ['line', 'london'])
    assert.deepEqual(await found(box(at(51.5, -0.12), at(51.5, -0.12))), ['line', 'london'].slice(1))
    assert.deepEqual(await found(box(at(51.4999, -0.12), at(51.4, -0.12))), [])
    assert.deepEqual(await found(box(at(50.6, 10.5), at(50.5, 10.6))), ['field', 'line'])
    assert.deepEqual(await found(box(at(90, -180), at(-90, 180))), everywhere)
    assert.deepEqual(await found(box(at(3, 99), at(1.5, 102))), ['feature'])
    assert.deepEqual(
      await found(box(at(1.9, 100.1), at(1.1, 100.9))),
      [],
      'points by themselves, not what is around them',
    )
    assert.deepEqual(await found(box(at(41, -71), at(39, -69))), ['collection'])
    assert.deepEqual(await found(box(at(22, -102), at(20.5, -100.5))), ['mixed'])
    const unlike = await found({ ...box(at(90, -180), at(-90, 180)), bool: 'must_not' })
    assert.deepEqual(unlike, ['nowhere', 'tour'])
  })

  test('boxes over the date line and at the poles', async () => {
    assert.deepEqual(await found(box(at(0, 170), at(-30, -170))), ['cut', 'fiji', 'samoa'])
    assert.deepEqual(await found(box(at(62, 179.5), at(59, -179.5))), ['uncut'])
    assert.deepEqual(await found(box(at(62, -179.5), at(59, -179.1))), ['uncut'])
    assert.deepEqual(await found(box(at(62, -1), at(59, 1))), [])
    assert.deepEqual(await found(box(at(90, -180), at(89, 180))), ['pole'])
    assert.deepEqual(await found(box(at(-89, -180), at(-90, 180))), ['station'])
    assert.deepEqual(await found(box(at(90, -180), at(-90, -180))), ['cut', 'uncut'])
    assert.deepEqual(await found(box(at(90, 180), at(-90, 180))), ['cut', 'uncut'])
  })

  test('corners may be geohashes', async () => {
    assert.deepEqual(await found(box('gcpu', 'gcpu')), ['london'])
    assert.deepEqual(await found(box('u', 'u')), ['berlin', 'field', 'line', 'pole'])
    assert.deepEqual(await found(box('gc', 'u3')), ['berlin', 'field', 'line', 'london'])
    const query = { query: 'spot.at == ["gcpu"]', search: true }
    const parsed = await svc.as('root').post('/search/parse', query)
    assert.equal(parsed.body.count, 1, JSON.stringify(parsed.body))
    const corners = await svc.as('root').post('/search/parse', { query: 'spot.at == [55, -5][50.9, 9]', search: true })
    assert.equal(corners.body.count, 2)
  })

  test('geometries of nested tables belong to their object', async () => {
    const stops = 'spot._nested:spot__stop.at'
    assert.deepEqual(await found(box(at(7, 5.5), at(5.5, 7), stops)), ['tour'])
    assert.deepEqual(await found(box(at(5.9, 5.1), at(5.1, 5.9), stops)), [])
    const inRow = { type: 'nested', path: 'spot._nested:spot__stop', search: [box(at(7, 5), at(5, 7), stops)] }
    assert.equal((await ask(inRow)).body.code, 'SearchFieldNotAllowed')
  })
})

test('SR-031 geo_shape finds what lies within the polygon of its points', async () => {
  assert.deepEqual(await found(shape(at(48, -5), at(53, 5), at(48, 9))), [])
  assert.deepEqual(await found(shape(at(50, -5), at(56, 0), at(50, 5))), ['london'])
  assert.deepEqual(await found(shape(at(45, 0), at(55, 0), at(55, 25), at(45, 25))), ['berlin', 'field', 'line'])
  assert.deepEqual(await found(shape(at(49, 9), at(52, 9), at(52, 11), at(49, 11))), [], 'the field is not within')
  // Closed by itself, or as it was sent.
  assert.deepEqual(await found(shape(at(50, -5), at(56, 0), at(50, 5), at(50, -5))), ['london'])
  // With a dent where London is.
  assert.deepEqual(await found(shape(at(50, -5), at(56, -5), at(51, 0), at(56, 5), at(50, 5))), [])
})

test('polygons over the date line and around a pole', async () => {
  assert.deepEqual(
    await found(shape(at(-10, 170), at(-30, 170), at(-30, -170), at(-10, -170))),
    ['cut', 'fiji', 'samoa'].sort(),
  )
  assert.deepEqual(
    await found(shape(at(-10, -170), at(-30, -170), at(-30, 170), at(-10, 170))),
    ['cut', 'fiji', 'samoa'].sort(),
  )
  assert.deepEqual(await found(shape(at(80, 0), at(80, 90), at(80, 180), at(80, -90))), ['pole'])
  assert.deepEqual(await found(shape(at(-80, 0), at(-80, 90), at(-80, 180), at(-80, -90))), ['station'])
})

test('what is no area is refused, and costs little', async () => {
  const ring = (count: number) =>
    Array.from({ length: count }, (_, n) =>
      at(10 * Math.sin((2 * Math.PI * n) / count), 10 * Math.cos((2 * Math.PI * n) / count)),
    )
  assert.deepEqual(await found(shape(...ring(1000))), ['null'])
  for (const [element, name] of [
    [shape(...ring(1001)), 'search[0].geo_shape.points'],
    [shape(at(0, 0), at(1, 1), at(0, 1), at(1, 0)), 'search[0].geo_shape.points'],
    [shape(at(0, 0), at(1, 1)), 'search[0].geo_shape.points'],
    [shape(at(0, 0), at(1, 1), at(0, 0), at(1, 1)), 'search[0].geo_shape.points'],
    [shape(at(0, 0), at(91, 1), at(0, 1)), 'search[0].geo_shape.points[1].lat'],
    [shape(at(0, 0), at(1, 181), at(0, 1)), 'search[0].geo_shape.points[1].lon'],
    [box(at(1, 0), at(2, 0)), 'search[0].geo_bounding_box'],
    [box(at(1, 0), 'gc'), 'search[0].geo_bounding_box'],
    [box('ga', 'gc'), 'search[0].geo_bounding_box.top_left'],
    [box(at(1, 0), null), 'search[0].geo_bounding_box.bottom_right'],
    [{ type: 'geo_shape', geo_shape: { points: [] } }, 'search[0].geo_shape.points'],
  ] as const) {
    const { status, body } = await ask(element)
    assert.deepEqual([status, body.parameters.name], [400, name], JSON.stringify(element).slice(0, 200))
  }
  assert.equal((await ask(box(at(1, 0), at(0, 1), 'spot.name'))).body.code, 'SearchFieldNotAllowed')
  assert.equal((await ask(box(at(1, 0), at(0, 1), 'spot.here'))).body.code, 'SearchFieldUnknown')
})

test('_standard.geo.1 is what the preferred masks put there, through links too', async () => {
  await using linked = await startService()
  const model = defineModel({
    spot: { columns: { name: 'text_oneline', at: 'geo_json', seen: 'geo_json' } },
    trip: { columns: { start: 'link:spot', end: 'link:spot', next: 'link:trip' } },
  })
  // Columns are numbered in their order: spot.at, trip.start and trip.next.
  for (const mask of model.masks.masks) {
    for (const field of mask.fields as { column_id: number; output: Json }[]) {
      if ([2, 4, 6].includes(field.column_id)) field.output.standard_geo = { order: 1 }
    }
  }
  await commitModel(linked, model)
  const root = linked.as('root')
  const save = async (type: string, blocks: object[]): Promise<Json[]> => {
    const body = blocks.map((block) => ({ _objecttype: type, _mask: '_all_fields', [type]: block }))
    const answer = await root.post(`/db/${type}`, body)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body.map(({ _objecttype, [type]: { _id } }: Json) => ({
      _objecttype,
      _mask: '_all_fields',
      [type]: { _id },
    }))
  }
  const { london, sydney } = places
  const [here, away] = await save('spot', [
    { name: 'here', at: london, seen: sydney },
    { name: 'away', at: sydney, seen: london },
  ])
  const [first] = await save('trip', [{ start: here, end: away }])
  await save('trip', [{ start: away, end: here }, { next: first }])
  await linked.drain()
  const inEurope = box(at(55, -5), at(50.9, 9), '_standard.geo.1')
  const count = async (element: object, objecttypes: string[] = []): Promise<number> => {
    const { status, body } = await root.post('/search', { objecttypes, search: [element] })
    assert.equal(status, 200, JSON.stringify(body))
    return body.count
  }
  assert.equal(await count(inEurope, ['spot']), 1)
  assert.equal(await count(inEurope, ['trip']), 1, 'the trip that starts there')
  assert.equal(await count(inEurope), 2)
  const { fields: _, ...bare } = inEurope
  assert.equal(await count({ ...bare, field: '_standard.geo.1' }), 2)
  assert.equal(await count({ ...inEurope, fields: ['_standard.geo.2'] }), 0)
  const around = { ...shape(at(52, -1), at(52, 1), at(51, 1), at(51, -1)), fields: ['_standard.geo.1'] }
  assert.equal(await count(around), 2)
  const bounds = async (field: string): Promise<Json> => {
    const aggregations = { box: { type: 'geo_bounds', field } }
    const { body } = await root.post('/search', { objecttypes: ['spot'], aggregations })
    const { field: _, ...box } = body.aggregations.box
    return box
  }
  assert.equal((await bounds('spot.at')).count, 2)
  assert.deepEqual(await bounds('_standard.geo.1'), await bounds('spot.at'))
  for (const name of ['_standard.geo', '_standard.geo.0', '_standard.geo.x', '_standard.geo.100']) {
    const { status, body } = await root.post('/search', { search: [{ ...inEurope, fields: [name] }] })
    assert.deepEqual([status, body.code], [400, 'SearchFieldUnknown'], name)
  }
})
