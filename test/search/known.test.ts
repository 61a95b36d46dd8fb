import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { type SearchScene, startScene } from './support.ts'

let scene: SearchScene
before(async () => {
  scene = await startScene()
})
after(() => scene[Symbol.asyncDispose]())

/** A request with every name that has an effect. */
const everything = () => ({
  type: '',
  objecttypes: ['work'],
  offset: 0,
  limit: 3,
  format: 'long',
  merge_linked_objects: 'all',
  merge_max_depth: 1,
  languages: ['de-DE'],
  timezone: 'Europe/Berlin',
  include_deleted: true,
  generate_rights: true,
  best_mask_filter: false,
  include_fields: ['work.title'],
  exclude_fields: ['work.note'],
  sort: [
    { field: 'work.made', order: 'desc', mode: 'from_to' },
    { field: 'work.title', language: 'de-DE', numeric: true },
  ],
  search: [
    {
      type: 'text',
      bool: 'should',
      boost: 2,
      fields: ['work.title'],
      string: 'x',
      mode: 'wildcard',
      phrase: false,
      languages: [],
    },
    { type: 'match', bool: 'should', field: 'work.title', string: 'x', query: 'match' },
    { type: 'in', bool: 'should', fields: ['work.place'], in: [1], objecttype: 'place', include_path: true },
    {
      type: 'in',
      bool: 'should',
      field: 'work.place',
      subsearch: {
        objecttypes: ['place'],
        search: [{ type: 'text', string: 'x' }],
        field: '_system_object_id',
        timezone: '',
      },
    },
    { type: 'range', bool: 'should', field: 'work.width', from: 1, to: 2, from_equals: true, to_equals: false },
    { type: 'changelog_range', bool: 'should', from: '2020', to: '2021', operation: 'insert', comment: 'x', user: 1 },
    { type: 'complex', bool: 'should', search: [{ type: 'text', string: 'x' }] },
    { type: 'nested', bool: 'should', path: 'work._nested:work__topic', search: [] },
  ],
  aggregations: {
    a: {
      type: 'term',
      field: 'work.inventory',
      limit: 5,
      offset: 0,
      sort: 'term',
      order: 'asc',
      include: 'N.*',
      language: 'de-DE',
    },
    b: { type: 'linked_object', field: 'work.place', objecttype: 'place', filter_parent: 0 },
    c: { type: 'range', field: 'work.width', ranges: [{ from: 1, to: 2 }] },
  },
})

function* places(value: Json, path: (string | number)[] = []): Generator<(string | number)[]> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    const at = [...path, Array.isArray(value) ? Number(key) : key]
    if (!Array.isArray(value) && path.at(-1) !== 'aggregations') yield at
    yield* places(inner, at)
  }
}

const written = (path: (string | number)[]) =>
  path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .slice(1)

test('a misspelled name of a search is refused with its place and the name that was meant, a foreign one is named (decision 87)', async () => {
  const right = await scene.search(everything())
  assert.equal(right.status, 200, JSON.stringify(right.body))
  let count = 0
  let ignored = 0
  for (const path of places(everything())) {
    const request = everything()
    let holder: Json = request
    for (const step of path.slice(0, -1)) holder = holder[step]
    const key = String(path.at(-1))
    const typo = `${key}x`
    holder[typo] = holder[key]
    delete holder[key]
    const { status, body } = await scene.search(request)
    const at = written([...path.slice(0, -1), typo])
    if (status === 400 && body.parameters.missingProperty === key) continue
    assert.deepEqual([status, body.parameters.name], [400, at], JSON.stringify(body))
    if (key.length > 3) assert.equal(body.parameters.nearest, key, at)
    count++
    // Far from any known name, it is a key of the client's own: ignored, and named in the answer.
    const foreign = `client_${key}_of_its_own`
    holder[foreign] = holder[typo]
    delete holder[typo]
    const lenient = await scene.svc.as('root').post('/search', request)
    if (lenient.status !== 200) continue
    const place = written([...path.slice(0, -1), foreign])
    assert.equal(decodeURIComponent(String(lenient.headers['x-svc-ignored'])), place)
    const strict = await scene.svc.as('root').post('/search', request, { strict: 1 })
    assert.deepEqual([strict.status, strict.body.parameters.name], [400, place])
    ignored++
  }
  assert.ok(count > 70 && ignored > 40, `${count}, ${ignored}`)
})

