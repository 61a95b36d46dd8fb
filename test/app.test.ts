import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { buildApp } from '../src/app.ts'
import { openDb } from '../src/platform/postgres/db.ts'
import { createTestDatabase } from './support/postgres.ts'
import { testConfig } from './support/service.ts'
import { until } from './support/until.ts'

const log = pino({ level: 'silent' })

async function openTestDatabase() {
  const database = await createTestDatabase()
  const applicationName = 'app test'
  const db = openDb({
    connectionString: database.dsn,
    maxConnections: 6,
    applicationName,
    lockTimeout: 1000,
    onError: () => {},
  })
  return {
    database,
    db,
    /** Connections to the database but the one that asks. */
    async connections(): Promise<number> {
      const { rowCount } = await db.query(
        'select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      )
      return rowCount
    },
    [Symbol.asyncDispose]: async () => {
      await db.close()
      await database.drop()
    },
  }
}

// What reads these tables at the start, in the order of the start.
for (const broken of [
  'base_config',
  'datamodel_version',
  'pool',
  'tag',
  'transition',
  '"user"',
  'graphile_worker.migrations',
]) {
  test(`a service that cannot be built for want of ${broken} leaves nothing open`, async () => {
    await using opened = await openTestDatabase()
    const { db, database, connections } = opened
    await db.query(`alter table ${broken} rename to elsewhere`)
    await assert.rejects(buildApp(testConfig(database.dsn), { db, log }), /exist/)
    assert.equal(db.pool.totalCount, db.pool.idleCount)
    await until(async () => (await connections()) === db.pool.totalCount - 1, 2)
  })
}

test('a service that is closed leaves nothing open', async () => {
  await using opened = await openTestDatabase()
  const { db, database, connections } = opened
  const app = await buildApp(testConfig(database.dsn), { db, log })
  await app.idle()
  await app.close()
  assert.equal(db.pool.totalCount, db.pool.idleCount)
  await until(async () => (await connections()) === db.pool.totalCount - 1, 2)
})
