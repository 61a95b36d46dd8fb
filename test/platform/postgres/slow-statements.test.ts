import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type SlowStatement, watchSlowStatements } from '../../../src/platform/postgres/slow-statements.ts'
import { startService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

test('a slow statement is told once with its plan, and never with its parameters', async () => {
  await using svc = await startService()
  const lines: SlowStatement[] = []
  // On a busy machine, statements of the service may be slow as well.
  const isOurs = ({ text }: SlowStatement): boolean => text.includes('pg_sleep')
  const log = { warn: (line: unknown) => void (isOurs(line as SlowStatement) && lines.push(line as SlowStatement)) }
  const slow = watchSlowStatements({ db: svc.db, log, from: 50 })
  const secret = 'nobody-is-told-this'
  const text = 'select id, pg_sleep(0.1), $1::text from pool where id = $2'
  try {
    await svc.db.query('select 1')
    await svc.db.query(text, [secret, 1])
    await until(() => lines.length === 1)
    // Within a transaction too, where no further connection may be taken.
    await svc.db.transaction((tx) => tx.query(text, [secret, 1], 'slow-pool'))
    await assert.rejects(svc.db.query('select 1 / length(pg_sleep(0.1)::text)'))
    await until(() => lines.length === 3)
  } finally {
    await slow.close()
  }
  assert.deepEqual(
    lines.map(({ name, text: told, plan }) => [name, told, plan !== null]),
    [
      ['select id,', text, true],
      ['slow-pool', text, false],
      ['select 1', 'select 1 / length(pg_sleep(0.1)::text)', true],
    ],
  )
  assert.match(`${lines[0]?.plan}`, /Scan .*on pool/)
  assert.ok(lines.every(({ milliseconds }) => milliseconds >= 50))
  assert.ok(!JSON.stringify(lines).includes(secret))
  assert.deepEqual(slow.list().filter(isOurs), lines.toReversed())
  await svc.db.query(text, [secret, 1])
  assert.equal(lines.length, 3)
})

test('nothing is watched where the limit is 0', async () => {
  const slow = watchSlowStatements({ db: null as never, log: { warn: () => assert.fail() }, from: 0 })
  assert.deepEqual(slow.list(), [])
  await slow.close()
})