test('a misspelled search does not find everything', async () => {
  for (const send of [
    () => scene.search({ serch: [] }),
    () => scene.svc.as('root').get('/search', { BODY: '{"serch": []}' }),
  ]) {
    const { status, body } = await send()
    assert.deepEqual([status, body.message], [400, 'serch is not known in a search; did you mean search?'])
  }
})

test('a name that has no effect where it stands is refused, unless it says nothing', async () => {
  const term = { type: 'term', field: 'work.inventory' }
  const range = { type: 'range', field: 'work.width', ranges: [{ from: 1 }] }
  for (const [place, request] of [
    ['search[0].phrase', { search: [{ type: 'in', fields: ['_system_object_id'], in: [1], phrase: true }] }],
    ['search[0].fields', { search: [{ type: 'range', field: 'work.width', fields: ['work.width'], from: 1 }] }],
    ['search[0].subsearch.limit', { search: [{ type: 'in', field: 'work.place', subsearch: { limit: 5 } }] }],
    ['aggregations.a.filter_parent', { aggregations: { a: { ...term, filter_parent: 1 } } }],
    ['aggregations.a.format', { aggregations: { a: { ...term, format: 'long' } } }],
    ['aggregations.a.limit', { aggregations: { a: { ...range, limit: 1 } } }],
    ['aggregations.a.offset', { aggregations: { a: { ...range, offset: 1 } } }],
    ['aggregations.a.sort', { aggregations: { a: { ...range, sort: 'term' } } }],
    ['aggregations.a.order', { aggregations: { a: { ...range, order: 'asc' } } }],
    ['aggregations.a.include', { aggregations: { a: { ...range, include: 'x' } } }],
    ['aggregations.a.language', { aggregations: { a: { ...range, language: 'de-DE' } } }],
    ['sort[0].numeric', { sort: [{ field: 'work.width', numeric: false }] }],
    ['sort[0].mode', { sort: [{ field: 'work.inventory', mode: 'to' }] }],
    ['sort[0].mode', { sort: [{ field: '_created', mode: 'to' }] }],
  ] as const) {
    const { status, body } = await scene.search(request)
    assert.deepEqual([status, body.parameters.name], [400, place], JSON.stringify(body))
  }
  const empty = {
    type: 'in',
    fields: ['_system_object_id'],
    in: [1],
    phrase: false,
    string: '',
    languages: [],
    path: null,
  }
  assert.equal((await scene.search({ search: [empty] })).status, 200)
})

test('sort mode from_to: dates that begin alike go by their ends', async () => {
  const root = scene.svc.as('root')
  const works = ['1850', '1850-01', '1850-01-01', '1849'].map((made) => ({
    _objecttype: 'work',
    _mask: '_all_fields',
    work: { _pool: { pool: { _id: scene.pool } }, note: 'sorted by both ends', made: { value: made } },
  }))
  assert.equal((await root.post('/db/work', works, { await_index: 30 })).status, 200)
  const order = async (sort: object): Promise<Json[]> => {
    const search = [{ type: 'text', fields: ['work.note'], string: 'sorted by both ends', phrase: true }]
    const { body } = await scene.search({ search, sort: [{ field: 'work.made', ...sort }], format: 'long' })
    assert.equal(body.count, 4)
    return body.objects
  }
  const made = (objects: Json[]) => objects.map((object) => object.work.made.value)
  const ascending = await order({ mode: 'from_to' })
  assert.deepEqual(made(ascending), ['1849', '1850-01-01', '1850-01', '1850'])
  assert.deepEqual(made(await order({ mode: 'from_to', order: 'desc' })), ['1850', '1850-01', '1850-01-01', '1849'])
  const search = [{ type: 'text', fields: ['work.note'], string: 'sorted by both ends', phrase: true }]
  const rest = await scene.search({
    search,
    format: 'long',
    sort: [{ field: 'work.made', mode: 'from_to' }],
    search_after: ascending[1]._sort,
  })
  assert.deepEqual(made(rest.body.objects), ['1850-01', '1850'])
})

