import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDb } from '../../../src/platform/postgres/db.ts'
import { booleansText, numbersText, textsText } from '../../../src/platform/postgres/literals.ts'
import { createEmptyDatabase } from '../../support/postgres.ts'

test('a transaction in which a statement failed unnoticed does not end as if it were stored', async () => {
  const database = await createEmptyDatabase()
  const db = openDb({
    connectionString: database.dsn,
    maxConnections: 2,
    applicationName: 'test',
    lockTimeout: 1000,
    onError: () => {},
  })
  try {
    await db.query('create table note (text text not null)')
    let told = false
    const swallowed = db.transaction(async (tx) => {
      tx.afterCommit(() => {
        told = true
      })
      await tx.query(`insert into note values ('lost')`)
      await tx.query('select 1 / 0').catch(() => {})
      return 'stored'
    })
    await assert.rejects(swallowed, (error: Error) => {
      assert.match(error.message, /rolled back/)
      assert.match(String((error.cause as Error).message), /division by zero/)
      return true
    })
    assert.equal(told, false)
    const work = db.transaction(async (tx) => {
      await tx.query('savepoint attempt')
      await tx.query('select 1 / 0').catch(() => tx.query('rollback to attempt'))
      await tx.query(`insert into note values ('kept')`)
      return 'stored'
    })
    assert.equal(await work, 'stored')
    assert.deepEqual((await db.query('select text from note')).rows, [{ text: 'kept' }])
  } finally {
    await db.close()
    await database.drop()
  }
})

test('lists of texts, numbers and truth values come as they are sent', async () => {
  const database = await createEmptyDatabase()
  const db = openDb({
    connectionString: database.dsn,
    maxConnections: 1,
    applicationName: 'test',
    lockTimeout: 1000,
    onError: () => {},
  })
  try {
    const texts = ['', 'NULL', 'a,b', '{}', '"', '\\', '\\"', ' x ', 'é', "it's", 'line\nbreak', '$&']
    const [numbers, booleans] = [
      [1, -2, 9_007_199_254_740_991],
      [true, false, true],
    ]
    for (const [t, n, b] of [
      [texts, numbers, booleans],
      [[], [], []],
    ] as const) {
      const { rows } = await db.query('select $1::text[] as t, $2::bigint[] as n, $3::bool[] as b', [
        textsText(t),
        numbersText(n),
        booleansText(b),
      ])
      assert.deepEqual(rows, [{ t, n, b }])
    }
  } finally {
    await db.close()
    await database.drop()
  }
})
