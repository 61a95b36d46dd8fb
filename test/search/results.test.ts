import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Json } from '../support/client.ts'
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

  test('SR-024 by _score: titles before notes, boosted elements first', async () => {
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
  test('SR-032 SR-034 the keys of an answer', async () => {
    const { body } = await scene.search({
      ...works,
      limit: 1,
      languages: ['de-DE'],
      format: 'long',
      merge_linked_objects: 'all',
      merge_max_depth: 1,
    })
    const { objects, ...rest } = body
    assert.equal(objects.length, 1)
    assert.deepEqual(rest, {
      type: '',
      objecttypes: ['work'],
      language: 'de-DE',
      count: 5,
      offset: 0,
      limit: 1,
      format: 'long',
      merge_linked_objects: 'all',
      merge_max_depth: 1,
    })
  })

  test('SR-005 formats; other domains', async () => {
    const short = await scene.search({ ...works, limit: 1, format: 'short' })
    assert.equal(short.body.format, 'short')
    assert.equal(short.body.objects[0].work?.title, undefined)
    assert.ok((await scene.search({ ...works, limit: 1 })).body.objects[0].work.title)
    assert.equal((await scene.search({ format: 'glossy' })).status, 400)
    assert.equal((await scene.search({ type: 'nothing' })).status, 400)
  })

  test('SR-002 object types restrict, unknown ones are refused', async () => {
    assert.equal((await scene.search({ objecttypes: ['person', 'work'] })).body.count, 8)
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
    assert.equal(cached.headers['cache-control'], 'max-age=60, public')
    for (const BODY of ['', '{', '[]', '1', '{"limit":"x"}', '{"search":{}}']) {
      assert.equal((await root.get('/search', { BODY })).status, 400, BODY)
    }
    assert.equal((await root.get('/search')).status, 400)
    const deep = `{"search":[${'{"type":"complex","search":['.repeat(60)}${']}'.repeat(60)}]}`
    const refused = await root.get('/search', { BODY: deep })
    assert.deepEqual([refused.status, refused.body.parameters.limit], [400, 100])
  })

  test('SEARCH-001 nobody searches without a token', async () => {
    assert.equal((await scene.svc.as(null).post('/search', {})).status, 401)
    assert.equal((await scene.svc.as(null).post('/system/reindex')).status, 401)
  })
})
