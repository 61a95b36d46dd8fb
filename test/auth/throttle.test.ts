import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService, type TestService } from '../support/service.ts'
import { createUsers, eventsOf, requestToken, signIn } from './support.ts'

async function startStrict(attempts: number): Promise<TestService> {
  const svc = await startService({ trustedProxies: ['loopback'] })
  const answer = await svc.as('root').post('/config/system/config/password/blockclient', { attempts, minutes: 5 })
  assert.equal(answer.status, 200)
  await createUsers(svc, { user: { login: 'anna' } }, { user: { login: 'ben' } })
  return svc
}

function signInFrom(svc: TestService, address: string, login: string, password: string) {
  const form = { grant_type: 'password', client_id: 'web-client', username: login, password }
  return requestToken(svc, form, { 'x-forwarded-for': address })
}

test('LIM-011 a login is blocked after too many failures from anywhere, also for the right password', async () => {
  await using svc = await startStrict(3)
  for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) {
    assert.equal((await signInFrom(svc, address, 'anna', 'wrong')).body.error, 'invalid_grant')
  }
  const blocked = await signInFrom(svc, '192.0.2.4', 'ANNA', 'anna')
  assert.deepEqual([blocked.status, blocked.body.error], [400, 'invalid_grant'])
  assert.ok(Number(blocked.headers['retry-after']) > 250)
  assert.equal((await signIn(svc, 'ben', 'ben')).status, 200)
  assert.deepEqual(
    (await eventsOf(svc, 'LOGIN_FAILED')).map(({ event }) => event.info.attempt),
    [1, 2, 3],
  )
  await svc.db.query('update login_failure set until = now()')
  assert.equal((await signIn(svc, 'anna', 'anna')).status, 200, 'the time is over')
})

test('a success forgets the failures before it', async () => {
  await using svc = await startStrict(3)
  for (let round = 0; round < 3; round++) {
    await signIn(svc, 'anna', 'wrong')
    await signIn(svc, 'anna', 'wrong')
    assert.equal((await signIn(svc, 'anna', 'anna')).status, 200)
  }
})

test('logins that do not exist are blocked like others: blocking tells nothing', async () => {
  await using svc = await startStrict(2)
  for (const login of ['anna', 'nobody']) {
    await signIn(svc, login, 'wrong')
    await signIn(svc, login, 'wrong')
  }
  const [known, unknown] = [await signIn(svc, 'anna', 'wrong'), await signIn(svc, 'nobody', 'wrong')]
  assert.deepEqual(unknown.body, known.body)
  assert.match(unknown.body.error_description, /too many/i)
})

test('an address that tries many logins is blocked; its neighbours in the IPv6 network with it', async () => {
  await using svc = await startStrict(1)
  for (let n = 0; n < 10; n++) await signInFrom(svc, `2001:db8:1:2::${n}`, `nobody${n}`, 'x')
  const neighbour = await signInFrom(svc, '2001:db8:1:2:ffff::1', 'anna', 'anna')
  assert.match(neighbour.body.error_description, /too many/i)
  assert.equal((await signInFrom(svc, '2001:db8:1:3::1', 'anna', 'anna')).status, 200)
})

test('0 attempts never block', async () => {
  await using svc = await startStrict(0)
  for (let round = 0; round < 4; round++) await signIn(svc, 'anna', 'wrong')
  assert.equal((await signIn(svc, 'anna', 'anna')).status, 200)
})

test('attempts at once cannot slip through', async () => {
  await using svc = await startStrict(4)
  const answers = await Promise.all(Array.from({ length: 16 }, () => signIn(svc, 'anna', 'wrong')))
  const tried = answers.filter((answer) => !/too many/i.test(answer.body.error_description)).length
  // Two passwords are computed at a time: the second may have begun before the last failure was counted.
  assert.ok(tried <= 4 + 1, `${tried} passwords were tried`)
})
