import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedPeople, toUser } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { payload } from '../support/seed/museum.ts'
import { type SearchScene, startScene } from './support.ts'

let scene: SearchScene
let root: Client
let reader: Client
before(async () => {
  scene = await startScene()
  root = scene.svc.as('root')
  const people = await seedPeople(scene.svc)
  ;({ reader } = people)
  const read = (who: object) => [{ who, rights: { read: {} } }]
  const types = (await root.get('/objecttype')).body as Json[]
  const settings = types
    .filter(({ objecttype }) => ['place', 'person'].includes(objecttype.name))
    .map(({ objecttype: { _id, _version } }) => ({
      _basetype: 'objecttype',
      objecttype: { _id, _version: _version + 1 },
      _acl: read(toUser(people.ids.reader)),
    }))
  assert.equal((await root.post('/objecttype', settings)).status, 200)
  const pool = { pool: { _id: scene.pool } }
  const works = [
    { inventory: 'AB1', title: { 'en-US': 'Marble <b>bust</b>', 'de-DE': 'Büste' }, note: 'Cut & polished' },
    { inventory: 'AB2', title: { 'en-US': 'Marble relief' } },
    { inventory: 'XY1', title: { 'en-US': 'Mahogany case' }, note: 'secretword' },
  ].map((block, index) =>
    payload('work', { _pool: pool, ...block }, index < 2 ? { _acl: read(toUser(people.ids.reader)) } : {}),
  )
  const saved = await root.post('/db/work', works)
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  await scene.svc.drain()
})
after(() => scene[Symbol.asyncDispose]())

async function suggest(request: object, client: Client = root): Promise<Json> {
  const { status, body } = await client.post('/suggest', { timeout: 60_000, ...request })
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.timed_out, false)
  assert.ok(Number.isInteger(body.es_time))
  return body.suggestions
}

const tokens = async (request: object, client?: Client): Promise<string[]> =>
  (await suggest(request, client)).tokens.map(({ tokens: all, count }: Json) => `${all.join(' ')} ${count}`)

test('words are completed: those that begin so come first, then those that have it in them, by what is found most often', async () => {
  assert.deepEqual(await tokens({ query: 'ma' }), ['mallord 3', 'marble 2', 'mahogany 1'])
  assert.deepEqual(await tokens({ query: 'ARB' }), ['marble 2'])
  assert.deepEqual(await tokens({ query: 'arb', tokens_mode: 'edgengram' }), [])
  assert.deepEqual(await tokens({ query: 'marbl', tokens_mode: 'exact' }), [])
  assert.deepEqual(await tokens({ query: 'marble', tokens_mode: 'exact' }), ['marble 2'])
  assert.deepEqual(await tokens({ query: 'ma', limit: 1 }), ['mallord 3'])
  assert.deepEqual(await tokens({ query: '' }), [])
  assert.deepEqual(await tokens({ query: '…' }), [])
})

test('earlier words have to be there too', async () => {
  const { tokens: found } = await suggest({ query: 'Cut ma' })
  assert.deepEqual(found, [{ suggest: 'Cut <b>ma</b>rble', tokens: ['Cut', 'marble'], count: 1 }])
})

test('the last word may be a pattern', async () => {
  const pattern = { analyze_wildcards: true }
  assert.deepEqual(await tokens({ query: 'm?rb*', ...pattern }), ['marble 2'])
  assert.deepEqual(await tokens({ query: '*ogany', ...pattern }), ['mahogany 1'])
  assert.deepEqual(await tokens({ query: 'm*y' }), [])
  const { status, body } = await root.post('/suggest', { query: '*?', ...pattern })
  assert.deepEqual([status, body.code], [400, 'WildcardOnlyNotAllowed'])
})

test('types, pools, fields and languages limit what is suggested', async () => {
  assert.deepEqual(await tokens({ query: 'ma', objecttypes: ['person'] }), ['mallord 1'])
  assert.deepEqual(await tokens({ query: 'ma', pool_ids: [scene.pool], objecttypes: ['work', 'person'] }), [
    'marble 2',
    'mallord 2',
    'mahogany 1',
  ])
  assert.deepEqual(await tokens({ query: 'ma', pool_ids: [12_345] }), [])
  assert.deepEqual(await tokens({ query: 'cut', fields: ['work.title'] }), [])
  assert.deepEqual(await tokens({ query: 'cut', fields: ['work.note'] }), ['cut 1'])
  assert.deepEqual(await tokens({ query: 'bu', fields: ['work.title'], languages: ['de-DE'] }), ['buste 1'])
  assert.deepEqual(await tokens({ query: 'bu', fields: ['work.title.en-US'] }), ['bust 1'])
})

test('whole values of string columns are completed, of the whole query also where no field is named', async () => {
  assert.deepEqual(await tokens({ query: 'A$56', fields: ['person.reference'] }), ['a$5667 1'])
  assert.deepEqual(await tokens({ query: 'blake-', fields: ['person.reference'] }), ['blake-1 1'])
  assert.deepEqual(await tokens({ query: 'turner-', tokens_dont_split_query: true }), ['turner 3', 'turner-1 1'])
  assert.deepEqual(await tokens({ query: 'marble bu', tokens_dont_split_query: true }), [])
})

