import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { picture, upload } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { link, payload } from '../support/seed/museum.ts'
import { type SearchScene, startScene, text } from './support.ts'

let scene: SearchScene
before(async () => {
  scene = await startScene()
})
after(() => scene[Symbol.asyncDispose]())

const works = { objecttypes: ['work'] }
const order = (...sort: object[]) => scene.found({ ...works, sort })

describe('order', () => {
  test('by a field, in a language, up and down; missing values last', async () => {
    assert.deepEqual(await order({ field: 'work.width' }), ['tyger', 'dawn', 'bridge', 'beast', 'blank'])
    assert.deepEqual(await order({ field: 'work.width', order: 'desc' }), ['bridge', 'dawn', 'tyger', 'beast', 'blank'])
    assert.deepEqual(await order({ field: 'work.title', language: 'en-US' }), [
      'dawn',
      'beast',
      'tyger',
      'bridge',
      'blank',
    ])
    assert.deepEqual(await order({ field: 'work.title', language: 'de-DE' }), [
      'beast',
      'dawn',
      'bridge',
      'tyger',
      'blank',
    ])
    assert.deepEqual(await order({ field: 'work.title.de-DE', order: 'desc' }), [
      'tyger',
      'bridge',
      'dawn',
      'beast',
      'blank',
    ])
    assert.deepEqual(await order({ field: 'work.weight' }), ['dawn', 'bridge', 'tyger', 'beast', 'blank'])
    assert.deepEqual(await order({ field: 'work.signed', order: 'desc' }), [
      'bridge',
      'tyger',
      'dawn',
      'beast',
      'blank',
    ])
  })

  test('numbers in texts count as numbers', async () => {
    assert.deepEqual(await order({ field: 'work.inventory', numeric: true }), [
      'dawn',
      'beast',
      'bridge',
      'tyger',
      'blank',
    ])
  })

  test('dates by their beginning, or by their end', async () => {
    assert.deepEqual(await order({ field: 'work.made' }), ['tyger', 'dawn', 'bridge', 'beast', 'blank'])
    assert.deepEqual(await order({ field: 'work.period' }), ['dawn', 'bridge', 'tyger', 'beast', 'blank'])
    assert.deepEqual(await order({ field: 'work.period', mode: 'to' }), ['bridge', 'dawn', 'tyger', 'beast', 'blank'])
  })

  test('links by what they show, letters with accents beside those without', async () => {
    assert.deepEqual(await order({ field: 'work.creator' }, { field: 'work.width' }), [
      'beast',
      'tyger',
      'dawn',
      'bridge',
      'blank',
    ])
    assert.deepEqual(await scene.found({ objecttypes: ['person'], sort: [{ field: 'person.name' }] }), [
      'baer',
      'blake',
      'turner',
    ])
    assert.deepEqual(await scene.found({ objecttypes: ['person'], sort: [{ field: '_standard', order: 'desc' }] }), [
      'turner',
      'blake',
      'baer',
    ])
  })

  test('by several keys, over several object types, by system fields', async () => {
    assert.deepEqual(await order({ field: 'work.signed' }, { field: 'work.inventory', order: 'desc' }), [
      'blank',
      'beast',
      'dawn',
      'tyger',
      'bridge',
    ])
    const mixed = await scene.found({
      objecttypes: ['work', 'person'],
      sort: [{ field: 'work.width' }, { field: 'person.born' }],
    })
    assert.deepEqual(mixed, ['tyger', 'dawn', 'bridge', 'blake', 'turner', 'baer', 'beast', 'blank'])
    const types = await scene.found({ search: [text('blake')], sort: [{ field: '_objecttype' }] })
    assert.deepEqual(types, ['blake', 'tyger'])
    const newest = await order({ field: '_created', order: 'desc' }, { field: '_system_object_id', order: 'desc' })
    assert.deepEqual(newest, ['blank', 'beast', 'tyger', 'dawn', 'bridge'])
  })

  test('by _score: titles before notes, boosted elements first', async () => {
    assert.deepEqual(await scene.found({ ...works, search: [text('dawn')] }), ['dawn', 'bridge'])
    const boosted = [text('tyger', { bool: 'should' }), text('beast', { bool: 'should', boost: 5 })]
    assert.deepEqual(await scene.found({ ...works, search: boosted }), ['beast', 'tyger'])
    const answer = await scene.search({ ...works, search: boosted })
    const [first, second] = answer.body.objects
    assert.ok(first._score > second._score)
    assert.deepEqual(await scene.found({ ...works, search: boosted, sort: [{ field: '_score', order: 'asc' }] }), [
      'tyger',
      'beast',
    ])
  })

  test('a field that nobody knows is named, with the nearest one', async () => {
    for (const [field, nearest] of [
      ['work.titel', 'work.title'],
      ['work.titel.en-US', 'work.title'],
      ['_objectype', '_objecttype'],
      ['_linked._asset.clas', '_linked._asset.class'],
    ] as const) {
      const { body } = await scene.search({ search: [{ type: 'in', fields: [field], in: ['x'] }] })
      assert.deepEqual([body.code, body.parameters], ['SearchFieldUnknown', { field, nearest }])
      assert.match(body.message, /^The search field .* does not exist; did you mean .*\?$/)
    }
  })

  test('fields that cannot sort are refused', async () => {
    const code = async (field: string) => (await scene.search({ ...works, sort: [{ field }] })).body.code
    assert.equal(await code('work.location'), 'SearchFieldNotAllowed')
    assert.equal(await code('_fulltext'), 'SearchFieldNotAllowed')
    assert.equal(await code('work.nothing'), 'SearchFieldUnknown')
    assert.equal(await code(''), 'SearchFieldUnknown')
  })
})

