import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { createBus } from '../../../src/platform/postgres/bus.ts'
import { type Db, openDb } from '../../../src/platform/postgres/db.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

const log = pino({ level: 'silent' })

const open = ({ dsn }: TestDatabase): Db =>
  openDb({
    connectionString: dsn,
    maxConnections: 2,
    applicationName: 'bus test',
    lockTimeout: 1000,
    onError: () => {},
  })

test('a message reaches this process at the commit, others soon after, and nobody when the transaction fails', async () => {
  const database = await createTestDatabase()
  const [db, otherDb] = [open(database), open(database)]
  const [bus, otherBus] = [await createBus({ db, log }), await createBus({ db: otherDb, log })]
  const here: string[] = []
  const there: string[] = []
  bus.subscribe('topic', (payload) => here.push(payload))
  const leave = otherBus.subscribe('topic', (payload) => there.push(payload))
  try {
    await db.transaction(async (tx) => {
      await bus.publish(tx, 'topic', 'first')
      assert.deepEqual(here, [])
    })
    assert.deepEqual(here, ['first'])
    await assert.rejects(
      db.transaction(async (tx) => {
        await bus.publish(tx, 'topic', 'never')
        throw new Error('rolled back')
      }),
    )
    await db.transaction((tx) => bus.publish(tx, 'other topic', 'unheard'))
    await db.transaction((tx) => bus.publish(tx, 'topic', 'second'))
    await until(() => there.includes('second'))
    assert.deepEqual(there, ['first', 'second'])
    assert.deepEqual(here, ['first', 'second'])
    leave()
    await assert.rejects(
      db.transaction((tx) => bus.publish(tx, 'topic', 'x'.repeat(7001))),
      RangeError,
    )
  } finally {
    await Promise.all([bus.close(), otherBus.close()])
    await Promise.all([db.close(), otherDb.close()])
    await database.drop()
  }
})

test('after a broken connection the bus listens again and calls every topic, since messages were lost', async () => {
  const database = await createTestDatabase()
  const db = open(database)
  const bus = await createBus({ db, log })
  const heard: string[] = []
  bus.subscribe('topic', (payload) => heard.push(payload))
  try {
    await db.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where query like '%bus_message%' and datname = current_database() and pid <> pg_backend_pid()`,
    )
    await until(() => heard.length === 1)
    assert.deepEqual(heard, [''])
    await db.transaction((tx) => bus.publish(tx, 'topic', 'again'))
    assert.deepEqual(heard, ['', 'again'])
  } finally {
    await bus.close()
    await db.close()
    await database.drop()
  }
})
