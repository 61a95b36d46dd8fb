import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { buildApp } from '../../src/app.ts'
import { type Db, openDb } from '../../src/platform/postgres/db.ts'
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { payload } from '../support/seed/museum.ts'
import { attachService, type TestService, testConfig } from '../support/service.ts'
import { until } from '../support/until.ts'
import { hold, text } from './support.ts'

/** Documents that are rewritten until it is time (src/search/postgres/index/renew.ts). */
const due = 10_000
const count = 300

let database: TestDatabase
let db: Db

before(async () => {
  database = await createTestDatabase()
  db = open()
  await using svc = await attachService(database.dsn)
  await commitModel(svc, defineModel({ note: { columns: { mark: 'text_oneline' } } }))
  const notes = Array.from({ length: count }, (_, n) => payload('note', { mark: `common ${n}` }))
  assert.equal((await svc.as('root').post('/db/note', notes, { format: 'short' })).status, 200)
  await svc.drain()
})
after(async () => {
  await db.close()
  await database.drop()
})

function open(): Db {
  return openDb({
    connectionString: database.dsn,
    maxConnections: 6,
    applicationName: 'renew test',
    lockTimeout: 2000,
    onError: () => {},
  })
}

/** Has the documents written once more: what was made of the objects is not what the index says it has. */
async function rewrite(): Promise<void> {
  await db.query('update search_document set digest = gen_random_uuid()')
  await db.query('insert into index_queue (system_object_id) select id from search_document order by 1')
}

async function rewritten(): Promise<number> {
  const { rows } = await db.query<{ rewritten: number }>('select rewritten from search_state')
  return rows[0]?.rewritten ?? -1
}

const setRewritten = (number: number) => db.query('update search_state set rewritten = $1', [number])

/** All indexes of lexemes with their names; a new one has a new number. */
async function indexes() {
  const { rows } = await db.query<{ name: string; number: number; definition: string; usable: boolean }>(
    `select c.relname as name, c.oid::int as number, pg_get_indexdef(c.oid) as definition, indisvalid as usable
     from pg_index i join pg_class c on c.oid = i.indexrelid where c.relname ~ 'lexemes_idx' order by 1`,
  )
  return rows
}

const withoutNumbers = (list: Awaited<ReturnType<typeof indexes>>) => list.map(({ number: _, ...rest }) => rest)

async function found(svc: TestService): Promise<number> {
  return (await svc.as('root').post('/search', { search: [text('common')], limit: 1 })).body.count
}

/** Somebody builds the indexes anew, and waits. */
async function isRenewing(): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from pg_stat_activity
     where datname = current_database() and query like 'reindex index concurrently%' and wait_event_type = 'Lock'`,
  )
  return rowCount > 0
}

test('indexes of lexemes are built anew when enough documents were written again or removed', async () => {
  await using svc = await attachService(database.dsn)
  await setRewritten(0)
  const before = await indexes()
  await rewrite()
  await svc.drain()
  assert.equal(await rewritten(), count)
  assert.deepEqual(await indexes(), before)

  await setRewritten(due - count - 1)
  await rewrite()
  await svc.drain()
  assert.equal(await rewritten(), due - 1)
  assert.deepEqual(await indexes(), before)

  await setRewritten(due - count)
  await rewrite()
  await svc.drain()
  await until(async () => (await rewritten()) === 0)
  const since = await indexes()
  assert.deepEqual(withoutNumbers(since), withoutNumbers(before))
  assert.ok(since.every(({ number }) => before.every((other) => other.number !== number)))
  assert.equal(await found(svc), count)
})

test('indexes that are left half built are removed by the next attempt; searches and saves go on meanwhile', async () => {
  await using svc = await attachService(database.dsn)
  const before = await indexes()
  {
    // Whoever builds an index beside others waits for their transactions.
    using _ = await hold(db, 'lock table search_document in row exclusive mode')
    await setRewritten(due)
    await rewrite()
    await until(isRenewing)
    assert.equal(await found(svc), count)
    const { status } = await svc.as('root').post('/db/note', [payload('note', { mark: 'common and new' })])
    assert.equal(status, 200)
    await until(async () => (await found(svc)) === count + 1)
    await db.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and query like 'reindex index concurrently%'`,
    )
    await until(async () => !(await isRenewing()))
    assert.deepEqual(
      (await indexes()).filter(({ usable }) => !usable).map(({ name }) => name),
      ['search_document_lexemes_idx_ccnew'],
    )
  }
  await until(async () => (await rewritten()) === 0)
  const since = await indexes()
  assert.deepEqual(withoutNumbers(since), withoutNumbers(before))
  assert.ok(since.every(({ number }) => before.every((other) => other.number !== number)))
  assert.equal(await found(svc), count + 1)
})

test('a stop gives up what is being built anew', async () => {
  const own = open()
  const app = await buildApp(testConfig(database.dsn), { db: own, log: pino({ level: 'silent' }) })
  using _ = await hold(db, 'lock table search_document in row exclusive mode')
  await setRewritten(due)
  await rewrite()
  await until(isRenewing)
  await app.close()
  assert.equal(await isRenewing(), false)
  await own.close()
})