test('the time zone counts for times of an in element, not for days', async () => {
  const root = scene.svc.as('root')
  const work = (seen: string, made: string) => ({
    _objecttype: 'work',
    _mask: '_all_fields',
    work: { _pool: { pool: { _id: scene.pool } }, seen: { value: seen }, made: { value: made } },
  })
  const saved = await root.post('/db/work', [work('2031-07-01T10:00:00Z', '2031-07-01')], { await_index: 30 })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const count = async (field: string, value: string, timezone: string) =>
    (await scene.search({ timezone, search: [{ type: 'in', fields: [field], in: [value] }] })).body.count
  assert.equal(await count('work.seen', '2031-07-01T10:00:00', 'UTC'), 1)
  assert.equal(await count('work.seen', '2031-07-01T12:00:00', 'Europe/Berlin'), 1)
  assert.equal(await count('work.seen', '2031-07-01T10:00:00', 'Europe/Berlin'), 0)
  assert.equal(await count('work.seen', '2031-07-01T10:00:00Z', 'Europe/Berlin'), 1)
  assert.equal(await count('work.made', '2031-07-01', 'Europe/Berlin'), 1)
})

test('merge_max_depth is answered as it was applied', async () => {
  const echo = async (request: object) => (await scene.search(request)).body.merge_max_depth
  assert.equal(await echo({}), 0)
  assert.equal(await echo({ merge_max_depth: 5 }), 0)
  assert.equal(await echo({ merge_linked_objects: 'all' }), 1)
  assert.equal(await echo({ merge_linked_objects: 'all', merge_max_depth: 2 }), 2)
  assert.equal(await echo({ merge_linked_objects: 'all', merge_max_depth: 100 }), 10)
})

test('requests as clients send them: text for numbers, numbers for text, null for lists, object for the empty domain', async () => {
  const nothingSaid = ['search', 'sort', 'aggregations', 'fields', 'objecttypes', 'languages', 'include_fields']
  const plain = await scene.search({ limit: 2, offset: 1 })
  const sent = {
    ...Object.fromEntries(nothingSaid.map((name) => [name, null])),
    type: 'object',
    limit: '2',
    offset: '1',
  }
  const answer = await scene.search(sent)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  assert.deepEqual(answer.body.objects, plain.body.objects)
  assert.deepEqual([answer.body.count, answer.body.limit], [plain.body.count, 2])
  const id = plain.body.objects[0]._system_object_id
  const byText = await scene.search({ search: [{ type: 'in', fields: ['_system_object_id'], in: [`${id}`] }] })
  assert.deepEqual([byText.status, byText.body.count], [200, 1])
  const byNumber = await scene.search({ search: [{ type: 'match', string: 1850, mode: 'fulltext' }] })
  const asText = await scene.search({ search: [{ type: 'match', string: '1850', mode: 'fulltext' }] })
  assert.deepEqual([byNumber.status, byNumber.body.count], [200, asText.body.count])
  const cached = await scene.svc.as('root').get('/search', { BODY: JSON.stringify(sent) })
  assert.deepEqual(cached.body.objects, plain.body.objects)
  for (const wrong of [{ limit: 'two' }, { limit: '1.5' }, { offset: '9'.repeat(17) }, { type: 'objects' }]) {
    assert.equal((await scene.search(wrong)).status, 400, JSON.stringify(wrong))
  }
})

test('a lone asterisk finds everything', async () => {
  const all = (await scene.search({})).body.count
  assert.ok(all > 3)
  for (const mode of ['fulltext', 'wildcard']) {
    const { status, body } = await scene.search({ search: [{ type: 'match', string: ' * ', mode }] })
    assert.deepEqual([status, body.count], [200, all])
  }
  const none = await scene.search({ search: [{ type: 'match', string: '*', bool: 'must_not' }] })
  assert.equal(none.body.count, 0)
})
