import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { after, before, describe, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { until } from '../support/until.ts'
import { type SearchScene, startScene } from './support.ts'

/** What one search may cost, what becomes of it when nobody waits for it, and that small ones pass. */

let scene: SearchScene
let address: string
before(async () => {
  scene = await startScene({ heavyRequests: 1 })
  address = await scene.svc.listen()
})
after(() => scene[Symbol.asyncDispose]())

const values = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)
const inElement = (count: number, fields = ['work.creator']) => ({ type: 'in', fields, in: values(count) })
const terms = (limit: number) => ({ type: 'term', field: 'work.inventory', limit })
const within = (depth: number): object => ({
  type: 'in',
  fields: ['person.teacher'],
  subsearch: { objecttypes: ['person'], search: depth === 1 ? [] : [within(depth - 1)] },
})

describe('a search that costs more than one request may is refused before anything of it runs', () => {
  const few = (count: number) => Array.from({ length: count }, () => ({ type: 'in', fields: ['_pool'], in: [1] }))
  const cases: [name: string, request: object, limit: string][] = [
    [
      'elements',
      {
        search: [
          { type: 'complex', search: few(500) },
          { type: 'complex', search: few(500) },
        ],
      },
      'elements',
    ],
    ['ids', { search: Array.from({ length: 4 }, () => inElement(10_000)) }, 'terms'],
    [
      'ids in several fields',
      {
        search: [
          inElement(
            10_000,
            Array.from({ length: 4 }, () => 'work.creator'),
          ),
        ],
      },
      'terms',
    ],
    [
      'words',
      { search: [{ type: 'text', string: 'a '.repeat(1000), fields: values(40).map(() => 'work.note') }] },
      'terms',
    ],
    ['patterns', { search: [{ type: 'text', mode: 'wildcard', string: 'a*b '.repeat(101) }] }, 'patterns'],
    ['searches', { search: Array.from({ length: 11 }, () => within(1)) }, 'subsearches'],
    ['searches in searches', { search: [within(4)] }, 'subsearch_depth'],
    [
      'aggregations',
      { aggregations: Object.fromEntries(values(100).map((name) => [`a${name}`, terms(10_000)])) },
      'aggregated_values',
    ],
    [
      'ranges',
      {
        aggregations: Object.fromEntries(
          values(3).map((name) => [
            `a${name}`,
            { type: 'range', field: 'work.width', ranges: values(80).map((from) => ({ from })) },
          ]),
        ),
      },
      'ranges',
    ],
  ]
  for (const [name, request, limit] of cases) {
    test(`too many ${name}: 400 that names the limit ${limit}`, async () => {
      const { status, body } = await scene.search(request)
      assert.deepEqual([status, body.code, body.parameters.name], [400, 'SearchTooCostly', limit])
      assert.ok(body.parameters.most > 0)
    })
  }
})

/** No search that reads this table comes to an end meanwhile. */
async function blocked(table: string, work: () => Promise<void>): Promise<void> {
  const client = await scene.svc.db.connect()
  try {
    await client.query('begin')
    await client.query(`lock table ${table} in access exclusive mode`)
    await work()
  } finally {
    await client.query('rollback')
    client.release()
  }
}

/** A search over a socket of its own; `leave` closes it. */
async function send(
  request: object,
): Promise<{ status: Promise<number>; retryAfter: () => string | undefined; leave: () => void }> {
  const body = JSON.stringify(request)
  const sent = httpRequest(`${address}/api/v1/search`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${await scene.svc.as('root').token()}`, 'content-type': 'application/json' },
  })
  let retryAfter: string | undefined
  const status = new Promise<number>((resolve, reject) => {
    sent.on('response', (response) => {
      response.resume()
      retryAfter = response.headers['retry-after']
      resolve(response.statusCode ?? 0)
    })
    sent.on('error', reject)
  })
  sent.end(body)
  return { status, retryAfter: () => retryAfter, leave: () => sent.destroy() }
}

/** Statements of searches about this table. Every five seconds the indexer looks there for grants that have ended. */
const ofSearches = `datname = current_database() and pid <> pg_backend_pid() and state = 'active'
  and query ~ ('(from|join) ' || $1 || ' ') and query !~ '^select id from search_document where valid_until'`

/** How many of them run or wait for a lock now. */
async function running(table: string): Promise<number> {
  const { rows } = await scene.svc.db.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity where ${ofSearches}`,
    [table],
  )
  return rows[0]?.count ?? 0
}