describe('pages', () => {
  test('SR-004 SR-033 offset and limit, with the number of all matches', async () => {
    const page = async (offset: number, limit: number) => {
      const answer = await scene.search({ ...works, offset, limit, sort: [{ field: 'work.inventory' }] })
      const { body } = answer
      assert.deepEqual([body.count, body.offset, body.limit], [5, offset, limit])
      return body.objects.map((object: Json) => object.work.inventory)
    }
    assert.deepEqual(await page(0, 2), ['N2', 'N9'])
    assert.deepEqual(await page(2, 2), ['N10', 'N100'])
    assert.deepEqual(await page(4, 2), ['X1'])
    assert.deepEqual(await page(9, 2), [])
    assert.deepEqual(await page(0, 0), [])
  })

  test('LIM-014 pages have at most as many entries as is documented', async () => {
    const root = scene.svc.as('root')
    const page = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'operations.md'), 'utf8')
    const aggregation = (limit?: number) =>
      root.post('/search', { aggregations: { it: { type: 'term', field: 'work.inventory', limit } } })
    const [file] = (await upload(scene.svc, 'root', [{ name: 'a.jpg', content: await picture() }])).body
    const { task } = (
      await root.post('/task', { task: { task_module: 'search', task_params: { search: { search: [] } } } })
    ).body
    const lists: [row: string, most: number, ask: (limit: number) => Promise<{ status: number; body: Json }>][] = [
      ['| `GET /user` | 100 | 1,000 |', 1000, (limit) => root.get('/user', { limit })],
      ['| `GET /group` | 1,000 | 1,000 |', 1000, (limit) => root.get('/group', { limit })],
      ['| `GET /pool` | 1,000 | 1,000,000 |', 1_000_000, (limit) => root.get('/pool', { limit })],
      ['| `GET /collection/list` | 1,000 | 10,000 |', 10_000, (limit) => root.get('/collection/list', { limit })],
      [
        '| `GET /collection/list/{parentId}` | 1,000 | 10,000 |',
        10_000,
        (limit) => root.get('/collection/list/1', { limit }),
      ],
      [
        '| `GET /collection/objects/{collectionId}` | 100 | 10,000 |',
        10_000,
        (limit) => root.get('/collection/objects/3', { limit }),
      ],
      ['| `GET /task` | 100 | 1,000 |', 1000, (limit) => root.get('/task', { limit })],
      ['| `GET /task/{taskId}/log` | 100 | 10,000 |', 10_000, (limit) => root.get(`/task/${task._id}/log`, { limit })],
      ['| `GET /export` | 100 | 1,000 |', 1000, (limit) => root.get('/export', { limit })],
      ['| `GET /publish` | 10,000 | 10,000 |', 10_000, (limit) => root.get('/publish', { limit })],
      ['| `GET /message` | 1,000 | 1,000 |', 1000, (limit) => root.get('/message', { limit })],
      ['| `GET /right/invalid` | 100 | 1,000 |', 1000, (limit) => root.get('/right/invalid', { limit })],
      ['| `GET /eas/{fileId}/similar` | 20 | 100 |', 100, (limit) => root.get(`/eas/${file._id}/similar`, { limit })],
      [
        '| `GET /db/{objecttype}/{mask}/list` | 1,000 | 10,000 |',
        10_000,
        (limit) => root.get('/db/work/_all_fields/list', { limit }),
      ],
      ['| `POST /search`, `GET /search` | 100 | 1,000 |', 1000, (limit) => root.post('/search', { limit })],
      [
        '| `POST /search`, `GET /search` | 100 | 1,000 |',
        1000,
        (limit) => root.get('/search', { BODY: `{"limit":${limit}}` }),
      ],
      ['| `POST /search/parse` | 100 | 1,000 |', 1000, (limit) => root.post('/search/parse', { query: '', limit })],
      ['| `GET /export` | 100 | 1,000 |', 1000, (limit) => root.get('/export', { limit })],
      ['| `GET /system/share_link` | 1,000 | 10,000 |', 10_000, (limit) => root.get('/system/share_link', { limit })],
      ['| `GET /search/parse` | 100 | 1,000 |', 1000, (limit) => root.get('/search/parse', { query: '', limit })],
      ['| an aggregation of a search | 10 | 10,000 |', 10_000, aggregation],
    ]
    for (const [row, most, ask] of lists) {
      assert.ok(page.includes(row), row)
      assert.equal((await ask(most)).status, 200, row)
      const refused = await ask(most + 1)
      assert.deepEqual([refused.status, refused.body.code], [400, 'ServerGeneric'], row)
    }
    const harvests = '| `GET /oai` | 100 (`oai_pmh.records_limit`) | 10,000 |'
    assert.ok(page.includes(harvests), harvests)
    assert.equal((await root.post('/config/system/config/oai_pmh', { enabled: true })).status, 200)
    const harvest = async (limit: number) => {
      const { status, body } = await root.get('/oai', { verb: 'ListSets', limit })
      return [status, /<error code="(\w+)"/.exec(body)?.[1]]
    }
    assert.deepEqual(await Promise.all([harvest(10_000), harvest(10_001)]), [
      [200, 'noRecordsMatch'],
      // Harvesters may name any number: a larger one counts as the highest (test/harvest).
      [200, 'noRecordsMatch'],
    ])
    const { paths } = (await root.get('/system/openapi/spec.json')).body
    const paged = Object.keys(paths).filter((path) =>
      paths[path].get?.parameters?.some(({ name }: Json) => name === 'limit'),
    )
    assert.ok(paged.length > 8, `${paged}`)
    for (const path of paged) {
      const begin = `| \`GET ${path.replace('/api/v1', '')}\` |`
      const rows = [...lists.map(([row]) => row), harvests]
      assert.ok(begin.includes('/event/') || rows.some((row) => row.startsWith(begin)), `${path} has no row`)
    }
    const pools = Array.from({ length: 1001 }, () => ({ pool: { _id_parent: 1 } }))
    assert.equal((await root.post('/pool', pools)).status, 200)
    assert.equal((await root.get('/pool')).body.length, 1000)
    assert.ok((await root.get('/pool', { limit: 1_000_000 })).body.length > 1001)
    const users = Array.from({ length: 101 }, (_, n) => ({ user: { login: `listed-${n}` } }))
    assert.equal((await root.post('/user', users)).status, 200)
    assert.equal((await root.get('/user')).body.length, 100)
    const people = Array.from({ length: 1001 }, (_, n) => payload('person', { name: `Listed ${n}` }))
    assert.equal((await root.post('/db/person', people, { skip_index: 1, format: 'short' })).status, 200)
    assert.equal((await root.get('/db/person/_all_fields/list', { format: 'short' })).body.length, 1000)
    assert.equal((await scene.search({})).body.limit, 100)
  })

  test('SR-018 search_after continues behind the last hit, whatever the order', async () => {
    for (const sort of [
      [{ field: 'work.width' }],
      [{ field: 'work.width', order: 'desc' }],
      [{ field: 'work.signed' }, { field: 'work.title', order: 'desc' }],
      [{ field: '_created', order: 'desc' }],
      [{ field: '_objecttype' }, { field: 'work.made', mode: 'to' }],
      [{ field: '_score' }, { field: 'work.weight' }],
      [],
    ]) {
      const search = [
        text('n*', { mode: 'wildcard', bool: 'should' }),
        text('x1', { bool: 'should', fields: ['work.inventory'] }),
        { type: 'in', bool: 'should', fields: ['work.width'], in: [null, 7, 20, 100] },
      ]
      const request = { ...works, search, sort }
      const all = await scene.found(request)
      assert.equal(all.length, 5)
      const paged: string[] = []
      let after: unknown
      for (let page = 0; page < 6; page++) {
        const answer = await scene.search({ ...request, limit: 1, ...(after ? { search_after: after } : {}) })
        assert.equal(answer.status, 200, JSON.stringify(answer.body))
        assert.equal(answer.body.count, 5)
        if (answer.body.objects.length === 0) break
        const [hit] = answer.body.objects
        after = hit._sort
        paged.push(Object.entries(scene.ids).find(([, id]) => id === hit._system_object_id)?.[0] ?? '')
      }
      assert.deepEqual(paged, all, JSON.stringify(sort))
    }
  })
})

