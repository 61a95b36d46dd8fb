import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { siteOf } from '../../src/platform/limits/callers.ts'
import { createLimiter } from '../../src/platform/limits/limiter.ts'
import { issueTokens, ownerOfToken } from '../../src/signin/account/tokens.ts'
import { startService, type TestService } from '../support/service.ts'
import { TestVisitor } from './sign-in-browser.ts'
import { createUsers, requestToken } from './support.ts'

let svc: TestService
before(async () => {
  svc = await startService({ quotaSignIns: 20 })
  await createUsers(svc, { user: { login: 'anna' } })
  const on = await svc.as('root').post('/config/system/config/login/guest', true)
  assert.equal(on.status, 200, JSON.stringify(on.body))
  const methods = { enabled: true, methods: ['passkey', 'totp'], allow_password_grant: true }
  const factors = await svc.as('root').post('/config/system/config/two_factor', methods)
  assert.equal(factors.status, 200, JSON.stringify(factors.body))
})
after(() => svc[Symbol.asyncDispose]())

const from = (address: string) => ({ 'x-forwarded-for': address })
const rowsOf = async (table: string): Promise<number> =>
  (await svc.db.query<{ count: number }>(`select count(*)::int as count from ${table}`)).rows[0]?.count ?? 0
const forgetAll = () => svc.db.query('delete from quota_use')

async function authorize(address: string, auth_method: string, visitor = new TestVisitor(svc)) {
  const query = visitor.parameters({ auth_method })
  return visitor.get('/api/oauth2/auth', query, from(address))
}

test('a stranger begins so many sign-ins; another one goes on, also with one that has begun', async () => {
  const other = new TestVisitor(svc)
  const begun = await authorize('192.0.2.9', 'passkey', other)
  assert.equal(begun.location?.pathname, '/api/page/passkey')
  const before = await rowsOf('login_flow')
  const answers = []
  for (let n = 0; n < 25; n++) answers.push(await authorize('192.0.2.1', 'passkey'))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [...Array(20).fill(303), ...Array(5).fill(429)],
  )
  assert.equal(await rowsOf('login_flow'), before + 20)
  assert.ok(Number(answers.at(-1)?.headers['retry-after']) > 3500)
  // Guests count with them.
  assert.equal((await authorize('192.0.2.1', 'anonymous')).status, 429)
  const { status, headers } = await requestToken(
    svc,
    { grant_type: 'client_credentials', client_id: 'web-client' },
    from('192.0.2.1'),
  )
  assert.equal(status, 429)
  assert.ok(Number(headers['retry-after']) > 3500)
  // Whoever has a password is not concerned, from there either.
  const form = { grant_type: 'password', client_id: 'web-client', username: 'anna', password: 'anna' }
  assert.equal((await requestToken(svc, form, from('192.0.2.1'))).status, 200)
  const page = await other.get(
    begun.location?.pathname ?? '',
    Object.fromEntries(begun.location?.searchParams ?? []),
    from('192.0.2.9'),
  )
  assert.equal(page.status, 200)
  assert.equal((await authorize('192.0.2.9', 'anonymous')).location?.pathname, '/app/callback')
  await forgetAll()
})

test('the page of a sign-in that has begun makes no challenges without end', async () => {
  const visitor = new TestVisitor(svc)
  const { location } = await authorize('192.0.2.2', 'passkey', visitor)
  const before = await rowsOf('passkey_challenge')
  const statuses = []
  for (let n = 0; n < 25; n++) {
    const parameters = Object.fromEntries(location?.searchParams ?? [])
    statuses.push((await visitor.get(location?.pathname ?? '', parameters, from('192.0.2.2'))).status)
  }
  assert.deepEqual(statuses.slice(-2), [429, 429])
  assert.equal(await rowsOf('passkey_challenge'), before + 19)
  await forgetAll()
})

test('networks of one IPv6 place have shares together', async () => {
  assert.equal(siteOf('2001:db8:7:1::1'), siteOf('2001:db8:7:ffff::2'))
  assert.notEqual(siteOf('2001:db8:7:1::1'), siteOf('2001:db8:8:1::1'))
  const statuses = []
  for (let n = 0; n < 90; n++) statuses.push((await authorize(`2001:db8:7:${n.toString(16)}::1`, 'anonymous')).status)
  assert.equal(statuses.filter((status) => status === 429).length, 10)
  assert.equal((await authorize('2001:db8:8::1', 'anonymous')).location?.pathname, '/app/callback')
  await forgetAll()
})

test('when very many have begun in all, networks that have begun few go on', async () => {
  await svc.db.query(
    `insert into quota_use values ('svc.quotas.signIns', 'everybody', now() + interval '1 hour', 2000, 0)`,
  )
  const statuses = []
  for (let n = 0; n < 12; n++) statuses.push((await authorize('192.0.2.3', 'passkey')).status)
  assert.deepEqual(statuses, [...Array(10).fill(303), 429, 429])
  assert.equal((await authorize('192.0.2.4', 'passkey')).status, 303)
  await forgetAll()
})

test('links for a new password that strangers ask for do not make the link of a welcome go', async () => {
  const [user] = await createUsers(svc, { user: { login: 'newcomer', email: 'newcomer@example.org' } })
  const id = user.user._id as number
  const issue = (hours: number) => svc.db.transaction((tx) => issueTokens(tx, [id], 'password', hours))
  const welcome = (await issue(168)).get(id) ?? ''
  // Three an hour, for some hours: those of the hours before are over.
  for (let hour = 0; hour < 3; hour++) {
    await svc.db.query(`update account_token set expires_at = now() where expires_at < now() + interval '2 hours'`)
    for (let n = 0; n < 3; n++) await issue(1)
  }
  assert.equal(await ownerOfToken(svc.db, welcome, 'password'), id)
})

test('networks that fill the queue do not keep another one out: whoever has most loses the last one', async () => {
  const limiter = createLimiter({ concurrency: 1, maxWaiting: 10, maxWaitingOfShare: 5 })
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const done: string[] = []
  const run = (share: string) =>
    limiter.run(async () => void done.push(share), share).catch((error: { code: string }) => void done.push(error.code))
  const first = limiter.run(() => held, 'a')
  const waiting = ['a', 'b'].flatMap((share) => Array.from({ length: 5 }, () => run(share)))
  waiting.push(run('victim'), run('other'))
  await assert.rejects(
    limiter.run(async () => {}, 'a'),
    { code: 'ServiceUnavailable' },
  )
  release()
  await Promise.all([first, ...waiting])
  assert.deepEqual(done.filter((one) => one === 'TooManyAttempts').length, 2)
  assert.ok(done.includes('victim') && done.includes('other'))
  assert.equal(done.length, 12)
})
