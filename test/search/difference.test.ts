import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onStatement } from '../../src/platform/postgres/statements.ts'
import { createPostgresIndex } from '../../src/search/postgres/service.ts'
import { createPool } from '../pools/support.ts'
import { type People, seedPeople, seedTag, toGroup, toUser, wireGrant } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { otherSearchIndex } from '../support/search-index.ts'
import { link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

/**
 * Cached results, and columns in memory, are brought up to date by what has changed. Each is compared with a search that asks the
 * same in other words, so that it is found anew, by the same caller at the same moment.
 */

/** What is about the engine in PostgreSQL. */
const inPostgres = { skip: process.env.TEST_SEARCH_INDEX !== undefined }

const works = 900
const noted = 24
const words = ['river', 'bridge', 'dawn', 'meadow']

let museum: Museum
let people: People
let tag: number
let pools: number[]
let persons: number[]
let topics: number[]
let ids: number[]
before(async () => {
  const other = await otherSearchIndex()
  // So that ranges of a few hundred matches are counted by their columns.
  museum = await startMuseum(
    other ? {} : { searchIndex: (options) => createPostgresIndex({ ...options, largeResult: 600 }) },
  )
  people = await seedPeople(museum.svc)
  tag = await seedTag(people.root)
  const grant = wireGrant(toGroup(people.ids.staff), 'read')
  const byTag = wireGrant(toUser(people.ids.stranger), 'read', { tagfilter: { all: [tag] } })
  pools = [
    (await createPool(people.root, {}, { _acl: [grant, byTag] }))._id,
    (await createPool(people.root, {}, { _acl: [grant] }))._id,
    (await createPool(people.root, {}))._id,
  ]
  persons = await save(
    'person',
    Array.from({ length: 5 }, (_, index) => ({ block: { name: `Painter ${index}` } })),
  )
  topics = await save(
    'topic',
    Array.from({ length: 6 }, (_, index) => ({ block: { name: `topic ${index}` } })),
  )
  ids = await save(
    'work',
    Array.from({ length: works }, (_, index) => workOf(index)),
  )
})
after(() => museum[Symbol.asyncDispose]())

async function save(type: string, objects: { block: object; rest?: object }[]): Promise<number[]> {
  const answer = await people.root.post(
    `/db/${type}`,
    objects.map(({ block, rest }) => payload(type, block, rest)),
    { await_index: 30 },
  )
  assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500))
  return answer.body.map((object: Json) => object._system_object_id)
}

const one = <T>(list: readonly T[], number: number): T => list[number % list.length] as T

let inventory = 0

function workOf(number: number): { block: object; rest: object } {
  return {
    block: {
      _pool: { pool: { _id: one(pools, number) } },
      inventory: `D${++inventory}`,
      title: { 'en-US': `${one(words, number)} ${one(words, number >> 2)} ${String(number % 97).padStart(3, '0')}` },
      width: number % 50,
      made: { value: `${1700 + (number % 300)}` },
      creator: link('person', one(persons, number >> 1)),
      '_nested:work__topic': [
        { topic: link('topic', one(topics, number)) },
        { topic: link('topic', one(topics, number + 2)) },
      ],
    },
    rest: number % 2 === 0 ? { _tags: [{ _id: tag }] } : {},
  }
}

const aggregations = {
  creator: { type: 'linked_object', field: 'work.creator', limit: 100 },
  topic: { type: 'linked_object', field: 'work._nested:work__topic.topic', limit: 100 },
  pool: { type: 'linked_object', field: '_pool', limit: 100 },
  type: { type: 'term', field: '_objecttype', limit: 100 },
}

const searches: Json[] = [
  { objecttypes: ['work'], sort: [{ field: 'work.title' }], limit: 20, aggregations },
  { search: [{ type: 'match', mode: 'fulltext', string: 'river' }], limit: 10, aggregations },
  {
    objecttypes: ['work'],
    search: [{ type: 'range', field: 'work.width', from: 3 }],
    sort: [{ field: 'work.width', order: 'desc' }, { field: 'work.title' }],
    limit: 15,
    offset: 30,
    aggregations: { creator: aggregations.creator },
  },
  { objecttypes: ['work'], sort: [{ field: '_last_modified', order: 'desc' }], limit: 5 },
  { objecttypes: ['work'], sort: [{ field: 'work.creator' }], limit: 12, aggregations },
  { objecttypes: ['work'], limit: 0, aggregations },
  ...['asc', 'desc'].flatMap((order) => [
    {
      objecttypes: ['work'],
      search: [{ type: 'range', field: 'work.width', from: 3, to: 45 }],
      sort: [{ field: 'work.title', order }],
      limit: 25,
    },
    {
      objecttypes: ['work'],
      search: [{ type: 'range', field: 'work.made', from: '1705', to: '1968' }],
      sort: [{ field: 'work.title', order }],
      limit: 25,
      offset: 50,
    },
  ]),
]

let differently = 0