test('values of fields are answered whole and escaped, with objects that have them', async () => {
  const { fields, tokens: none } = await suggest({
    query: 'marb',
    tokens: false,
    fields: ['work.title', 'work.inventory'],
    fields_suggest: true,
  })
  assert.equal(none, undefined)
  assert.deepEqual(
    fields.map(({ field, suggest: html, count }: Json) => [field, html, count]),
    [
      ['Marble relief', '<b>Marb</b>le relief', 1],
      ['Marble <b>bust</b>', '<b>Marb</b>le &lt;b&gt;bust&lt;/b&gt;', 1],
    ],
  )
  const [{ _system_object_id: ids }] = fields
  const { body } = await root.post('/search', { search: [{ type: 'in', fields: ['_system_object_id'], in: ids }] })
  assert.deepEqual(
    body.objects.map(({ work }: Json) => work.inventory),
    ['AB2'],
  )
  const phrase = await suggest({
    query: 'marble re',
    tokens_dont_split_query: true,
    fields: ['work.title'],
    fields_suggest: true,
  })
  assert.deepEqual(
    phrase.fields.map(({ field }: Json) => field),
    ['Marble relief'],
  )
  assert.equal((await suggest({ query: 'ma', fields_suggest: true })).fields, undefined)
})

test('linked objects are answered as hits are, those that are linked to alone where that is asked for', async () => {
  const names = async (request: object, client?: Client): Promise<number[]> =>
    (await suggest({ tokens: false, ...request }, client)).linked_objects.map(({ _system_object_id: id }: Json) => id)
  const { ids } = scene
  const by = (...types: string[]) => ({ linked_objects_referenced_by_objecttypes: types })
  assert.deepEqual(await names({ query: 'eng', linked_objecttypes: ['place'] }), [ids.england])
  assert.deepEqual(await names({ query: 'urop', linked_objecttypes: ['place'], ...by('work') }), [ids.europe])
  assert.deepEqual(await names({ query: 'urop', linked_objecttypes: ['place'], ...by('person') }), [])
  assert.deepEqual(await names({ query: 'people', linked_objecttypes: ['topic'], ...by('work') }), [ids.people])
  assert.deepEqual(await names({ query: 'turn', linked_objecttypes: [] }), [])
  assert.equal((await suggest({ query: 'turn' })).linked_objects, undefined)
  // None of the works that the reader may read links to a place.
  assert.deepEqual(await names({ query: 'eng', linked_objecttypes: ['place'] }, reader), [ids.england])
  assert.deepEqual(await names({ query: 'eng', linked_objecttypes: ['place'], ...by('work') }, reader), [])
  const { linked_objects: shown } = await suggest({ query: 'eng', linked_objecttypes: ['place'] })
  assert.equal(shown[0]._format, 'standard')
})

test('words of objects that the caller may not read are neither suggested nor counted', async () => {
  assert.deepEqual(await tokens({ query: 'ma', objecttypes: ['work'] }, reader), ['marble 2'])
  assert.deepEqual(await tokens({ query: 'secret' }), ['secretword 1'])
  assert.deepEqual(await tokens({ query: 'secret' }, reader), [])
  assert.deepEqual(await tokens({ query: 'brid' }, reader), [])
  const { fields } = await suggest({ query: 'mah', fields: ['work.title'], fields_suggest: true }, reader)
  assert.deepEqual(fields, [])
})

test('counts follow what is saved', async () => {
  assert.deepEqual(await tokens({ query: 'zebr' }), [])
  const pool = { pool: { _id: scene.pool } }
  const { body } = await root.post('/db/work', [payload('work', { _pool: pool, inventory: 'Z1', note: 'zebra' })])
  await scene.svc.drain()
  assert.deepEqual(await tokens({ query: 'zebr' }), ['zebra 1'])
  const [{ _system_object_id: id }] = body
  const deleted = await root.delete('/db/work', [[body[0].work._id, body[0].work._version, '']], {
    delete_policy: 'remove',
  })
  assert.equal(deleted.status, 200, `${id} ${JSON.stringify(deleted.body)}`)
  await scene.svc.drain()
  assert.deepEqual(await tokens({ query: 'zebr' }), [])
})

