import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import { onStatement } from '../../src/platform/postgres/statements.ts'
import type { Json } from '../support/client.ts'
import { spawnService, temporaryFolder } from '../support/process.ts'
import { startMuseum } from '../support/seed/museum.ts'
import { attachService, startService } from '../support/service.ts'
import { openStream, type StreamClient } from '../support/stream.ts'
import { until } from '../support/until.ts'

/** Set on all that happens on connections. */
const onConnections = new AsyncLocalStorage<true>()

test('a thousand listeners cost as many statements as one', async () => {
  await using museum = await startMuseum({ quotaStreams: 1000 })
  const { svc } = museum
  const root = svc.as('root')
  const logins = Array.from({ length: 10 }, (_, n) => `listener-${n}`)
  const users = logins.map((login) => ({ user: { login, reference: login }, _password: login }))
  const saved = await root.post('/user', users, { confirm: 'ignore_password_requirements' })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const tokens = [await root.token(), ...(await Promise.all(logins.map((login) => svc.as(login).token())))]
  const base = await onConnections.run(true, () => svc.listen())

  const counts = new Map<string, number>()
  const stop = onStatement((text) => {
    if (onConnections.getStore()) counts.set(text, (counts.get(text) ?? 0) + 1)
  })
  /** Statements by how often they came, of so many looks at the log; sessions are read anew every few seconds. */
  const during = async (looks: number, work: () => Promise<unknown> = async () => {}) => {
    counts.clear()
    await work()
    const of = (part: string) => [...counts].reduce((sum, [text, count]) => sum + (text.includes(part) ? count : 0), 0)
    await until(() => of('pg_locks') >= looks)
    const all = [...counts.values()].reduce((sum, count) => sum + count, 0)
    const sessions = of('from oauth_token')
    const seen = of('pg_locks')
    assert.ok(sessions <= 1 + seen, `${sessions} reads of sessions in ${seen} looks`)
    return { looks: seen, asked: all - seen - sessions }
  }

  const listeners: StreamClient[] = []
  const open = async (count: number) => {
    const opening = Array.from({ length: count }, (_, n) =>
      openStream(base, { token: tokens[n % tokens.length] as string }),
    )
    listeners.push(...(await Promise.all(opening)))
  }
  /** An object that only root may read, and a group that only root knows of, as events. */
  const change = async (name: string): Promise<void> => {
    const place = { _objecttype: 'place', _mask: '_all_fields', place: { name: { 'en-US': name }, code: name } }
    assert.equal((await root.post('/db/place', [place])).status, 200)
    assert.equal((await root.post('/group', [{ group: { name } }])).status, 200)
    const event = { _basetype: 'event', event: { type: 'INDEX_SWITCH', info: { IndexNames: [name] } } }
    const id = (await root.post('/event', event, { skip_constraints: true })).body.event._id
    await until(() => listeners.every(({ events }) => events.at(-1)?.event._id === id))
  }

  await open(11)
  await during(2)
  assert.equal((await during(6)).asked, 0, 'nothing new is one question')
  const few = await during(2, () => change('few'))
  await open(989)
  await during(2)
  assert.equal((await during(6)).asked, 0)
  const many = await during(2, () => change('many'))
  // In how many looks they come is chance; of each look it is the events and three questions about them.
  for (const { asked, looks } of [few, many]) assert.ok(asked <= 4 * looks, `${asked} statements in ${looks} looks`)
  for (const [index, { events }] of listeners.entries()) {
    const told = events.map(({ event }: Json) => event.type).filter((type: string) => type !== 'INDEX_SWITCH')
    const mighty = index < 11 ? index === 0 : (index - 11) % tokens.length === 0
    assert.equal(told.includes('OBJECT_INSERT'), mighty)
  }
  stop()
  for (const { socket } of listeners) socket.close()
  await Promise.all(listeners.map(({ ended }) => ended))
})

test('when a process is killed in the middle of writing, listeners of another one hear all that is stored', async () => {
  await using svc = await startService()
  await using folder = await temporaryFolder()
  const killed = await spawnService(folder.path, { SVC_DB_DSN: svc.dsn, SVC_ROOT_PASSWORD: 'root-test-password' })
  const token = await svc.as('root').token()
  const here = await openStream(await svc.listen(), { token, from: 0 })
  const there = await openStream(killed.url, { token, from: 0 })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const event = { _basetype: 'event', event: { type: 'INDEX_SWITCH', info: {} } }
  let acknowledged = 0
  const writers = Array.from({ length: 4 }, async () => {
    for (;;) {
      const request = { method: 'POST', headers, body: JSON.stringify(Array(50).fill(event)) }
      const answer = await fetch(`${killed.url}/api/v1/event/list?skip_constraints=1`, request).catch(() => null)
      if (!answer?.ok) return
      acknowledged += 50
    }
  })
  await until(() => acknowledged >= 500 && here.ids().length > 100)
  killed.child.kill('SIGKILL')
  await killed.exited
  await Promise.all(writers)
  const before = there.ids()
  assert.notEqual((await there.ended).code, 1000)
  const last = (await svc.as('root').post('/event', event, { skip_constraints: true })).body.event._id as number
  await until(() => here.ids().includes(last))
  const stored = await svc.db.query<{ id: number }>('select id from event where pollable order by id')
  const ids = stored.rows.map(({ id }) => id)
  assert.ok(ids.length > acknowledged)
  assert.deepEqual(here.ids(), ids)
  // Whoever lost its process goes on with another one.
  await using other = await attachService(svc.dsn)
  const again = await openStream(await other.listen(), { token, from: before.at(-1) ?? 0 })
  await until(() => again.ids().includes(last))
  assert.deepEqual([...before, ...again.ids()], ids)
  for (const listener of [here, again]) await listener.close()
})
