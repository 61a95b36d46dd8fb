import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { pino } from 'pino'
import { noDeadlineFor, withinDeadline } from '../../src/platform/limits/deadline.ts'
import { divideMemory, standardMemory } from '../../src/platform/memory/shares.ts'
import { type Db, openDb } from '../../src/platform/postgres/db.ts'
import { type ColumnRequest, createBitmapStore } from '../../src/search/postgres/bitmaps/bitmap-store.ts'
import { type MatchColumn, newBits, type ObjectTable } from '../../src/search/postgres/bitmaps/column.ts'
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { payload } from '../support/seed/museum.ts'
import { attachService } from '../support/service.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
let db: Db
let type: number

before(async () => {
  database = await createTestDatabase()
  const onError = () => {}
  db = openDb({
    connectionString: database.dsn,
    maxConnections: 4,
    applicationName: 'columns test',
    onError,
    lockTimeout: 2000,
  })
  await using svc = await attachService(database.dsn)
  await commitModel(svc, defineModel({ note: { columns: { mark: 'text_oneline' } } }))
  assert.equal((await svc.as('root').post('/db/note', [payload('note', { mark: 'one' })])).status, 200)
  await svc.drain()
  const { rows } = await db.query<{ objecttype: number }>('select objecttype from search_document')
  type = rows[0]?.objecttype ?? 0
})
after(async () => {
  await db.close()
  await database.drop()
})

/** Columns that are read when the test says so, and in which order they were begun. */
function prepared() {
  const bitmaps = createBitmapStore({ db, log: pino({ level: 'silent' }), memory: divideMemory(standardMemory) })
  const begun: string[] = []
  const gates = new Map<string, PromiseWithResolvers<void>>()
  const column: MatchColumn = { kind: 'matches', bits: newBits(1) }
  const wanted = (key: string, readable = true): ColumnRequest<MatchColumn> => ({
    key,
    times: { usual: 1, large: 1 },
    async read() {
      begun.push(key)
      const gate = Promise.withResolvers<void>()
      gates.set(key, gate)
      await gate.promise
      return readable ? column : null
    },
  })
  const want = (...keys: string[]) => {
    for (const key of keys) bitmaps.want(type, [wanted(key)], 'usual')
  }
  const isBegun = (key: string) => until(() => begun.includes(key), 5)
  const finish = async (key: string) => {
    await isBegun(key)
    gates.get(key)?.resolve()
  }
  return { bitmaps, begun, wanted, want, isBegun, finish, column }
}

const tableOf = (bitmaps: ReturnType<typeof createBitmapStore>) => bitmaps.table(type) as ObjectTable

test('columns are read one after the other, those first that are asked for most often', async () => {
  const { bitmaps, begun, want, finish } = prepared()
  want('a', 'b', 'c', 'd', 'c', 'd', 'd', 'a')
  for (const key of ['a', 'd', 'c', 'b']) {
    await finish(key)
    assert.equal(begun.at(-1), key)
  }
  await bitmaps.idle()
  want('a', 'b', 'c', 'd')
  await bitmaps.idle()
  assert.deepEqual(begun, ['a', 'd', 'c', 'b'])
})

test('a search waits for the column that is just being read, and for no other', async () => {
  const { bitmaps, column, wanted, want, isBegun, finish } = prepared()
  want('a', 'b')
  await isBegun('a')
  const table = tableOf(bitmaps)
  assert.equal(bitmaps.column(table, wanted('a')), null)
  assert.equal(await bitmaps.soon(table, wanted('b')), null)
  let soon: unknown = 'nothing yet'
  const asked = bitmaps.soon(table, wanted('a')).then((found) => {
    soon = found
  })
  await turn()
  assert.equal(soon, 'nothing yet')
  await finish('a')
  await asked
  assert.equal(soon, column)
  assert.equal(await bitmaps.soon(table, wanted('a')), column)
  await finish('b')
  await bitmaps.idle()
})

test('a search does not wait for ever, and not for what cannot be read', async () => {
  const { bitmaps, wanted, want, isBegun, finish } = prepared()
  want('a')
  await isBegun('a')
  const table = tableOf(bitmaps)
  // It is never there in time.
  assert.equal(await bitmaps.soon(table, wanted('a')), null)
  await finish('a')
  bitmaps.want(type, [wanted('none', false)], 'usual')
  await isBegun('none')
  const asked = bitmaps.soon(table, wanted('none', false))
  await finish('none')
  assert.equal(await asked, null)
  await bitmaps.idle()
})

test('no more than fifty columns wait to be read; others can be asked for again', async () => {
  const { bitmaps, begun, want, isBegun, finish } = prepared()
  want('first')
  await isBegun('first')
  const many = Array.from({ length: 60 }, (_, n) => `n${n}`)
  want(...many)
  await finish('first')
  for (const key of many.slice(0, 50)) await finish(key)
  await bitmaps.idle()
  assert.deepEqual(begun, ['first', ...many.slice(0, 50)])
  want('n55')
  await finish('n55')
  await bitmaps.idle()
  assert.equal(begun.at(-1), 'n55')
})

test('a column that searches wait for is read once for all of them, and one after the other', async () => {
  const { bitmaps, begun, column, wanted, want, isBegun, finish } = prepared()
  want('table')
  await finish('table')
  await bitmaps.idle()
  const table = tableOf(bitmaps)
  const waiting = ['a', 'b', 'a'].map((key) => bitmaps.load(table, wanted(key)))
  await isBegun('a')
  assert.deepEqual(begun, ['table', 'a'])
  await finish('a')
  await finish('b')
  await Promise.all(waiting)
  assert.deepEqual(begun, ['table', 'a', 'b'])
  for (const key of ['a', 'b']) assert.equal(bitmaps.column(table, wanted(key)), column)
})

test('a caller waits for ten columns at most, and others have their turns between them', async () => {
  const { bitmaps, begun, wanted, want, isBegun, finish } = prepared()
  want('table')
  await finish('table')
  await bitmaps.idle()
  const table = tableOf(bitmaps)
  const load = (who: string, key: string) => withinDeadline(noDeadlineFor(who), () => bitmaps.load(table, wanted(key)))
  const ofOne = Array.from({ length: 12 }, (_, index) => `one${index}`)
  const loads = [...ofOne.map((key) => load('one', key)), load('another', 'other')]
  await isBegun('one0')
  const order = ['one0', 'other', ...ofOne.slice(1, 10)]
  for (const key of order) {
    await isBegun(key)
    await finish(key)
  }
  await Promise.all(loads)
  assert.deepEqual(begun, ['table', ...order])
})
