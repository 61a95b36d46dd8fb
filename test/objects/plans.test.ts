import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Json } from '../support/client.ts'
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { link, payload } from '../support/seed/museum.ts'
import { attachService, type TestService } from '../support/service.ts'

/** Tables with a row or more for each object, and those that grow with them. */
const large = [
  'object',
  'object_version',
  'object_link',
  'object_unique',
  'object_tombstone',
  'search_document',
  'search_nested',
  'search_facet_set',
  'search_access_set',
  'search_term',
  'event',
]
const amount = 5000
/** PostgreSQL plans a statement anew five times before it keeps a plan. */
const rounds = 7

let database: TestDatabase
let watcher: pg.Client
before(async () => {
  database = await createTestDatabase()
  watcher = new pg.Client(database.dsn)
  await watcher.connect()
  // Statistics are taken when the test says so: a table of one page is read as a whole, rightly.
  for (const table of large) await watcher.query(`alter table ${table} set (autovacuum_enabled = false)`)
})
after(async () => {
  await watcher.end()
  await database.drop()
})

interface Reads {
  /** Rows that were read from the beginning of each table on. */
  readonly scanned: Readonly<Record<string, number>>
  /** Rows that were found by an index. */
  readonly rows: Readonly<Record<string, number>>
}

/** Connections tell it when they end. */
async function readsSoFar(): Promise<Reads> {
  await sleep(200)
  await watcher.query('select pg_stat_clear_snapshot()')
  const { rows } = await watcher.query(
    'select relname, seq_tup_read::int, idx_tup_fetch::int from pg_stat_user_tables where relname = any($1)',
    [large],
  )
  return {
    scanned: Object.fromEntries(rows.map(({ relname, seq_tup_read }) => [relname, seq_tup_read])),
    rows: Object.fromEntries(rows.map(({ relname, idx_tup_fetch }) => [relname, idx_tup_fetch])),
  }
}

/** What a service reads while it does this work. */
async function readsOf(work: (svc: TestService) => Promise<unknown>): Promise<Reads> {
  const earlier = await readsSoFar()
  {
    await using svc = await attachService(database.dsn)
    await work(svc)
  }
  const now = await readsSoFar()
  const since = (kind: keyof Reads) =>
    Object.fromEntries(Object.entries(now[kind]).map(([name, count]) => [name, count - (earlier[kind][name] ?? 0)]))
  return { scanned: since('scanned'), rows: since('rows') }
}

async function send(
  svc: TestService,
  objecttype: string,
  blocks: readonly object[],
  query: object = {},
): Promise<Json[]> {
  const answer = await svc.as('root').post(
    `/db/${objecttype}`,
    blocks.map((block) => payload(objecttype, block)),
    query as Record<string, number>,
  )
  assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500))
  return answer.body
}

let number = 0
const workBlock = (term: number): object => ({
  title: `a work ${++number}`,
  code: `code ${number}`,
  term: link('term', term),
  '_nested:work__part': [{ name: `part ${number}`, term: link('term', term) }],
})
const termBlock = (): object => ({ name: `term ${++number}` })
const below = (parent: number): object => ({ 'lookup:_id_parent': { _system_object_id: parent } })

/** Each kind of save, read and change, often enough for PostgreSQL to keep its plans. */
async function everyday(svc: TestService): Promise<void> {
  const root = svc.as('root')
  const ok = async (answer: Promise<{ status: number; body: Json }>): Promise<Json> => {
    const { status, body } = await answer
    assert.equal(status, 200, JSON.stringify(body).slice(0, 500))
    return body
  }
  for (let round = 0; round < rounds; round++) {
    const [top] = await send(svc, 'term', [termBlock()])
    const [child] = await send(svc, 'term', [{ ...termBlock(), ...below(top._system_object_id) }])
    const id = child._system_object_id as number
    const [work] = await send(svc, 'work', [workBlock(id)], { await_index: 20 })
    await send(svc, 'work', [workBlock(id), workBlock(id), workBlock(id)])
    const { _id } = work.work
    await ok(root.get(`/db/work/_all_fields/${_id}`))
    await ok(root.get(`/db/work/_all_fields/${_id}`, { format: 'full' }))
    await ok(root.get(`/db/work/_all_fields/list`, { limit: 20, format: 'standard' }))
    await send(svc, 'work', [{ ...workBlock(id), _id, _version: 1 }])
    await ok(root.patch('/db/work', [payload('work', { _id, _version: 2, title: `renamed ${++number}` })]))
    await send(svc, 'term', [{ name: `another ${++number}`, _id: top.term._id, _version: 1 }])
    const [other] = await send(svc, 'term', [termBlock()])
    await send(svc, 'term', [
      {
        name: `moved ${number}`,
        _id: top.term._id,
        _version: 2,
        ...below(other._system_object_id),
      },
    ])
    await svc.drain()
    const { body } = await root.get(`/db/work/_all_fields/${_id}`)
    await ok(root.delete('/db/work', [[_id, body[0].work._version, null]], { delete_policy: 'setnull' }))
  }
  await svc.drain()
}

test('no save, read or indexing reads a large table as a whole, whatever the statistics', async () => {
  {
    await using svc = await attachService(database.dsn)
    await commitModel(
      svc,
      defineModel({
        term: { columns: { name: 'text_oneline' }, flags: { is_hierarchical: true } },
        work: {
          columns: { title: 'text_oneline', code: 'string', term: 'link:term' },
          nested: { part: { columns: { name: 'text_oneline', term: 'link:term' } } },
          unique: [['code']],
        },
      }),
    )
    await svc.drain()
  }
  await assertByIndexes('planned while tables are empty', async (svc) => {
    // Often enough for each of the connections to keep its plans.
    for (let time = 0; time < 3; time++) await everyday(svc)
    for (let left = amount; left > 0; left -= 1000) {
      const terms = await send(svc, 'term', Array.from({ length: 10 }, termBlock))
      const ids = terms.map((term) => term._system_object_id as number)
      await send(
        svc,
        'work',
        Array.from({ length: 1000 }, (_, n) => workBlock(ids[n % 10] as number)),
      )
    }
    await everyday(svc)
  })
  await assertByIndexes('without statistics', everyday)
  await watcher.query('vacuum analyze')
  const { rows } = await assertByIndexes('with statistics', everyday)
  const many = Object.entries(rows).filter(([, count]) => count > amount)
  assert.deepEqual(many, [], 'nor is everything looked up in an index')
})

/**
 * What a service does once, beside all this, may be done as it likes, and tables may be read as a whole while they are
 * small: what counts is how often the whole table of the end was read.
 */
async function assertByIndexes(when: string, work: (svc: TestService) => Promise<void>): Promise<Reads> {
  const reads = await readsOf(work)
  const counts = await Promise.all(
    large.map(async (table) => {
      const { rows } = await watcher.query(`select count(*)::int as count from ${table}`)
      return [table, (reads.scanned[table] as number) / Math.max(100, rows[0].count)] as const
    }),
  )
  const often = counts.filter(([, times]) => times >= rounds)
  assert.deepEqual(often, [], when)
  return reads
}
