import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '../support/client.ts'
import { attachService, startService, type TestService } from '../support/service.ts'

async function person(svc: TestService, login: string): Promise<Client> {
  const user = { user: { login, reference: login }, _password: login }
  const saved = await svc.as('root').post('/user', [user], { confirm: 'ignore_password_requirements' })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  return svc.as(login)
}

const event = (text = '') => ({ _basetype: 'event', event: { type: 'SEARCH', info: { text } } })
const stored = async ({ db }: TestService): Promise<number> =>
  (await db.query<{ count: number }>(`select count(*)::int as count from event where type = 'SEARCH'`)).rows[0]
    ?.count ?? 0

test('an event has a size, for all but root', async () => {
  await using svc = await startService({ quotaEventBytes: 2000 })
  const user = await person(svc, 'user')
  const answer = await user.post('/event', event('x'.repeat(2000)))
  assert.equal(answer.status, 413)
  assert.equal(answer.body.code, 'PayloadTooLarge')
  assert.deepEqual(answer.body.parameters, { quota: 'svc.quotas.eventBytes', most: 2000, index: 0 })
  const batch = await user.post('/event/list', [event(), event('x'.repeat(2000))])
  assert.deepEqual([batch.status, batch.body.parameters.index], [413, 1])
  assert.equal(await stored(svc), 0)
  assert.equal((await user.post('/event', event('x'.repeat(1800)))).status, 200)
  assert.equal((await svc.as('root').post('/event', event('x'.repeat(2000)))).status, 200)
})

test('a user writes so many events within an hour, over all processes and in the background too; others write theirs', async () => {
  await using svc = await startService({ quotaEvents: 5 })
  await using second = await attachService(svc.dsn, { quotaEvents: 5 })
  const [greedy, other] = [await person(svc, 'greedy'), await person(svc, 'other')]
  assert.equal((await greedy.post('/event/list', [event(), event(), event()])).status, 200)
  assert.equal((await second.as('greedy').post('/event', event())).status, 200)
  assert.equal((await greedy.post('/event/list', [event(), event()])).status, 429, 'all or none')
  const refused = await greedy.post('/event', event(), { background: 1 })
  assert.equal(refused.status, 429)
  assert.equal(refused.body.code, 'QuotaExceeded')
  const { quota, most, retry_after: wait } = refused.body.parameters
  assert.deepEqual([quota, most], ['svc.quotas.events', 5])
  assert.ok(wait > 3500 && wait <= 3600)
  assert.equal(refused.headers['retry-after'], String(wait))
  assert.equal(await stored(svc), 4)
  assert.equal((await other.post('/event', event())).status, 200)
  assert.equal((await svc.as('root').post('/event/list', Array(20).fill(event()))).status, 200)
  // The hour ends, and others take away what is left of it.
  await svc.db.query(`update quota_use set until = now() - interval '1 second'`)
  assert.equal((await greedy.post('/event', event())).status, 200)
  await person(svc, 'third').then((third) => third.post('/event', event()))
  const { rows } = await svc.db.query<{ caller: string }>('select caller from quota_use where until <= now()')
  assert.deepEqual(rows, [])
})

test('the bytes of the events within an hour have an end', async () => {
  await using svc = await startService({ quotaEventStorage: 10_000 })
  const [greedy, other] = [await person(svc, 'greedy'), await person(svc, 'other')]
  assert.equal((await greedy.post('/event', event('x'.repeat(6000)))).status, 200)
  const refused = await greedy.post('/event', event('x'.repeat(6000)))
  assert.deepEqual([refused.status, refused.body.parameters.quota], [429, 'svc.quotas.eventStorage'])
  assert.equal((await other.post('/event', event('x'.repeat(6000)))).status, 200)
  assert.equal(await stored(svc), 2)
})
