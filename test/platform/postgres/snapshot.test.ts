import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { AppError } from '../../../src/platform/errors.ts'
import type { Queryable } from '../../../src/platform/postgres/db.ts'
import { onStatement } from '../../../src/platform/postgres/statements.ts'
import { payload, startMuseum } from '../../support/seed/museum.ts'
import { startService, type TestService } from '../../support/service.ts'
import { openMemory } from '../../support/snapshots.ts'
import { until } from '../../support/until.ts'

let svc: TestService
before(async () => {
  svc = await startService()
  await svc.db.query('create table source (value int)')
  await svc.db.query('insert into source values (1)')
})
after(() => svc[Symbol.asyncDispose]())

const topic = 'source'
const source = {
  name: 'the source',
  topics: [topic],
  async read(from: Queryable): Promise<number[]> {
    const { rows } = await from.query<{ value: number }>('select value from source')
    return rows.map((row) => row.value)
  },
  build: (stored: number[]): string => stored.join(),
}

/** Sends a message about a topic as another process does. */
const message = `select pg_notify('strongroom', json_build_object('from', 'another', 'topic', $1::text, 'payload', '')::text)`
/** Of src/datamodel/store.ts: every save takes it shared before it does anything else. */
const modelLock = 7_310_001

/** How many statements that contain a text are sent until the returned function is called. */
function counting(text: string) {
  let count = 0
  const stop = onStatement((statement) => {
    if (statement.includes(text)) count++
  })
  return { count: () => count, [Symbol.dispose]: stop }
}

test('a change is read when a message tells of it, and what is equal stays the same', async () => {
  await using memory = await openMemory(svc.db)
  const heard: string[] = []
  const snapshot = await memory.snapshots.open({ ...source, onChange: (value: string) => heard.push(value) })
  assert.equal(snapshot.get(), '1')
  await svc.db.query('update source set value = 2')
  assert.equal(snapshot.get(), '1')
  await svc.db.query(message, [topic])
  await until(() => snapshot.get() === '2')
  assert.equal(await snapshot.renewed(), '2')
  assert.deepEqual(heard, ['2'])
})

test('work in the background waits for messages on their way, and reads everything when one does not come', async () => {
  await using other = await openMemory(svc.db)
  for (const delay of [200, null]) {
    const { emit } = pg.Client.prototype
    pg.Client.prototype.emit = function (this: pg.Client, event: string | symbol, ...given: unknown[]): boolean {
      const go = (): boolean => Reflect.apply(emit, this, [event, ...given])
      if (event !== 'notification') return go()
      if (delay !== null) setTimeout(go, delay)
      return true
    }
    try {
      await using memory = await openMemory(svc.db)
      const snapshot = await memory.snapshots.open(source)
      await svc.db.transaction(async (tx) => {
        await tx.query('update source set value = value + 10')
        await other.bus.publish(tx, topic)
      })
      const [stored] = await source.read(svc.db)
      assert.notEqual(snapshot.get(), `${stored}`)
      await memory.snapshots.upToDate()
      assert.equal(snapshot.get(), `${stored}`)
    } finally {
      pg.Client.prototype.emit = emit
      await svc.db.query('update source set value = value - 10')
    }
  }
})

test('a lost message matters for a while only', async () => {
  await using memory = await openMemory(svc.db, { highestAge: 20 })
  const snapshot = await memory.snapshots.open(source)
  await svc.db.query('update source set value = 3')
  await until(() => snapshot.get() === '3')
})

test('what cannot be read is tried again; the last good value serves meanwhile, but not for ever', async () => {
  let time = 0
  await using memory = await openMemory(svc.db, { now: () => time, longestOutdated: 1000 })
  const snapshot = await memory.snapshots.open(source)
  const good = snapshot.get()
  await svc.db.query('alter table source rename to away')
  using attempts = counting('from source')
  await svc.db.query(message, [topic])
  await until(() => attempts.count() >= 2)
  assert.equal(snapshot.get(), good)
  await assert.rejects(snapshot.renewed(), (error) => error instanceof AppError && error.status === 503)
  time = 1001
  assert.throws(
    () => snapshot.get(),
    (error) => error instanceof AppError && error.status === 503,
  )
  await svc.db.query('update away set value = 4')
  await svc.db.query('alter table away rename to source')
  await until(async () => {
    try {
      return snapshot.get() === '4'
    } catch {
      return false
    }
  })
})

test('what this process has committed is not replaced by what it read before', async () => {
  await using memory = await openMemory(svc.db)
  const snapshot = await memory.snapshots.open(source)
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let late = false
  const slow = await memory.snapshots.open({
    ...source,
    async read(from: Queryable) {
      const value = await source.read(from)
      if (late) {
        late = false
        begin()
        await released
      }
      return value
    },
  })
  late = true
  const renewed = slow.renewed()
  await begun
  await svc.db.query('update source set value = 5')
  slow.take([5])
  release()
  assert.equal(await renewed, '5')
  assert.equal(await snapshot.renewed(), '5')
})

test('whoever takes a connection inside a transaction fails in tests', async () => {
  const { db } = svc
  const taken = /a connection is taken inside a transaction/
  await db.transaction(async (tx) => {
    await assert.rejects(db.query('select 1'), taken)
    await assert.rejects(db.connect(), taken)
    await assert.rejects(
      db.transaction(async () => {}),
      taken,
    )
    await tx.query('select 1')
  })
  await db.query('select 1')
})

test('saves that fill the connections wait neither for pools nor for transitions that change meanwhile', async () => {
  await using museum = await startMuseum({ lockTimeout: 20_000, dbMaxConnections: 12 })
  const { db, as } = museum.svc
  const root = as('root')
  await root.token()
  const other = new pg.Client({ connectionString: museum.svc.dsn })
  await other.connect()
  await other.query('begin')
  await other.query('select pg_advisory_xact_lock($1)', [modelLock])
  const saves = Array.from({ length: 24 }, (_, n) =>
    root.post('/db/person', [payload('person', { name: `While pools change ${n}` })]),
  )
  await until(() => db.pool.waitingCount > 0)
  for (const about of ['pool', 'tags', 'transitions', 'datamodel', 'base_config']) await other.query(message, [about])
  await other.query('commit')
  await other.end()
  const begun = performance.now()
  for (const answer of await Promise.all(saves)) assert.equal(answer.status, 200, JSON.stringify(answer.body))
  assert.ok(performance.now() - begun < 10_000)
})

test('transitions that cannot be read anew keep nobody from saving', async () => {
  await using museum = await startMuseum()
  const { db, as } = museum.svc
  await db.query('alter table transition rename to away')
  using attempts = counting('from transition order')
  await db.query(message, ['transitions'])
  await until(() => attempts.count() >= 2)
  const answer = await as('root').post('/db/person', [payload('person', { name: 'Saved' })])
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
})
