import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedPeople, toUser } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { startService, type TestService } from '../support/service.ts'

/** What masks say of columns: one that none of them shows, and one that none prepares for facets. */
let svc: TestService
let reader: Client
before(async () => {
  svc = await startService()
  const model = defineModel({
    coin: {
      columns: {
        name: 'text_oneline',
        secret: 'text_oneline',
        worth: 'number',
        die: 'link:die',
      },
      nested: { mark: { columns: { name: 'text_oneline' } }, stain: { columns: { name: 'text_oneline' } } },
    },
    die: { columns: { name: 'text_oneline', worn: 'boolean' } },
  })
  const [coins, dies] = model.masks.masks as unknown as [{ fields: object[] }, { fields: object[] }]
  const [name, , , , marks, stains] = coins.fields as [object, ...object[]]
  coins.fields = [name, marks as object, { ...stains, search: { fulltext: true } }]
  dies.fields = dies.fields.map((field) => ({ ...field, search: { fulltext: true } }))
  await commitModel(svc, model)
  const people = await seedPeople(svc)
  ;({ reader } = people)
  const types = (await people.root.get('/objecttype')).body
  const settings = types.map(({ objecttype: { _id, _version } }: Json) => ({
    _basetype: 'objecttype',
    objecttype: { _id, _version: _version + 1 },
    _acl: [{ who: toUser(people.ids.reader), rights: { read: {} } }],
  }))
  assert.equal((await people.root.post('/objecttype', settings)).status, 200)
  const dieOf = (block: object) => ({ _objecttype: 'die', _mask: '_all_fields', die: block })
  const [die] = (await people.root.post('/db/die', [dieOf({ name: 'b', worn: true }), dieOf({ name: 'c' })])).body
  const saved = ['two', 'one'].map((secret, worth) => ({
    _objecttype: 'coin',
    _mask: '_all_fields',
    coin: {
      name: 'penny',
      secret,
      worth,
      die: { _system_object_id: die._system_object_id },
      '_nested:coin__mark': [{ name: `crown of ${secret}` }, { name: 'star' }],
      '_nested:coin__stain': [{ name: 'rust' }],
    },
  }))
  assert.equal((await people.root.post('/db/coin', saved)).status, 200)
  await svc.drain()
})
after(() => svc[Symbol.asyncDispose]())

test('a boolean without value is counted as false, prepared for facets or not', async () => {
  const { body } = await reader.post('/search', {
    objecttypes: ['die'],
    aggregations: { a: { type: 'term', field: 'die.worn', sort: 'term' } },
  })
  assert.deepEqual(body.aggregations.a.terms, [
    { term: 'false', count: 1 },
    { term: 'true', count: 1 },
  ])
})

test('a column that no mask shows is sorted by, searched and counted as if it had no values', async () => {
  for (const field of ['coin.secret', 'coin.worth', 'coin.die']) {
    const { status, body } = await reader.post('/search', {
      objecttypes: ['coin'],
      search: [{ type: 'in', fields: [field], in: [null] }],
      sort: [{ field, order: 'desc' }],
      aggregations: { a: { type: field === 'coin.die' ? 'linked_object' : 'term', field } },
    })
    assert.equal(status, 200, `${field} ${JSON.stringify(body)}`)
    assert.deepEqual([body.count, body.aggregations.a.count], [2, 0], field)
    const sort = body.objects.map((object: Json) => object._sort)
    assert.deepEqual(
      sort.map(([value]: Json) => value),
      [null, null],
      field,
    )
    const after = await reader.post('/search', {
      objecttypes: ['coin'],
      sort: [{ field, order: 'desc' }],
      search_after: sort[0],
    })
    assert.equal(after.body.objects?.length, 1, JSON.stringify(after.body))
  }
})

test('a table of one column answers row by row where a mask says so, else by one condition', async () => {
  const within = (table: string, ...words: string[]) => {
    const path = `coin._nested:${table}`
    const search = words.map((string) => ({ type: 'text', fields: [`${path}.name`], string }))
    return reader.post('/search', { objecttypes: ['coin'], search: [{ type: 'nested', path, search }] })
  }
  assert.equal((await within('coin__mark', 'crown', 'two')).body.count, 1)
  assert.equal((await within('coin__mark', 'crown', 'star')).body.count, 0)
  assert.equal((await within('coin__stain', 'rust')).body.count, 2)
  const several = await within('coin__stain', 'rust', 'rust')
  assert.deepEqual([several.status, several.body.code], [400, 'SearchFieldNotAllowed'])
})

test('a column that no mask shows gives no values of hits, and no links of hits to search by', async () => {
  const { status, body } = await reader.post('/search', {
    objecttypes: ['coin'],
    fields: [
      { field: 'coin.secret' },
      { field: 'coin.die' },
      { field: 'coin.name' },
      { field: 'coin._nested:coin__mark.name' },
    ],
    sort: [{ field: '_system_object_id' }],
  })
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual(
    body.objects.map((object: Json) => object._fields),
    ['two', 'one'].map((secret) => ({
      'coin.secret': [],
      'coin.die': [],
      'coin.name': ['penny'],
      'coin._nested:coin__mark.name': [`crown of ${secret}`, 'star'],
    })),
  )
  const found = async (who: Client) => {
    const subsearch = { objecttypes: ['coin'], field: 'coin.die' }
    return (await who.post('/search', { search: [{ type: 'in', fields: ['_system_object_id'], subsearch }] })).body
      .count
  }
  assert.equal(await found(reader), 0)
  assert.equal(await found(svc.as('root')), 1)
  const pattern = { type: 'text', fields: ['coin.secret'], string: 't*', mode: 'exact' }
  assert.equal((await reader.post('/search', { search: [pattern] })).body.count, 0)
  assert.equal((await svc.as('root').post('/search', { search: [pattern] })).body.count, 1)
})
