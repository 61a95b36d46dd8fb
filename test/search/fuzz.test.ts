import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { hostileValue, mutated } from '../support/hostile.ts'
import { type SearchScene, startScene } from './support.ts'

let scene: SearchScene
before(async () => {
  scene = await startScene()
})
after(() => scene[Symbol.asyncDispose]())

/** Requests that use everything, to be broken at any place. */
const requests = [
  {
    objecttypes: ['work', 'person'],
    offset: 1,
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
      {
        field: 'work.title',
        order: 'desc',
        language: 'de-DE',
        numeric: true,
        with_path: false,
        mode: '',
        number_groups: [],
      },
      { field: '_score' },
    ],
    search: [
      {
        type: 'match',
        bool: 'should',
        boost: 2,
        fields: ['work.title', '_fulltext'],
        string: 'bridge dawn',
        mode: 'wildcard',
        phrase: false,
        languages: ['en-US'],
      },
      {
        type: 'text',
        bool: 'should',
        fields: ['work.note', 'work.inventory', 'work.width', 'work.made'],
        string: '*a?b* 1801',
        mode: 'wildcard',
      },
      { type: 'in', bool: 'should', fields: ['work.place'], in: [1, null], objecttype: 'place', include_path: true },
      { type: 'in', bool: 'must_not', fields: ['work.title', 'work._nested:work__material.name'], in: ['x', null] },
      {
        type: 'in',
        bool: 'should',
        fields: ['work.creator'],
        subsearch: { objecttypes: ['person'], search: [{ type: 'text', string: 'a' }] },
      },
      {
        type: 'range',
        bool: 'should',
        field: 'work.made',
        from: '1800',
        to: '1900-01',
        from_equals: true,
        to_equals: false,
      },
      { type: 'range', bool: 'should', field: 'work.weight', from: -1.5, to: 1e20 },
      {
        type: 'changelog_range',
        bool: 'should',
        field: '_changelog',
        from: '2000',
        operation: 'INSERT',
        comment: 'a%b',
        user: 1,
      },
      { type: 'complex', bool: 'should', search: [{ type: 'text', string: 'paper', phrase: true }] },
      {
        type: 'nested',
        bool: 'should',
        path: 'work._nested:work__material',
        search: [{ type: 'range', field: 'work._nested:work__material.amount', from: 1 }],
      },
    ],
    aggregations: {
      a: {
        type: 'term',
        field: 'work._nested:work__material.name',
        limit: 3,
        offset: 1,
        sort: 'term',
        order: 'desc',
        include: '.*',
        language: 'en-US',
      },
      b: { type: 'linked_object', field: 'work.place', objecttype: 'place', filter_parent: 0 },
      c: { type: 'date_range', field: 'work.made', ranges: [{ from: '1800', to: '1850' }] },
      d: { type: 'term', field: 'work.title' },
    },
  },
  {
    objecttypes: ['work'],
    sort: [{ field: 'work.width' }, { field: '_created' }, { field: 'work.title' }],
    search_after: ['c059000000000000', 5, '6162', 7],
    search: [
      { type: 'in', fields: ['_system_object_id'], in: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] },
      { type: 'in', bool: 'should', fields: ['_uuid', '_objecttype'], in: ['work'] },
      { type: 'in', bool: 'should', fields: ['_pool', '_tags', '_owner', 'work._id'], in: [1] },
    ],
  },
]

async function assertSafe(send: () => Promise<{ status: number; body: unknown }>, input: unknown): Promise<void> {
  const { status, body } = await send()
  assert.ok(
    status === 200 || (status >= 400 && status < 500),
    `${status} ${JSON.stringify(body)} for ${JSON.stringify(input)?.slice(0, 2000)}`,
  )
  if (status !== 200) assert.ok((body as { code?: string }).code, JSON.stringify(body))
}

test('the requests are good before they are broken', async () => {
  for (const request of requests) {
    const answer = await scene.search(request)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
  }
})

test('a request that is wrong at any place is answered 400, never 500', async () => {
  for (const request of requests) {
    await fc.assert(
      fc.asyncProperty(mutated(request), (broken) => assertSafe(() => scene.search(broken as object), broken)),
      { numRuns: 400 },
    )
  }
})

test('whatever is sent as an element, a bound or a name', async () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 30 }),
    fc.constantFrom("'", '\\', "a'b\\c:*", '&|!()<->', '{{0}}', '$1', ':*', '~a', '%', '_', '*\\'),
  )
  await fc.assert(
    fc.asyncProperty(
      text,
      hostileValue,
      fc.constantFrom('fulltext', 'token', 'wildcard'),
      fc.boolean(),
      async (string, value, mode, phrase) => {
        for (const element of [
          { type: 'text', string, mode, phrase },
          {
            type: 'text',
            string,
            mode,
            phrase,
            fields: ['work.title', 'work.inventory', 'work._nested:work__material.name'],
          },
          { type: 'in', fields: ['work.title'], in: [string] },
          { type: 'in', fields: ['work.inventory', 'work._nested:work__material.name'], in: [string] },
          { type: 'in', fields: ['work.title'], in: [value] },
          { type: 'in', fields: [string], in: [1] },
          { type: 'range', field: 'work.width', from: value },
          { type: 'range', field: 'work.made', to: value },
          { type: 'nested', path: string, search: [] },
        ]) {
          await assertSafe(() => scene.search({ search: [element] }), element)
        }
        await assertSafe(() => scene.svc.as('root').get('/search', { BODY: string }), string)
        await assertSafe(
          () => scene.search({ aggregations: { [string]: { type: 'term', field: '_objecttype', include: string } } }),
          string,
        )
      },
    ),
    { numRuns: 100 },
  )
})

test('searches that are too much are refused', async () => {
  let deep: object = { type: 'text', string: 'a' }
  for (let i = 0; i < 500; i++) deep = { type: 'complex', search: [deep] }
  const many = (count: number) => ({
    type: 'in',
    fields: ['work.place'],
    in: Array.from({ length: count }, (_, i) => i),
  })
  for (const search of [
    [deep],
    [many(10_001)],
    [many(10_000), many(9999), many(9999)],
    Array(501).fill({ type: 'text', string: 'a' }),
    [{ type: 'text', string: 'a '.repeat(9000) }],
  ]) {
    const { status, body } = await scene.search({ search })
    assert.equal(status, 400, JSON.stringify(body).slice(0, 300))
  }
  assert.equal((await scene.search({ search: [many(10_000)] })).status, 200)
  assert.equal((await scene.search({ search: [{ type: 'text', string: 'word '.repeat(1900) }] })).status, 200)
  assert.equal((await scene.search({ limit: 1001 })).status, 400)
  assert.equal((await scene.search({ limit: -1 })).status, 400)
  assert.equal((await scene.search({ offset: 2 ** 53 })).status, 400)
  assert.equal((await scene.search({ offset: 2 ** 52 })).status, 200)
})
