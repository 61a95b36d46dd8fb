import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createPostgresIndex } from '../../src/search/postgres/service.ts'
import { createPool } from '../pools/support.ts'
import { type People, seedPeople, seedTag, toGroup, toUser, wireGrant } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { otherSearchIndex } from '../support/search-index.ts'
import { link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { attachService, type TestService } from '../support/service.ts'

/**
 * Directly after a save nobody is told anything of what moved out of their sight, although the index has not heard of it: it is
 * held back, or the save asks it for nothing. What is answered is compared with a naive reading of the rights.
 */

interface Work {
  readonly id: number
  readonly own: number
  version: number
  pool: number
  tagged: boolean
  owner: 'root' | 'reader' | 'stranger'
  private: boolean
  granted: boolean
  readonly inventory: string
}

type Caller = 'reader' | 'stranger' | 'root'

const works: Work[] = []
const many = 620
let museum: Museum
let second: TestService
let people: People
let tag: number
let pools: number[]
before(async () => {
  const other = await otherSearchIndex()
  // So that results are kept, and columns are read into memory.
  museum = await startMuseum(
    other ? {} : { searchIndex: (options) => createPostgresIndex({ ...options, largeResult: 600 }) },
  )
  people = await seedPeople(museum.svc)
  tag = await seedTag(people.root)
  const staff = wireGrant(toGroup(people.ids.staff), 'read')
  const byTag = wireGrant(toUser(people.ids.stranger), 'read', { tagfilter: { all: [tag] } })
  pools = [
    (await createPool(people.root, {}, { _acl: [staff] }))._id,
    (await createPool(people.root, {}, { _acl: [staff, byTag] }))._id,
    (await createPool(people.root, {}))._id,
  ]
  const [creator] = await save('person', [payload('person', { name: 'Painter', reference: 'painter' })])
  const made = Array.from(
    { length: many },
    (_, n): Omit<Work, 'id' | 'own'> => ({
      version: 1,
      pool: n % 10 === 9 ? 2 : n % 2,
      tagged: n % 3 === 0,
      owner: n % 50 === 0 ? 'stranger' : 'root',
      private: n % 40 === 7,
      granted: n % 45 === 3,
      inventory: `M${n}`,
    }),
  )
  const answer = await save(
    'work',
    made.map((work, n) =>
      bodyOf(work, { title: { 'en-US': `common ${n}` }, width: n % 7, creator: link('person', creator?.id ?? 0) }),
    ),
  )
  for (const [n, { id, own }] of answer.entries()) works.push({ ...(made[n] as Omit<Work, 'id' | 'own'>), id, own })
  second = await attachService(museum.svc.dsn)
})
after(async () => {
  await second?.[Symbol.asyncDispose]()
  await museum[Symbol.asyncDispose]()
})

async function save(type: string, body: object[]): Promise<{ id: number; own: number }[]> {
  const answer = await people.root.post(`/db/${type}`, body, { await_index: 30 })
  assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500))
  return answer.body.map((object: Json) => ({ id: object._system_object_id, own: object[type]._id }))
}

const owners = () => ({ root: 1, reader: people.ids.reader, stranger: people.ids.stranger })

function bodyOf(work: Omit<Work, 'id' | 'own'>, block: object): object {
  return payload(
    'work',
    { _pool: { pool: { _id: pools[work.pool] } }, inventory: work.inventory, ...block },
    {
      _tags: work.tagged ? [{ _id: tag }] : [],
      _owner: toUser(owners()[work.owner]),
      _acl: work.granted ? [wireGrant(toUser(people.ids.stranger), 'read')] : [],
      _private_acl: work.private,
    },
  )
}

/** The rights, read naively. */
function mayRead(who: Caller, { pool, tagged, owner, private: isPrivate, granted }: Work): boolean {
  if (who === 'root' || owner === who) return true
  if (who === 'stranger' && granted) return true
  if (isPrivate) return false
  return who === 'reader' ? pool < 2 : pool === 1 && tagged
}

const requests: Json[] = [
  { search: [{ type: 'match', mode: 'fulltext', string: 'common' }] },
  { search: [{ type: 'text', mode: 'wildcard', string: 'comm*' }], sort: [{ field: 'work.inventory' }] },
  { sort: [{ field: 'work.title', order: 'desc' }] },
  { search: [{ type: 'range', field: 'work.width', from: 0 }], sort: [{ field: 'work.width' }] },
  {
    sort: [{ field: 'work.creator' }, { field: '_score' }],
    search: [{ type: 'match', mode: 'fulltext', string: 'common' }],
  },
]
const aggregations = {
  inventory: { type: 'term', field: 'work.inventory', limit: 1000 },
  creator: { type: 'linked_object', field: 'work.creator', limit: 10 },
  type: { type: 'term', field: '_objecttype', limit: 10 },
  width: { type: 'range', field: 'work.width', ranges: [{ from: 0 }] },
}