test('of many words that contain the text, those that begin with it come first, the shorter ones before the longer ones', async () => {
  const letters = [...'abcdefghijklm']
  const endings = letters.flatMap((one) => letters.map((other) => one + other))
  const titles = [
    ...endings.slice(0, 90).map((end) => `qux${end}`),
    ...letters.map((letter) => `${letter}qux`),
    'longquxes',
  ]
  const works = titles.map((title) =>
    payload('work', { _pool: { pool: { _id: scene.pool } }, title: { 'en-US': title } }),
  )
  assert.equal((await root.post('/db/work', works)).status, 200)
  await scene.svc.drain()
  const values = async (query: string, limit: number): Promise<string[]> =>
    (await suggest({ query, limit, tokens: false, fields: ['work.title'], fields_suggest: true })).fields.map(
      ({ field }: Json) => field,
    )
  const expected = titles.toSorted(
    (one, other) =>
      Number(other.startsWith('qux')) - Number(one.startsWith('qux')) ||
      one.length - other.length ||
      (one < other ? -1 : 1),
  )
  // PostgreSQL answers first, then what is in memory.
  for (const limit of [100, 99]) {
    assert.deepEqual(await values('qux', limit), expected.slice(0, limit))
    assert.deepEqual(
      await values('quxa', limit),
      expected.filter((title) => title.startsWith('quxa')),
    )
    assert.deepEqual(await values('gqux', limit), ['gqux', 'longquxes'])
    await scene.svc.drain()
  }
  assert.deepEqual(await values('qux', 20), expected.slice(0, 20))
})

test('without token a guest asks, where guests are allowed', async () => {
  const nobody = scene.svc.as(null)
  const refused = await nobody.post('/suggest', { query: 'ma' })
  assert.deepEqual([refused.status, refused.body.code], [401, 'UserRequired'])
  assert.equal((await root.post('/config/system/config/login/guest', true)).status, 200)
  const { status, body } = await nobody.post('/suggest', { query: 'ma' })
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual(body.suggestions, { tokens: [] })
})

test('the request may come in BODY, and what is wrong in it is refused by name', async () => {
  const got = await root.get('/suggest', { BODY: JSON.stringify({ query: 'mahog', limit: '3', tokens_mode: null }) })
  assert.deepEqual(got.body.suggestions.tokens, [{ suggest: '<b>mahog</b>any', tokens: ['mahogany'], count: 1 }])
  const wrong: [object, string, unknown][] = [
    [{ objecttypes: ['nothing'] }, 'UnknownObjecttype', 'objecttypes'],
    [{ linked_objecttypes: ['nothing'] }, 'UnknownObjecttype', 'linked_objecttypes'],
    [
      { linked_objects_referenced_by_objecttypes: ['nothing'] },
      'UnknownObjecttype',
      'linked_objects_referenced_by_objecttypes',
    ],
    [{ tokens_mode: 'prefix' }, 'ServerGeneric', 'body/tokens_mode'],
    [{ limit: 101 }, 'ServerGeneric', 'body/limit'],
    [{ timeout: -1 }, 'ServerGeneric', 'body/timeout'],
    [{ query: 'x'.repeat(1001) }, 'ServerGeneric', 'body/query'],
    [{ qery: 'x' }, 'ServerGeneric', 'qery'],
  ]
  for (const [request, code, name] of wrong) {
    const { status, body } = await root.post('/suggest', { query: 'ma', ...request })
    assert.deepEqual([status, body.code, body.parameters.name], [400, code, name], JSON.stringify(request))
  }
  for (const [fields, code] of [
    [['work.nothing'], 'SearchFieldUnknown'],
    [['work.width'], 'SearchFieldNotAllowed'],
    [['_pool'], 'SearchFieldNotAllowed'],
  ] as const) {
    const { status, body } = await root.post('/suggest', { query: 'ma', fields })
    assert.deepEqual([status, body.code], [400, code])
  }
  const link = await root.post('/suggest', { query: 'ma', fields: ['work.creator'], fields_suggest: true })
  assert.deepEqual([link.status, link.body.code], [400, 'SearchFieldNotAllowed'])
})

test('when the time is over, what there is is answered', async () => {
  const { status, body } = await root.post('/suggest', {
    query: 'ma',
    timeout: 1,
    fields: ['work.title'],
    fields_suggest: true,
    linked_objecttypes: ['place'],
  })
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual(Object.keys(body.suggestions), ['tokens', 'fields', 'linked_objects'])
  assert.equal(typeof body.timed_out, 'boolean')
})

test('words and values of linked objects complete what is typed, each with the objects that link there', async () => {
  const fields = ['work.creator.person.name']
  assert.deepEqual(await tokens({ query: 'tur', fields }), ['turner 2'])
  assert.deepEqual(await tokens({ query: 'william tur', fields }), ['william turner 2'])
  assert.deepEqual(await tokens({ query: 'will', fields: [...fields, 'work.title'] }), ['william 3'])
  assert.deepEqual(await tokens({ query: 'tur', fields: ['work.creator.person.reference'] }), ['turner-1 2'])
  assert.deepEqual(await tokens({ query: 'tur', fields: ['work.creator.person._fulltext'] }), ['turner 2'])
  assert.deepEqual(await tokens({ query: 'tur', fields }, reader), [])
  const { status, body } = await root.post('/suggest', { query: 'tur', fields, fields_suggest: true })
  assert.deepEqual([status, body.code], [400, 'SearchFieldNotAllowed'])
})
