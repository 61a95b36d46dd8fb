import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedPeople, toUser } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { startService, type TestService } from '../support/service.ts'

/** What PostgreSQL alone measures, for a caller whose masks show one column. */
let svc: TestService
let reader: Client
before(async () => {
  svc = await startService()
  const columns = { name: 'text_oneline', secret: 'text_oneline', worth: 'number', site: 'geo_json', struck: 'date' }
  const model = defineModel({ coin: { columns } } as const)
  const [coins] = model.masks.masks as unknown as [{ fields: object[] }]
  coins.fields = coins.fields.slice(0, 1)
  await commitModel(svc, model)
  const people = await seedPeople(svc)
  ;({ reader } = people)
  const settings = (await people.root.get('/objecttype')).body.map(({ objecttype: { _id, _version } }: Json) => ({
    _basetype: 'objecttype',
    objecttype: { _id, _version: _version + 1 },
    _acl: [{ who: toUser(people.ids.reader), rights: { read: {} } }],
  }))
  assert.equal((await people.root.post('/objecttype', settings)).status, 200)
  const saved = ['two', 'one'].map((secret, worth) => ({
    _objecttype: 'coin',
    _mask: '_all_fields',
    coin: {
      name: 'penny',
      secret,
      worth,
      site: { type: 'Point', coordinates: [10, 50] },
      struck: { value: '1850' },
    },
  }))
  assert.equal((await people.root.post('/db/coin', saved)).status, 200)
  await svc.drain()
})
after(() => svc[Symbol.asyncDispose]())

test('places, dates and numbers that no mask shows are neither found nor measured', async () => {
  const box = { top_left: { lat: 60, lon: 0 }, bottom_right: { lat: 40, lon: 20 } }
  const ring = [
    { lat: 40, lon: 0 },
    { lat: 60, lon: 0 },
    { lat: 60, lon: 20 },
    { lat: 40, lon: 20 },
  ]
  const ask = async (who: Client) => {
    const aggregations = {
      bounds: { type: 'geo_bounds', field: 'coin.site' },
      hashes: { type: 'geohash_grid', field: 'coin.site' },
      tiles: { type: 'geotile_grid', field: 'coin.site' },
      years: { type: 'term', field: 'coin.struck.range_year' },
      stats: { type: 'term_stats', field: 'coin.secret', value_field: 'coin.worth' },
      worth: { type: 'term_stats', field: 'coin.name', value_field: 'coin.worth' },
    }
    const sort = [
      { field: 'coin.struck', width: 'year' },
      { field: 'coin.secret', numeric: false },
    ]
    const { status, body } = await who.post('/search', { objecttypes: ['coin'], aggregations, sort })
    assert.equal(status, 200, JSON.stringify(body))
    const counts = Object.values<Json>(body.aggregations).map(({ count }) => count)
    const inBox = { type: 'geo_bounding_box', fields: ['coin.site'], geo_bounding_box: box }
    const inRing = { type: 'geo_shape', fields: ['coin.site'], geo_shape: { points: ring } }
    for (const element of [inBox, inRing]) counts.push((await who.post('/search', { search: [element] })).body.count)
    return [
      ...counts,
      body.aggregations.worth.terms[0].sum,
      body.objects[0]._sort.slice(0, 2).filter((key: unknown) => key !== null).length,
    ]
  }
  assert.deepEqual(await ask(svc.as('root')), [2, 1, 1, 1, 2, 1, 2, 2, 1, 2])
  assert.deepEqual(await ask(reader), [0, 0, 0, 0, 0, 1, 0, 0, null, 0])
})
