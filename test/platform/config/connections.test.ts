import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { fewestConnections, shareConnections } from '../../../src/platform/config/connections.ts'
import { payload, startMuseum } from '../../support/seed/museum.ts'
import { until } from '../../support/until.ts'

const word = (text: string) => ({ search: [{ type: 'match', string: text }] })

test('shares add up to the setting', () => {
  for (let most = fewestConnections; most < 100; most++) {
    const { pool, pipelined, pages, lexical, locking } = shareConnections(most)
    assert.equal(pool + pipelined + pages + lexical + 1, most)
    assert.ok(pool >= 6 && pipelined >= 1 && pages >= 0 && lexical >= 1)
    // Two are always in use, the indexer and an index for sorting have one each, and one is left for all work.
    assert.ok(locking >= 0 && 2 + 2 + (locking + 1) + 1 <= pool, `${locking} of ${pool}`)
  }
})

test('the setting is the number of connections, and with the smallest one everything works', async () => {
  await using museum = await startMuseum({ dbMaxConnections: fewestConnections, lockTimeout: 20_000 })
  const { svc } = museum
  const root = svc.as('root')
  await root.token()
  const other = new pg.Client({ connectionString: svc.dsn })
  await other.connect()
  other.on('error', () => {})
  const connections = async (): Promise<number> => {
    const { rows } = await other.query(
      `select count(*)::int as count from pg_stat_activity
       where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
    )
    return rows[0].count
  }
  const save = (n: number) => root.post('/db/person', [payload('person', { name: `Person ${n}`, reference: `r${n}` })])
  const search = (n: number) => root.post('/search', word(`Person ${n}`))
  // Everybody wants all connections at once: searches stand before one lock, then saves before another.
  await other.query('begin')
  await other.query('lock table object_version, search_document in access exclusive mode')
  const searches = Array.from({ length: 40 }, (_, n) => search(n))
  await until(async () => {
    const { rowCount } = await other.query(`select from pg_stat_activity where wait_event_type = 'Lock'`)
    return Number(rowCount) > 0
  })
  const saves = Array.from({ length: 40 }, (_, n) => save(n))
  await until(() => svc.db.pool.waitingCount > 0)
  const most = await connections()
  await other.query('rollback')
  for (const { status, body } of await Promise.all([...searches, ...saves]))
    assert.equal(status, 200, JSON.stringify(body))
  assert.ok(most <= fewestConnections, `${most} connections`)

  assert.equal((await root.post('/system/reindex')).status, 200)
  const busy = Promise.all(Array.from({ length: 40 }, (_, n) => [save(100 + n), search(n)]).flat())
  await svc.drain()
  for (const { status } of await busy) assert.equal(status, 200)
  await svc.drain()
  assert.equal((await root.post('/search', { ...word('Person'), objecttypes: ['person'], limit: 0 })).body.count, 80)
  assert.ok((await connections()) <= fewestConnections)
  await other.end()
})
