import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Db, openDb } from '../../../src/platform/postgres/db.ts'
import { openPipelinedReads, type PipelinedReads } from '../../../src/platform/postgres/pipelined-reads.ts'
import { createEmptyDatabase, type TestDatabase } from '../../support/postgres.ts'

let database: TestDatabase
let db: Db
let quick: PipelinedReads
before(async () => {
  database = await createEmptyDatabase()
  db = openDb({
    connectionString: database.dsn,
    maxConnections: 2,
    applicationName: 'pipelined reads',
    lockTimeout: 1000,
    onError: () => {},
  })
  quick = openPipelinedReads({ db })
})
after(async () => {
  await quick.close()
  await db.close()
  await database.drop()
})

const double = (n: number) => quick.query<{ n: number }>('select $1::int * 2 as n', [n], 'double')

test('each of many statements at once gets its own answer, over few connections', async () => {
  const answers = await Promise.all(Array.from({ length: 500 }, (_, n) => double(n)))
  assert.deepEqual(
    answers.map(({ rows }) => rows[0]?.n),
    Array.from({ length: 500 }, (_, n) => 2 * n),
  )
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity where datname = current_database() and query like '%* 2 as n%'
       and pid <> pg_backend_pid()`,
  )
  assert.ok((rows[0]?.count ?? 99) <= 2, JSON.stringify(rows))
})

test('a statement that fails fails alone', async () => {
  const [good, bad, alsoGood] = await Promise.allSettled([double(1), quick.query('select 1 / 0'), double(2)])
  assert.deepEqual([good.status, bad.status, alsoGood.status], ['fulfilled', 'rejected', 'fulfilled'])
})

test('broken connections are replaced; what was under way is read again', async () => {
  await Promise.all([double(1), double(2)])
  const slow = quick.query<{ n: number }>('select 5 as n from pg_sleep(0.3)')
  await db.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
  assert.equal((await slow).rows[0]?.n, 5)
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => double(n)))
  assert.equal(answers.at(-1)?.rows[0]?.n, 38)
})
