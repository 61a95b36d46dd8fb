import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { forgiveSignIns } from '../../src/signin/throttle.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { createUsers, eventsOf, requestToken, type TokenAnswer } from './support.ts'

let svc: TestService
before(async () => {
  svc = await startService({ trustedProxies: ['loopback'] })
  await createUsers(svc, { user: { login: 'anna' } }, { user: { login: 'ben' } })
})
after(() => svc[Symbol.asyncDispose]())

/** Begins anew: nobody has failed, nobody is known, and so many attempts are open (null: as many as without a setting). */
async function strict(attempts: number | null): Promise<void> {
  const path = '/config/system/config/password/blockclient'
  const set = attempts === null ? svc.as('root').delete(path) : svc.as('root').post(path, { attempts, minutes: 5 })
  assert.equal((await set).status, 200)
  assert.equal((await svc.as('root').delete('/event/list', undefined, { type: 'USER_LOGIN_FAILED' })).status, 200)
  await svc.db.query('delete from sign_in_failure')
  await svc.db.query('delete from known_source')
}

function signInFrom(svc: TestService, address: string, login: string, password = login, cookie?: string) {
  const form = { grant_type: 'password', client_id: 'web-client', username: login, password }
  return requestToken(svc, form, { 'x-forwarded-for': address, ...(cookie ? { cookie } : {}) })
}

/** The cookie that a browser keeps from this sign-in. */
const cookieOf = ({ headers }: TokenAnswer): string => String(headers['set-cookie']).split(';', 1)[0] ?? ''

const blocksEnd = (svc: TestService) => svc.db.query('update sign_in_failure set blocked_until = now()')

test('LIM-011 after ten wrong passwords a login is blocked for five minutes, as documented', async () => {
  await strict(null)
  for (let n = 0; n < 10; n++) assert.equal((await signInFrom(svc, '192.0.2.1', 'anna', 'wrong')).status, 400)
  const blocked = await signInFrom(svc, '192.0.2.1', 'anna')
  assert.equal(blocked.status, 429)
  const seconds = Number(blocked.headers['retry-after'])
  assert.ok(seconds > 200 && seconds <= 300, String(seconds))
  const page = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'operations.md'), 'utf8')
  const documented = page.split('\n## ').find((part) => part.startsWith('Wrong passwords')) ?? ''
  assert.match(documented, /`attempts` \(10; 0: never\) and `minutes` \(5\)/)
  assert.match(documented, /answered 429 with `Retry-After`/)
})

test('too many failures from a network block the login there, also for the right password', async () => {
  await strict(3)
  for (let n = 0; n < 3; n++) assert.equal((await signInFrom(svc, '192.0.2.1', 'anna', 'wrong')).status, 400)
  const blocked = await signInFrom(svc, '192.0.2.1', 'ANNA', 'anna')
  assert.deepEqual([blocked.status, blocked.body.error], [429, 'invalid_grant'])
  const seconds = Number(blocked.headers['retry-after'])
  assert.ok(seconds > 250 && seconds <= 300, String(seconds))
  assert.equal((await signInFrom(svc, '192.0.2.1', 'ben')).status, 200)
  assert.deepEqual(
    (await eventsOf(svc, 'USER_LOGIN_FAILED')).map(({ event }) => event.info.attempt),
    [1, 2, 3],
  )
  await blocksEnd(svc)
  assert.equal((await signInFrom(svc, '192.0.2.1', 'anna')).status, 200, 'the time is over')
})

test('wrong passwords of strangers lock nobody out, neither from elsewhere nor from a known browser beside them', async () => {
  await strict(2)
  const cookie = cookieOf(await signInFrom(svc, '192.0.2.1', 'anna'))
  for (let n = 0; n < 3; n++) await signInFrom(svc, '192.0.2.1', 'anna', 'wrong')
  assert.equal((await signInFrom(svc, '192.0.2.1', 'anna')).status, 429)
  assert.equal((await signInFrom(svc, '198.51.100.7', 'anna')).status, 200, 'from elsewhere')
  const known = await signInFrom(svc, '192.0.2.1', 'anna', 'anna', `other=1; ${cookie}`)
  assert.equal(known.status, 200, 'from a known browser')
  assert.equal(cookieOf(known), cookie, 'it keeps what it has')
})

