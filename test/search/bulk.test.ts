import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { buildApp } from '../../src/app.ts'
import { type Db, openDb } from '../../src/platform/postgres/db.ts'
import { onStatement } from '../../src/platform/postgres/statements.ts'
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts'
import { spawnService, temporaryFolder } from '../support/process.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { payload } from '../support/seed/museum.ts'
import { attachService, type TestService, testConfig } from '../support/service.ts'
import { until } from '../support/until.ts'
import { hold, holdIndexer, text } from './support.ts'

/** More than src/search/postgres/index/bulk.ts needs, which is 3000. */
const count = 3200

let database: TestDatabase
/** To look at the database between services, which are started by the tests: whoever runs may index. */
let db: Db

before(async () => {
  database = await createTestDatabase()
  db = open(database.dsn)
  const svc = await attachService(database.dsn)
  const note = { columns: { mark: 'text_oneline' }, nested: { part: { columns: { word: 'text_oneline' } } } }
  await commitModel(svc, defineModel({ note }))
  await svc.drain()
  using _ = await holdIndexer(db)
  await save(svc, count)
  // While indexing is held: otherwise the service begins the load on its way out.
  await svc[Symbol.asyncDispose]()
})
after(async () => {
  await db.close()
  await database.drop()
})

function open(connectionString: string, lockTimeout = 2000): Db {
  return openDb({
    connectionString,
    maxConnections: 6,
    applicationName: 'bulk test',
    lockTimeout,
    onError: () => {},
  })
}

async function save(svc: TestService, objects: number): Promise<void> {
  const body = Array.from({ length: objects }, (_, n) =>
    payload('note', { mark: `common ${n}`, '_nested:note__part': [{ word: 'seldom' }] }),
  )
  const answer = await svc.as('root').post('/db/note', body, { format: 'short' })
  assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500))
}

/** Lets no indexer finish its last batch. */
async function holdLastBatch() {
  await db.query(
    `insert into search_failure (id, error) select max(system_object_id), '' from object on conflict do nothing`,
  )
  return hold(db, 'select from search_failure for update')
}

/** Empties the index and queues everything; to be called while nobody indexes. */
async function queueAll(): Promise<void> {
  await db.query('truncate search_document, search_nested')
  await db.query('insert into index_queue (system_object_id) select system_object_id from object order by 1')
}

const names = ['search_document_lexemes_idx', 'search_nested_lexemes_idx']

/** What a bulk load puts aside; to be called while nobody does. */
async function lexemeIndexes() {
  const { rows } = await db.query<{ oid: number; definition: string; usable: boolean }>(
    `select indexrelid::int as oid, pg_get_indexdef(indexrelid) as definition, indisvalid and indisready as usable
     from pg_index where indexrelid = any($1::regclass[]) order by definition`,
    [names],
  )
  return rows
}

async function indexesThere(): Promise<number> {
  const { rows } = await db.query('select from pg_class where relname = any($1::text[])', [names])
  return rows.length
}

/** A bulk load has begun, and batches are done. */
async function untilUnderWay(): Promise<void> {
  const some = async () => (await db.query('select from search_document limit 1')).rowCount > 0
  await until(async () => (await indexesThere()) === 0 && (await some()))
}

/** How many objects are found by their own words, and how many by those of a nested row. */
async function found(svc: TestService): Promise<number[]> {
  const path = 'note._nested:note__part'
  const elements = [text('common'), { type: 'nested', path, search: [text('seldom', { fields: [`${path}.word`] })] }]
  const answers = await Promise.all(
    elements.map((element) => svc.as('root').post('/search', { search: [element], limit: 1 })),
  )
  return answers.map(({ status, body }) => (status === 200 ? body.count : JSON.stringify(body)))
}

/** What `found` says when nothing is missing. */
async function all(): Promise<number[]> {
  const { rows } = await db.query<{ count: number }>('select count(*) from object')
  return [rows[0]?.count ?? 0, rows[0]?.count ?? 0]
}

/** What administrators are told. */
async function rebuilding(svc: TestService): Promise<boolean> {
  const { body } = await svc.as('root').get('/system/status')
  return body.indices_stats[0].rebuilding
}

/** The statements beginning so that services of this process send meanwhile. */
async function sent(beginning: string, work: () => Promise<unknown>): Promise<string[]> {
  const statements: string[] = []
  const stop = onStatement((statement) => statement.startsWith(beginning) && statements.push(statement))
  try {
    await work()
  } finally {
    stop()
  }
  return statements
}