const ask = async (client: Client, request: Json): Promise<Json> => {
  const answer = await client.post('/search', {
    objecttypes: ['work'],
    format: 'short',
    limit: 1000,
    aggregations,
    ...request,
  })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

/** What a caller is told in any of these ways: inventories. Everything that is counted is what is shown. */
async function told(svc: TestService, who: Caller, request: Json): Promise<string[]> {
  const body = await ask(svc.as(who), request)
  const byId = new Map(works.map(({ id, inventory }) => [id, inventory]))
  const hits = body.objects.map((object: Json) => byId.get(object._system_object_id)).sort()
  const said = `${who} ${JSON.stringify(request)}`
  assert.equal(body.count, hits.length, said)
  const counts = await ask(svc.as(who), { ...request, limit: 0 })
  for (const { count, aggregations: each } of [body, counts]) {
    assert.equal(count, hits.length, said)
    assert.deepEqual(each.inventory.terms.map(({ term }: Json) => term).sort(), hits, said)
    assert.equal(each.type.terms[0]?.count ?? 0, hits.length, said)
    assert.equal(each.width.ranges[0].count, hits.length, said)
  }
  return hits
}

const expected = (who: Caller): string[] =>
  works
    .filter((work) => mayRead(who, work))
    .map(({ inventory }) => inventory)
    .sort()

async function assertAll(svc: TestService, settled: boolean, moved: ReadonlySet<string> = new Set()): Promise<void> {
  for (const who of ['reader', 'stranger', 'root'] as const) {
    const may = expected(who)
    for (const request of requests) {
      const found = await told(svc, who, request)
      if (settled || who === 'root') assert.deepEqual(found, may, `${who} ${JSON.stringify(request)}`)
      // What moved into sight may come later.
      else
        assert.deepEqual(
          found.filter((each) => !moved.has(each)),
          may.filter((each) => !moved.has(each)),
        )
      assert.deepEqual(
        found.filter((each) => !may.includes(each)),
        [],
        `${who} is told of what they may not see`,
      )
    }
  }
}

/** The index stands still until this is disposed of. */
async function holdIndex() {
  const client = await museum.svc.db.connect()
  await client.query('begin')
  await client.query('select from search_state for update')
  return {
    async [Symbol.asyncDispose](): Promise<void> {
      await client.query('rollback')
      client.release()
    },
  }
}

async function change(some: readonly Work[], changes: Partial<Work>, query: object = {}): Promise<Set<string>> {
  for (const work of some) Object.assign(work, changes)
  const body = some.map((work) => bodyOf(work, { _id: work.own, _version: work.version++ }))
  const answer = await people.root.patch('/db/work', body, { format: 'short', ...query })
  assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500))
  return new Set(some.map(({ inventory }) => inventory))
}

const inPool = (pool: number, from = 0) =>
  works.filter((work) => work.pool === pool && !work.private && work.owner === 'root').slice(from, from + 4)

test('nothing that has moved out of sight is told of, from the answer to the save on', async () => {
  await assertAll(museum.svc, true)
  await assertAll(second, true)
  const moves: (() => [Work[], Partial<Work>])[] = [
    () => [inPool(0), { pool: 2 }],
    () => [inPool(1), { pool: 2 }],
    () => [works.filter((work) => work.pool === 1 && work.tagged).slice(0, 3), { tagged: false }],
    () => [inPool(1, 8), { private: true }],
    () => [works.filter(({ owner }) => owner === 'stranger').slice(0, 2), { owner: 'reader' }],
    () => [works.filter(({ granted }) => granted).slice(0, 3), { granted: false }],
    () => [works.filter(({ pool }) => pool === 2).slice(0, 3), { pool: 1, tagged: true }],
  ]
  for (const [index, move] of moves.entries()) {
    const [some, changes] = move()
    assert.ok(some.length > 1, JSON.stringify(changes))
    {
      await using _ = await holdIndex()
      const moved = await change(some, changes, index % 2 === 0 ? { skip_index: 1 } : {})
      await assertAll(museum.svc, false, moved)
      await assertAll(second, false, moved)
    }
    await museum.svc.drain()
    await assertAll(museum.svc, true)
  }
})

test('what took a grant away is indexed, however the save was asked', async () => {
  const [some] = [inPool(0)]
  await change(some, { pool: 2 }, { skip_index: 1 })
  await museum.svc.drain()
  const { rows } = await museum.svc.db.query('select from index_queue where moved')
  assert.equal(rows.length, 0)
  await assertAll(museum.svc, true)
})