describe('answers', () => {
  test('SR-032 SR-034 SR-035 SR-036 an answer says what was asked for, and has the page and the aggregations', async () => {
    const request = {
      ...works,
      offset: 1,
      limit: 2,
      languages: ['de-DE'],
      format: 'long',
      merge_linked_objects: 'all',
      merge_max_depth: 2,
      sort: [{ field: 'work.inventory' }],
      aggregations: { signed: { type: 'term', field: 'work.signed' } },
    }
    const { body } = await scene.search(request)
    const { objects, aggregations, ...rest } = body
    assert.deepEqual(rest, {
      type: '',
      objecttypes: ['work'],
      language: 'de-DE',
      count: 5,
      offset: 1,
      limit: 2,
      format: 'long',
      merge_linked_objects: 'all',
      merge_max_depth: 2,
    })
    assert.deepEqual(
      objects.map((object: Json) => [object._system_object_id, object.work.inventory]),
      [
        [scene.ids.beast, 'N9'],
        [scene.ids.bridge, 'N10'],
      ],
    )
    assert.deepEqual(Object.keys(aggregations), ['signed'])
    assert.deepEqual(aggregations.signed.terms, [
      { term: 'false', count: 3 },
      { term: 'true', count: 2 },
    ])
    const { objects: all, ...plain } = (await scene.search({})).body
    assert.equal(all.length, 14)
    assert.deepEqual(plain, {
      type: '',
      objecttypes: ['person', 'place', 'topic', 'work', 'loan'],
      language: 'en-US',
      count: 14,
      offset: 0,
      limit: 100,
      format: 'standard',
      merge_linked_objects: 'none',
      merge_max_depth: 0,
    })
    const page = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'search.md'), 'utf8')
    const documented = page.split('\n## ').find((part) => part.startsWith('The answer')) ?? ''
    for (const key of Object.keys(body)) assert.ok(documented.includes(`\`${key}\``), key)
  })

  test('SR-005 the format decides how much of an object is answered', async () => {
    const object = async (format?: string): Promise<Json> => {
      const { status, body } = await scene.search({ search: [text('tyger')], ...works, ...(format ? { format } : {}) })
      assert.equal(status, 200, JSON.stringify(body))
      assert.equal(body.format, format ?? 'standard')
      return body.objects[0]
    }
    const [short, standard, long] = [await object('short'), await object('standard'), await object('long')]
    assert.deepEqual([short.work.title, '_created' in short], [undefined, false])
    assert.deepEqual([standard.work.title['en-US'], '_create_user' in standard], ['The Tyger', false])
    assert.deepEqual([long.work.title['en-US'], '_create_user' in long], ['The Tyger', true])
    assert.deepEqual(await object(), standard)
    assert.equal((await scene.search({ format: 'glossy' })).status, 400)
  })

  test('SR-006 linked objects are embedded as merge_linked_objects says, as deep as merge_max_depth', async () => {
    const root = scene.svc.as('root')
    const loan = payload('loan', { borrower: 'Prado', work: link('work', scene.ids.tyger as number) })
    assert.equal((await root.post('/db/loan', [loan], { await_index: 20 })).status, 200)
    const work = async (request: object): Promise<Json> =>
      (await scene.search({ objecttypes: ['loan'], format: 'standard', ...request })).body.objects[0].loan.work.work
    const [none, all] = [{ merge_linked_objects: 'none' }, { merge_linked_objects: 'all' }]
    assert.equal((await work(none)).inventory, undefined)
    assert.equal((await work({})).inventory, undefined)
    const one = await work({ ...all, merge_max_depth: 1 })
    assert.deepEqual([one.inventory, one.creator.person.reference], ['N100', undefined])
    const two = await work({ ...all, merge_max_depth: 2 })
    assert.deepEqual([two.inventory, two.creator.person.reference], ['N100', 'blake-1'])
    const gone = (await scene.search({ objecttypes: ['loan'] })).body.objects[0].loan
    const removed = await root.delete('/db/loan', [[gone._id, 1, null]], { delete_policy: 'remove', await_index: 20 })
    assert.equal(removed.status, 200, JSON.stringify(removed.body))
  })

  test('SEARCH-002 a malformed request is answered 400', async () => {
    const requests: unknown[] = [
      [],
      'text',
      null,
      { search: {} },
      { search: ['text'] },
      { search: [{ type: 'all' }] },
      { search: [{ type: 'text' }] },
      { search: [{ type: 'in', fields: ['work.width'] }] },
      { limit: 'ten' },
      { limit: -1 },
      { offset: -1 },
      { sort: [{ order: 'asc' }] },
      { sort: [{ field: 'work.width', order: 'up' }] },
      { aggregations: [] },
      { aggregations: { it: { type: 'term' } } },
      { format: 'glossy' },
      { type: 'nothing' },
      { objecttypes: 'work' },
      { timezone: 'Europe/Nowhere' },
      { serch: [] },
    ]
    for (const request of requests) {
      const { status, body } = await scene.svc.as('root').post('/search', request)
      assert.equal(status, 400, JSON.stringify(request))
      assert.ok(body.code && body.message, JSON.stringify(body))
    }
    const headers = {
      authorization: `Bearer ${await scene.svc.as('root').token()}`,
      'content-type': 'application/json',
    }
    const cut = await scene.svc.inject({ method: 'POST', url: '/api/v1/search', headers, payload: '{"search":[' })
    assert.equal(cut.statusCode, 400)
  })

  test('SR-002 object types restrict, none does not, unknown ones are refused', async () => {
    const types = async (request: object) => [
      ...new Set((await scene.search({ limit: 1000, ...request })).body.objects.map((each: Json) => each._objecttype)),
    ]
    assert.deepEqual(await types({ objecttypes: ['person', 'work'] }), ['person', 'work'])
    assert.equal((await scene.search({ objecttypes: ['person', 'work'] })).body.count, 8)
    for (const request of [{ objecttypes: [] }, {}]) {
      assert.deepEqual((await types(request)).toSorted(), ['person', 'place', 'topic', 'work'])
    }
    const answer = await scene.search({ objecttypes: ['sculpture'] })
    assert.equal(answer.status, 400)
    assert.equal(answer.body.code, 'UnknownObjecttype')
  })

  test('SEARCH-004 SEARCH-005 GET takes the request as BODY and may be cached', async () => {
    const root = scene.svc.as('root')
    const request = { ...works, search: [text('tyger')] }
    const answer = await root.get('/search', { BODY: JSON.stringify(request) })
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.body, (await scene.search(request)).body)
    assert.equal(answer.headers['cache-control'], 'no-store, no-cache')
    const cached = await root.get('/search', { BODY: '{}', cache_seconds: 60 })
    assert.equal(cached.headers['cache-control'], 'max-age=60, private')
    const uncached = await root.get('/search', { BODY: '{}', cache_seconds: 0 })
    assert.equal(uncached.headers['cache-control'], 'no-store, no-cache')
    for (const BODY of ['', '{', '[]', '1', '{"limit":"x"}', '{"search":{}}']) {
      assert.equal((await root.get('/search', { BODY })).status, 400, BODY)
    }
    assert.equal((await root.get('/search')).status, 400)
    const deep = `{"search":[${'{"type":"complex","search":['.repeat(60)}${']}'.repeat(60)}]}`
    const refused = await root.get('/search', { BODY: deep })
    assert.deepEqual([refused.status, refused.body.parameters.limit], [400, 100])
  })

  test('nobody searches without a token', async () => {
    assert.equal((await scene.svc.as(null).post('/search', {})).status, 401)
    assert.equal((await scene.svc.as(null).post('/system/reindex')).status, 401)
  })
})