test('a large backlog is indexed without the indexes of lexemes, which are then built as they were', async () => {
  const before = await lexemeIndexes()
  assert.equal(before.length, 2)
  await using svc = await attachService(database.dsn)
  await svc.drain()
  const after = await lexemeIndexes()
  assert.deepEqual(
    after.map(({ definition, usable }) => ({ definition, usable })),
    before.map(({ definition }) => ({ definition, usable: true })),
  )
  for (const { oid } of after) assert.ok(!before.some((index) => index.oid === oid), 'it is another index')
  assert.deepEqual(await found(svc), await all())
})

test('what is searched already is no backlog: a reindex with saves beside it leaves the indexes alone', async () => {
  await using svc = await attachService(database.dsn)
  const before = await lexemeIndexes()
  using held = await holdIndexer(db)
  assert.equal((await svc.as('root').post('/system/reindex')).status, 200)
  await save(svc, 1)
  // Several reasons to index the same objects.
  await db.query('insert into index_queue (system_object_id) select system_object_id from object')
  held.release()
  await svc.drain()
  assert.deepEqual(await lexemeIndexes(), before)
  assert.deepEqual(await found(svc), await all())
})

test('of two processes one puts the indexes aside and builds them, and both find everything', async () => {
  await queueAll()
  using held = await holdIndexer(db)
  await using one = await attachService(database.dsn)
  await using other = await attachService(database.dsn)
  let created: string[] = []
  const dropped = await sent('drop index', async () => {
    created = await sent('create index', async () => {
      held.release()
      await Promise.all([one.drain(), other.drain()])
    })
  })
  assert.deepEqual([dropped.length, created.length], [2, 2])
  assert.equal(await indexesThere(), 2)
  assert.deepEqual([await found(one), await found(other)], [await all(), await all()])
})

test('searches that read the table keep its index from being put aside, and others go on searching', async () => {
  await queueAll()
  const before = await lexemeIndexes()
  using _ = await hold(db, 'lock table search_document, search_nested in access share mode')
  await using svc = await attachService(database.dsn)
  let searched = 0
  let done = false
  const searches = (async () => {
    for (; !done; searched++) await found(svc)
  })()
  await svc.drain()
  done = true
  await searches
  assert.ok(searched > 0)
  assert.deepEqual(await lexemeIndexes(), before)
  assert.deepEqual(await found(svc), await all())
})

test('who saves a little all the time does not keep the indexes away', async () => {
  await queueAll()
  using held = await holdLastBatch()
  await using svc = await attachService(database.dsn)
  await untilUnderWay()
  held.release()
  await until(async () => {
    await save(svc, 1)
    await sleep(100)
    return (await indexesThere()) === 2
  }, 60)
  await svc.drain()
  assert.deepEqual(await found(svc), await all())
})

test('a process that is killed meanwhile leaves searches that work, and the next one builds the indexes', async () => {
  await queueAll()
  using held = await holdLastBatch()
  await using folder = await temporaryFolder()
  await using killed = await spawnService(folder.path, { SVC_DB_DSN: database.dsn, SVC_ROOT_PASSWORD: 'x'.repeat(12) })
  await untilUnderWay()
  killed.child.kill('SIGKILL')
  await killed.exited
  await using svc = await attachService(database.dsn)
  for (const number of await found(svc)) assert.ok(number > 0 && number < count, `${number}`)
  assert.equal(await indexesThere(), 0)
  assert.equal(await rebuilding(svc), true)
  held.release()
  await svc.drain()
  assert.equal(await indexesThere(), 2)
  assert.equal(await rebuilding(svc), false)
  assert.deepEqual(await found(svc), await all())
})

test('a stop meanwhile is no failure, and the next process builds the indexes', async () => {
  await queueAll()
  using held = await holdLastBatch()
  const lines: string[] = []
  const stopped = open(database.dsn)
  const log = pino({ level: 'warn' }, { write: (line) => lines.push(line) })
  const app = await buildApp(testConfig(database.dsn), { db: stopped, log })
  await untilUnderWay()
  const closed = app.close()
  held.release()
  await closed
  await stopped.close()
  assert.deepEqual(lines, [])
  assert.equal(await indexesThere(), 0)
  await using svc = await attachService(database.dsn)
  await svc.drain()
  assert.equal(await indexesThere(), 2)
  assert.deepEqual(await found(svc), await all())
})

test('a stop does not wait for the indexes that are just being built', async () => {
  await queueAll()
  using held = await holdLastBatch()
  const patient = open(database.dsn, 120_000)
  const app = await buildApp(testConfig(database.dsn), { db: patient, log: pino({ level: 'silent' }) })
  await untilUnderWay()
  using _ = await hold(db, 'lock table search_document, search_nested in row exclusive mode')
  held.release()
  const building = async () =>
    (await db.query(`select from pg_stat_activity where query like 'create index%' and wait_event_type = 'Lock'`))
      .rowCount > 0
  await until(building)
  await app.close()
  assert.equal(await building(), false)
  await patient.close()
})