const heavy = (from: number) => ({
  search: [{ type: 'in', fields: ['work.creator'], in: [...Object.values(scene.ids), ...values(5000 + from)] }],
})

test('a search whose client goes away is gone from the database, and its place is free', async () => {
  await blocked('search_document', async () => {
    const { status, leave } = await send(heavy(1))
    await until(async () => (await running('search_document')) === 1)
    leave()
    await assert.rejects(status)
    await until(async () => (await running('search_document')) === 0)
    // With the place, the next one gets to the database.
    const next = await send(heavy(2))
    await until(async () => (await running('search_document')) === 1)
    next.leave()
    await assert.rejects(next.status)
    await until(async () => (await running('search_document')) === 0)
  })
})

test('heavy searches wait for a place, small ones pass', async () => {
  const waiting: Awaited<ReturnType<typeof send>>[] = []
  // Objects in their short form are shown without their contents.
  await blocked('object_version', async () => {
    for (let index = 10; index < 15; index++) waiting.push(await send(heavy(index)))
    await until(async () => (await running('object_version')) === 1)
    const small = await scene.search({ search: [{ type: 'text', string: 'bridge' }], format: 'short' })
    assert.equal(small.body.count, 1)
    assert.equal(await running('object_version'), 1, 'one place, one search')
  })
  assert.deepEqual(await Promise.all(waiting.map(({ status }) => status)), [200, 200, 200, 200, 200])
})

test('who shares the result of a search whose client goes away gets it all the same', async () => {
  const request = { search: [{ type: 'text', string: 'canvas' }] }
  let shared: Promise<Json> | undefined
  await blocked('search_document', async () => {
    const { status, leave } = await send(request)
    await until(async () => (await running('search_document')) === 1)
    const second = await send(request)
    shared = second.status
    leave()
    await assert.rejects(status)
  })
  assert.equal(await shared, 200)
})

/** When the only statement about this table began, in seconds; null: there is none. */
async function startedAt(table: string): Promise<number | null> {
  const { rows } = await scene.svc.db.query<{ at: number | null }>(
    `select extract(epoch from max(query_start))::float8 as at from pg_stat_activity where ${ofSearches}`,
    [table],
  )
  return rows[0]?.at ?? null
}

test('a search that takes longer than it seemed goes on in a place, and leaves it with its client', async () => {
  await blocked('search_document', async () => {
    const long = await send({ search: [{ type: 'text', string: 'harbour' }] })
    await until(async () => (await running('search_document')) === 1)
    const first = (await startedAt('search_document')) ?? 0
    // After two seconds it is cancelled, and sent again from the place.
    await until(async () => ((await startedAt('search_document')) ?? 0) > first)
    const again = (await startedAt('search_document')) ?? 0
    // The cancelled one may take a moment to end.
    await until(async () => (await running('search_document')) === 1)
    const next = await send(heavy(77))
    assert.equal((await scene.svc.as('root').get('/settings')).status, 200)
    assert.equal(await running('search_document'), 1, 'there is one place')
    long.leave()
    await assert.rejects(long.status)
    await until(async () => ((await startedAt('search_document')) ?? 0) > again)
    next.leave()
    await assert.rejects(next.status)
    await until(async () => (await running('search_document')) === 0)
  })
})

test('who finds places and queue full is answered 429 with Retry-After, and small requests pass', async () => {
  await blocked('search_document', async () => {
    const first = await send(heavy(100))
    await until(async () => (await running('search_document')) === 1)
    const others = await Promise.all(Array.from({ length: 101 }, (_, index) => send(heavy(200 + index))))
    // On a busy machine those that have a place may have waited for the table for too long by then.
    const refused = await Promise.any(
      others.map(async (other) => {
        assert.equal(await other.status, 429)
        return other
      }),
    )
    assert.equal(refused.retryAfter(), '5')
    const work = `/db/work/_all_fields/system_object_id/${scene.ids.bridge}`
    assert.equal((await scene.svc.as('root').get(work, { format: 'short' })).status, 200)
    for (const { status, leave } of [first, ...others]) {
      status.catch(() => {})
      leave()
    }
    await until(async () => (await running('search_document')) === 0)
  })
  assert.equal((await scene.search(heavy(300))).status, 200)
})