/** The same search in words that no other has: all objects fulfil the condition. */
function inOtherWords(request: Json): object {
  const all = { type: 'in', bool: 'must_not', fields: ['_system_object_id'], in: [1_000_000_000 + differently++] }
  return { ...request, search: [...(request.search ?? []), all] }
}

/** The same in words that are asked of other tables, so that nothing in memory says it. */
function inWordsOfRows(request: Json): object {
  const path = 'work._nested:work__topic'
  const none = { type: 'in', fields: [`${path}.topic`], in: [1_000_000_000 + differently++] }
  return { ...request, search: [...(request.search ?? []), { type: 'nested', bool: 'must_not', path, search: [none] }] }
}

async function answerTo(client: Client, request: Json): Promise<object> {
  const { status, body } = await client.post('/search', { format: 'short', ...request })
  assert.equal(status, 200, JSON.stringify(body))
  const { count, objects, aggregations: facets = {} } = body
  return {
    count,
    hits: objects.map(({ _system_object_id, _sort }: Json) => [_system_object_id, _sort]),
    facets: Object.fromEntries(
      Object.entries<Json>(facets).map(([name, facet]) => [
        name,
        JSON.stringify(facet.objects ?? facet.terms ?? facet),
      ]),
    ),
  }
}

async function compareAll(client: Client, what: string): Promise<void> {
  for (const [number, request] of searches.entries()) {
    const anew = await answerTo(client, inWordsOfRows(request))
    assert.deepEqual(await answerTo(client, request), anew, `search ${number} after ${what}`)
    assert.deepEqual(await answerTo(client, inOtherWords(request)), anew, `search ${number} from columns after ${what}`)
  }
}

/** Changes of one or a few works; each makes some results larger, smaller, or of another order. */
const changes: Readonly<Record<string, (round: number) => Promise<unknown>>> = {
  'a title': (round) => change(round, { title: { 'en-US': `${one(words, round)} aaa ${round}` } }),
  'a title in the middle': (round) => change(round, { title: { 'en-US': `meadow ${round}` } }),
  'a number': (round) => change(round, { width: (round * 7) % 60 }),
  'a date': (round) => change(round, { made: { value: `${1690 + round}` } }),
  'a link': (round) => change(round, { creator: link('person', one(persons, round)) }),
  'a link taken away': (round) => change(round, { creator: null }),
  'nested links': (round) => change(round, { '_nested:work__topic': [{ topic: link('topic', one(topics, round)) }] }),
  'a pool': (round) => change(round, { _pool: { pool: { _id: one(pools, round) } } }),
  tags: (round) => change(round, {}, { _tags: round % 2 === 0 ? [{ _id: tag }] : [] }),
  'new objects': (round) => save('work', [workOf(round), workOf(round + 31)]),
  'the trash': async (round) => remove(ids.splice((round * 13) % ids.length, 1)[0] as number),
  'a purge': async (round) => {
    const id = ids.splice((round * 17) % ids.length, 1)[0] as number
    await remove(id)
    await remove(id, 'purge')
  },
  'two changes of one object': async (round) => {
    await change(round, { width: 1 })
    await change(round, { width: 59 })
  },
}

const change = (round: number, block: object, rest: object = {}): Promise<void> =>
  changeOne(one(ids, round * 37), block, rest)

async function changeOne(id: number, block: object, rest: object = {}): Promise<void> {
  const body = [{ _objecttype: 'work', _mask: '_all_fields', _system_object_id: id, ...rest, work: block }]
  const answer = await people.root.patch('/db/work', body, { await_index: 30 })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}

async function remove(id: number, policy: 'remove' | 'purge' = 'remove'): Promise<void> {
  const { body } = await people.root.get(`/db/work/_all_fields/system_object_id/${id}`)
  const { _id, _version } = body[0].work
  const answer = await people.root.delete('/db/work', [[_id, _version, null]], {
    await_index: 30,
    delete_policy: policy,
  })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}

test('results that are brought up to date are those that are found anew, for every caller', async () => {
  for (const client of [people.root, people.reader, people.stranger]) await compareAll(client, 'nothing')
  let round = 1
  for (const [what, make] of [...Object.entries(changes), ...Object.entries(changes)]) {
    await make(round++)
    await museum.svc.drain()
    for (const client of [people.root, people.reader, people.stranger]) await compareAll(client, what)
  }
})

/** How searches were answered: how often a difference was read, and how often all matches were gone through. */
async function ways(work: () => Promise<unknown>): Promise<{ differences: number; walks: number }> {
  const seen = { differences: 0, walks: 0 }
  const stop = onStatement((text) => {
    if (text.includes('from search_previous_document')) seen.differences++
    else if (/from search_document d where/.test(text)) seen.walks++
  })
  try {
    await work()
  } finally {
    stop()
  }
  return seen
}