test('a known browser is counted for itself, is one of its user alone, and nobody can bring one along', async () => {
  await strict(2)
  const ofAnna = cookieOf(await signInFrom(svc, '192.0.2.1', 'anna'))
  const ofBen = cookieOf(await signInFrom(svc, '192.0.2.2', 'ben'))
  for (let n = 0; n < 2; n++) await signInFrom(svc, '192.0.2.3', 'anna', 'wrong')
  assert.equal((await signInFrom(svc, '192.0.2.3', 'anna', 'anna', ofBen)).status, 429)
  for (let n = 0; n < 2; n++) assert.equal((await signInFrom(svc, '192.0.2.4', 'anna', 'wrong', ofAnna)).status, 400)
  assert.equal((await signInFrom(svc, '192.0.2.5', 'anna', 'anna', ofAnna)).status, 429, 'wherever it is')
  assert.equal((await signInFrom(svc, '192.0.2.4', 'anna')).status, 200, 'it counted for itself alone')
  const brought = `svc-device=${'x'.repeat(43)}`
  assert.notEqual(cookieOf(await signInFrom(svc, '192.0.2.5', 'ben', 'ben', brought)), brought)
})

test('the cookie is for the token endpoint, out of reach of pages, and secure behind TLS', async () => {
  await strict(2)
  const form = { grant_type: 'password', client_id: 'web-client', username: 'anna', password: 'anna' }
  const plain = String((await requestToken(svc, form)).headers['set-cookie'])
  assert.match(plain, /^svc-device=[\w-]{43}; Max-Age=31536000; Path=\/api\/oauth2; HttpOnly; SameSite=Lax$/)
  const proxied = await requestToken(svc, form, { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' })
  assert.match(String(proxied.headers['set-cookie']), /; Secure$/)
  assert.equal((await requestToken(svc, { ...form, password: 'wrong' })).headers['set-cookie'], undefined)
})

test('each failure after a block blocks for twice as long, until one does not come', async () => {
  await strict(2)
  const blockedFor = async (): Promise<number> =>
    Math.round(Number((await signInFrom(svc, '192.0.2.1', 'anna', 'wrong')).headers['retry-after']) / 60)
  await signInFrom(svc, '192.0.2.1', 'anna', 'wrong')
  for (const minutes of [5, 10, 20, 40]) {
    assert.equal((await signInFrom(svc, '192.0.2.1', 'anna', 'wrong')).status, 400)
    assert.equal(await blockedFor(), minutes)
    await blocksEnd(svc)
  }
  await svc.db.query('update sign_in_failure set forget_at = now()')
  assert.equal((await signInFrom(svc, '192.0.2.1', 'anna', 'wrong')).status, 400)
  assert.equal((await signInFrom(svc, '192.0.2.1', 'anna', 'wrong')).status, 400, 'counted from the beginning')
  assert.equal(await blockedFor(), 5)
})

test('a success forgets the failures before it', async () => {
  await strict(3)
  for (let round = 0; round < 3; round++) {
    await signInFrom(svc, '192.0.2.1', 'anna', 'wrong')
    await signInFrom(svc, '192.0.2.1', 'anna', 'wrong')
    assert.equal((await signInFrom(svc, '192.0.2.1', 'anna')).status, 200)
  }
})

test('unknown login, wrong password, blocked: the same body, and logins that do not exist are blocked alike', async () => {
  await strict(2)
  const answers = []
  for (const login of ['anna', 'nobody']) {
    for (let n = 0; n < 3; n++) answers.push(await signInFrom(svc, '192.0.2.1', login, 'wrong'))
  }
  assert.deepEqual(
    answers.map(({ status }) => status),
    [400, 400, 429, 400, 400, 429],
  )
  for (const { body } of answers) assert.deepEqual(body, answers[0]?.body)
})

test('a network that tries many logins is blocked for all of them: a /64 of IPv6, however it is written', async () => {
  await strict(1)
  const cookie = cookieOf(await signInFrom(svc, '2001:db8:1:2::1', 'anna'))
  for (let n = 0; n < 10; n++) await signInFrom(svc, `2001:db8:1:2::${n}`, `nobody${n}`, 'x')
  assert.equal((await signInFrom(svc, '2001:0DB8:1:2:ffff::1', 'ben')).status, 429)
  assert.equal((await signInFrom(svc, '2001:db8:1:2::1', 'anna', 'anna', cookie)).status, 200, 'a known browser')
  assert.equal((await signInFrom(svc, '2001:db8:1:3::1', 'ben')).status, 200)
})

test('a login that very many networks try is blocked for those from which its user never came', async () => {
  await strict(1)
  await signInFrom(svc, '192.0.2.1', 'anna')
  // What 99 networks had done; the last one comes itself.
  await signInFrom(svc, '203.0.113.1', 'anna', 'wrong')
  await svc.db.query('update sign_in_failure set failures = 99 where blocked_until is null and failures = 1')
  await signInFrom(svc, '203.0.113.2', 'anna', 'wrong')
  assert.equal((await signInFrom(svc, '203.0.113.3', 'anna')).status, 429)
  assert.equal((await signInFrom(svc, '192.0.2.1', 'anna')).status, 200, 'from where the user came before')
  assert.equal((await signInFrom(svc, '203.0.113.3', 'ben')).status, 200)
})

test('several processes count together', async () => {
  await strict(2)
  await using other = await attachService(svc.dsn, { trustedProxies: ['loopback'] })
  await signInFrom(svc, '192.0.2.1', 'anna', 'wrong')
  await signInFrom(other, '192.0.2.1', 'anna', 'wrong')
  assert.equal((await signInFrom(svc, '192.0.2.1', 'anna')).status, 429)
  assert.equal((await signInFrom(other, '192.0.2.1', 'anna')).status, 429)
})

test('of the networks and browsers of a user a few are remembered', async () => {
  await strict(2)
  for (let n = 0; n < 15; n++) await signInFrom(svc, `192.0.2.${n}`, 'anna')
  const { rows } = await svc.db.query<{ count: number }>(
    `select count(*)::int as count from known_source where user_id = (select id from "user" where login = 'anna')`,
  )
  assert.deepEqual(rows, [{ count: 20 }])
})

test('wrong passwords for a change are counted for the user, wherever they come from, and block no sign-in', async () => {
  await strict(2)
  await createUsers(svc, { user: { login: 'carl' }, _system_rights: { 'system.user.change_password': {} } })
  const carl = svc.as('carl')
  const change = (password: string) =>
    carl.post('/user/change_password', { password, new_password: 'a new one, Much longer 1' })
  for (let n = 0; n < 2; n++) assert.equal((await change('wrong')).body.code, 'WrongPassword')
  const blocked = await change('carl')
  assert.deepEqual([blocked.status, blocked.body.code], [429, 'TooManyAttempts'])
  assert.equal(blocked.headers['retry-after'], String(blocked.body.parameters.retry_after))
  assert.equal((await signInFrom(svc, '192.0.2.1', 'carl')).status, 200)
})

test('what blocks a login can be taken away: its own blocks, not those of the networks', async () => {
  await strict(2)
  for (const login of ['anna', 'anna', 'ben', 'ben']) await signInFrom(svc, '192.0.2.1', login, 'wrong')
  const { rows } = await svc.db.query<{ id: number }>(`select id from "user" where login = 'anna'`)
  await forgiveSignIns(
    svc.db,
    rows.map(({ id }) => id),
  )
  assert.equal((await signInFrom(svc, '192.0.2.1', 'anna')).status, 200)
  assert.equal((await signInFrom(svc, '192.0.2.1', 'ben')).status, 429)
})

test('0 attempts never block', async () => {
  await strict(0)
  for (let round = 0; round < 4; round++) await signInFrom(svc, '192.0.2.1', 'anna', 'wrong')
  assert.equal((await signInFrom(svc, '192.0.2.1', 'anna')).status, 200)
})

test('attempts at once cannot slip through', async () => {
  await strict(4)
  const answers = await Promise.all(Array.from({ length: 16 }, () => signInFrom(svc, '192.0.2.1', 'anna', 'wrong')))
  const tried = answers.filter(({ status }) => status === 400).length
  // Two passwords are computed at a time: the second may have begun before the last failure was counted.
  assert.ok(tried <= 4 + 1, `${tried} passwords were tried`)
})
