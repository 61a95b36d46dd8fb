import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDb } from '../../../src/platform/postgres/db.ts'
import { createTestDatabase } from '../../support/postgres.ts'

test('closing lets those who wait for a connection have theirs: nobody is told later that it took too long', async () => {
  const database = await createTestDatabase()
  try {
    const db = openDb({
      connectionString: database.dsn,
      maxConnections: 2,
      applicationName: 'closing',
      lockTimeout: 2000,
      onError: () => {},
    })
    // A connection that is there and free: whoever asks for one gets it in a later turn.
    await db.query('select 1')
    const asked = Array.from({ length: 5 }, (_, number) =>
      db.query<{ number: number }>('select $1::int as number', [number]),
    )
    const settled = Promise.allSettled(asked)
    await db.close()
    const answers = await settled
    assert.deepEqual(
      answers.map((one) => (one.status === 'fulfilled' ? one.value.rows : String(one.reason))),
      [[{ number: 0 }], [{ number: 1 }], [{ number: 2 }], [{ number: 3 }], [{ number: 4 }]],
    )
    await assert.rejects(db.query('select 1'))
  } finally {
    await database.drop()
  }
})