test('after a change of one object nothing is gone through anew but the changes', inPostgres, async () => {
  const request = { objecttypes: ['work'], sort: [{ field: 'work.title' }], limit: 20, aggregations, offset: 1 }
  await answerTo(people.root, request)
  const backwards = { ...request, sort: [{ field: 'work.title', order: 'desc' }], offset: 0, limit: 2, format: 'short' }
  const { body } = await people.root.post('/search', backwards)
  const [last, lastButOne] = body.objects.map(({ _system_object_id }: Json) => _system_object_id)
  await changeOne(last, { title: { 'en-US': 'zzz, behind the page' } })
  assert.deepEqual(await ways(() => answerTo(people.root, request)), { differences: 1, walks: 0 })
  await changeOne(lastButOne, { title: { 'en-US': 'aaa, before all others' } })
  // What is on the page is read anew, what is counted is not.
  assert.deepEqual(await ways(() => answerTo(people.root, request)), { differences: 1, walks: 1 })
})

test('a large batch, and one that nobody noted, end what was kept', inPostgres, async () => {
  const request = { objecttypes: ['work'], sort: [{ field: 'work.title' }], limit: 20, aggregations, offset: 2 }
  const fresh = () => answerTo(people.root, inWordsOfRows(request))
  await answerTo(people.root, request)
  const many = ids.slice(0, 300).map((id) => ({
    _objecttype: 'work',
    _mask: '_all_fields',
    _system_object_id: id,
    work: { creator: link('person', persons[0] as number) },
  }))
  assert.equal((await people.root.patch('/db/work', many, { await_index: 30 })).status, 200)
  assert.deepEqual(await answerTo(people.root, request), await fresh())
  await change(3, { width: 12 })
  assert.deepEqual(await ways(() => answerTo(people.root, request)), { differences: 1, walks: 0 })
  // As if it had been written an hour ago.
  await museum.svc.db.query(`update search_state set changed_at = changed_at + interval '1 hour'`)
  const { walks } = await ways(() => answerTo(people.root, request))
  assert.ok(walks > 0)
  assert.deepEqual(await answerTo(people.root, request), await fresh())
})

test('what documents were is forgotten after a while', inPostgres, async () => {
  const count = async () => {
    const { rows } = await museum.svc.db.query<{ count: number }>(
      'select count(*)::int as count from search_previous_document',
    )
    return rows[0]?.count ?? 0
  }
  for (let round = 0; round < noted; round++) await change(round, { width: 200 + round })
  assert.ok((await count()) >= noted)
  await museum.svc.db.query(`update search_previous_document set changed_until = changed_until - interval '2 minutes'`)
  await change(noted, { width: 300 })
  assert.ok((await count()) <= 2)
})

test('ranges are found in memory, for those who may read some of the objects, too', inPostgres, async () => {
  const range = (from: number) => ({
    objecttypes: ['work'],
    search: [{ type: 'range', field: 'work.width', from, to: 300 }],
    sort: [{ field: 'work.title' }],
    limit: 10,
  })
  for (const client of [people.root, people.reader]) {
    await answerTo(client, range(0.5))
    await museum.svc.drain()
    await change(7, { width: 17 })
    const seen: string[] = []
    const stop = onStatement((text) => void seen.push(text))
    const found = await answerTo(client, range(0.25)).finally(stop)
    assert.equal(seen.filter((text) => text.includes('from search_tombstone')).length, 1)
    assert.equal(
      seen.filter((text) => /from search_document d where (?!d\.id = any)/.test(text)).length,
      0,
      seen.join('\n'),
    )
    assert.deepEqual(found, await answerTo(client, inWordsOfRows(range(0.25))))
  }
})

test('values that are removed, as nothing has them any more, are gone from what was kept', inPostgres, async () => {
  const { db, drain } = museum.svc
  const request = { objecttypes: ['work'], limit: 3, offset: 3, aggregations }
  const [rare] = await save('person', [{ block: { name: 'Painted once' } }])
  const id = one(ids, 11)
  await changeOne(id, { creator: link('person', rare as number) })
  await answerTo(people.root, request)
  await changeOne(id, { creator: link('person', persons[1] as number) })
  await db.query('update search_state set sets_pruned_at = null')
  await db.query(`select from graphile_worker.add_job('search.prune-sets')`)
  await drain()
  assert.deepEqual(await answerTo(people.root, request), await answerTo(people.root, inWordsOfRows(request)))
})

test('conditions so long that the index is quicker are found anew', inPostgres, async () => {
  const many = Array.from({ length: 5000 }, (_, index) => `D${index}`)
  const request = { objecttypes: ['work'], search: [{ type: 'in', fields: ['work.inventory'], in: many }], limit: 5 }
  await answerTo(people.root, request)
  await change(5, { width: 5 })
  const { differences, walks } = await ways(() => answerTo(people.root, request))
  assert.equal(differences, 0)
  assert.ok(walks > 0)
  assert.deepEqual(await answerTo(people.root, request), await answerTo(people.root, inOtherWords(request)))
})
