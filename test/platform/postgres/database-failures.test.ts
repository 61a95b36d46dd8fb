import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { AppError } from '../../../src/platform/errors.ts'
import { toAppError } from '../../../src/platform/http/error-responses.ts'
import { openDb } from '../../../src/platform/postgres/db.ts'
import { comesBackSoon, isDiskFull, translate } from '../../../src/platform/postgres/failures.ts'
import { openPipelinedReads } from '../../../src/platform/postgres/pipelined-reads.ts'
import { createEmptyDatabase } from '../../support/postgres.ts'
import { startService } from '../../support/service.ts'

function state(code: string): pg.DatabaseError {
  const error = new pg.DatabaseError(`state ${code}`, 0, 'error')
  error.code = code
  return error
}

const withCode = (code: string, more: object = {}): Error => Object.assign(new Error(code), { code, ...more })

const away = [
  ...['08000', '08001', '08003', '08004', '08006', '08007', '08P01', '28000', '28P01', '3D000', '25006', '25P03'],
  ...['25P04', '53000', '53100', '53200', '53300', '53400', '57P01', '57P02', '57P03', '57P04', '57P05', '57014'],
]
const lost: readonly Error[] = [
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND'].map((code) =>
    withCode(code),
  ),
  ...['EAI_AGAIN', 'EMFILE', 'ERR_STREAM_DESTROYED'].map((code) => withCode(code)),
  withCode('ENOENT', { syscall: 'connect' }),
  new Error('Connection terminated'),
  new Error('Connection terminated unexpectedly'),
  new Error('Connection terminated due to connection timeout'),
  new Error('timeout exceeded when trying to connect'),
  new Error('timeout expired'),
  new Error('Client has encountered a connection error and is not queryable'),
  new Error('Client was closed and is not queryable'),
  new Error('Cannot use a pool after calling end on the pool'),
]

test('whatever says that the database is not there now is 503, also behind other failures', () => {
  for (const error of [...away.map(state), ...lost]) {
    const known = translate(error)
    assert.ok(known instanceof AppError, String(error))
    assert.equal(known.status, 503, String(error))
    assert.equal(known.cause, error)
    assert.equal(toAppError(new Error('wrapped', { cause: new Error('twice', { cause: known }) })), known)
  }
  for (const code of away) assert.equal(toAppError(state(code)).status, 503, code)
  assert.equal(isDiskFull(new Error('wrapped', { cause: translate(state('53100')) })), true)
  assert.equal(isDiskFull(state('53200')), false)
})

test('what is a fault of ours, of the request or of another file stays that', () => {
  for (const code of ['42601', '42P01', '23502', 'XX000', '25P02', '22012']) {
    assert.equal(translate(state(code)) instanceof AppError, false, code)
    assert.equal(toAppError(state(code)).status, 500, code)
  }
  for (const [code, status] of [
    ['55P03', 423],
    ['40P01', 423],
    ['40001', 423],
    ['23503', 423],
    ['22021', 400],
    ['22003', 400],
    ['23505', 400],
  ] as const) {
    assert.equal(toAppError(translate(state(code))).status, status, code)
  }
  const file = withCode('ENOENT', { syscall: 'open' })
  assert.equal(translate(file), file)
  // Another service was asked.
  assert.equal(toAppError(withCode('ECONNRESET')).status, 500)
  assert.deepEqual(
    ['57P03', '53300', '53100', '28P01', '57014'].map((code) => comesBackSoon(state(code))),
    [true, true, false, false, false],
  )
})

async function openTestDb() {
  const database = await createEmptyDatabase()
  return openDb({
    connectionString: database.dsn,
    maxConnections: 2,
    applicationName: 'test',
    lockTimeout: 1000,
    onError: () => {},
  })
}

test('of statements that left together the first one that failed is told, whichever is waited for first', async () => {
  const db = await openTestDb()
  try {
    const raise = (code: string) => `do $$ begin raise exception 'no' using errcode = '${code}'; end $$`
    const together = (code: string) =>
      db.transaction(async (tx) => {
        const first = tx.query(raise(code))
        first.catch(() => {})
        await tx.query('select 1')
        await first
      })
    await assert.rejects(together('53100'), { code: 'ServiceUnavailable', message: /disk/ })
    await assert.rejects(together('57P03'), { code: 'ServiceUnavailable' })
    await assert.rejects(together('22012'), { code: '22012' })
    const kept = db.transaction(async (tx) => {
      await tx.query(raise('53200')).catch(() => {})
    })
    await assert.rejects(kept, { code: 'ServiceUnavailable' })
    const goneBack = db.transaction(async (tx) => {
      await tx.query('savepoint one')
      await tx.query(raise('53100')).catch(() => tx.query('rollback to one'))
      await tx.query('select 1 / 0')
    })
    await assert.rejects(goneBack, /division by zero/)
  } finally {
    await db.close()
  }
})

test('a database that was taken away: pipelined reads, searches, lists and writes all answer 503 and say when to ask again', async () => {
  await using svc = await startService({ readOnly: false })
  const root = svc.as('root')
  assert.equal((await root.post('/search', {})).status, 200)
  const quick = openPipelinedReads({ db: svc.db })
  const admin = new pg.Client({ connectionString: svc.dsn.replace(/@\/[^?]*/, '@/postgres') })
  await admin.connect()
  try {
    await quick.query('select 1')
    const { rows } = await svc.db.query<{ name: string }>('select current_database() as name')
    const name = rows[0]?.name ?? ''
    await admin.query(`alter database "${name}" allow_connections false`)
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
    for (const reads of [quick.alone, quick.alone, quick, svc.db]) {
      await assert.rejects(reads.query('select 1'), { code: 'ServiceUnavailable' })
    }
    const answers = await Promise.all([
      root.post('/search', {}),
      root.post('/event', { event: { type: 'SEARCH' } }),
      root.get('/event/list'),
      root.get('/user'),
    ])
    for (const { status, body, headers } of answers) {
      assert.deepEqual([status, body.code, headers['retry-after']], [503, 'ServiceUnavailable', '2'])
    }
    await admin.query(`alter database "${name}" allow_connections true`)
    await svc.db.query('select 1')
    assert.equal((await root.post('/search', {})).status, 200)
  } finally {
    await admin.end()
    await quick.close()
  }
})
