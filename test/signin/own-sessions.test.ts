import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { TestVisitor } from './sign-in-browser.ts'
import { createUsers, eventsOf, refresh, requestToken, signIn, statusWith } from './support.ts'

let svc: TestService
before(async () => {
  svc = await startService()
  await createUsers(
    svc,
    { user: { login: 'anna' } },
    { user: { login: 'ben' } },
    { user: { login: 'manager' }, _system_rights: { 'system.user': {} } },
  )
})
after(() => svc[Symbol.asyncDispose]())

async function call(token: string, method: 'GET' | 'DELETE', path: string): Promise<{ status: number; body: Json }> {
  const headers = { authorization: `Bearer ${token}` }
  const response = await svc.inject({ method, url: `/api/v1/user/session/${path}`, headers })
  return { status: response.statusCode, body: response.json() }
}

const tokenOf = async (login: string, headers: Record<string, string> = {}): Promise<string> => {
  const form = { grant_type: 'password', client_id: 'web-client', username: login, password: login, scope: 'read' }
  return (await requestToken(svc, form, headers)).body.access_token
}

test('a user sees where they are signed in: device, address, since when, last used', async () => {
  const first = await tokenOf('anna', { 'user-agent': 'Firefox on a desk', 'x-forwarded-for': '192.0.2.7' })
  const second = await tokenOf('anna', { 'user-agent': `long ${'x'.repeat(1000)}` })
  const { status, body } = await call(second, 'GET', 'list')
  assert.equal(status, 200)
  assert.equal(body.length, 2)
  const [own, other] = [body.find((one: Json) => one.current), body.find((one: Json) => !one.current)]
  assert.equal(own.device.length, 300)
  const { _id, since, last_used, expires, user_id, ...rest } = other
  assert.match(_id, /^[0-9a-f-]{36}$/)
  assert.equal(user_id, 100)
  for (const time of [since, last_used, expires]) assert.ok(Math.abs(Date.parse(time) - Date.now()) < 90_000_000)
  assert.deepEqual(rest, {
    client_id: 'web-client',
    method: 'native',
    scope: 'read',
    address: '192.0.2.7',
    device: 'Firefox on a desk',
    bound_browser: false,
    current: false,
  })
  await svc.db.query(`update oauth_session set last_used_at = now() - interval '1 hour' where id = $1`, [_id])
  // The session is kept in memory for some seconds; another process reads it anew.
  await using process = await attachService(svc.dsn)
  assert.equal(await statusWith(process, first), 200)
  const again = (await call(second, 'GET', 'list')).body.find((one: Json) => one._id === _id)
  assert.ok(Date.parse(again.last_used) > Date.now() - 600_000, 'using it moves the time')
})

test('signing out somewhere ends that session in all processes within a second, refresh token included', async () => {
  await using process = await attachService(svc.dsn)
  const [here, there] = [await tokenOf('ben'), (await signIn(svc, 'ben', 'ben', { scope: 'offline' })).body]
  assert.equal(await statusWith(process, there.access_token), 200)
  const { body } = await call(here, 'GET', 'list')
  const id = body.find((one: Json) => !one.current)._id
  const ended = await call(here, 'DELETE', `list/${id}`)
  assert.deepEqual([ended.status, ended.body], [200, { ended: 1 }])
  assert.equal(await statusWith(svc, there.access_token), 401)
  await until(async () => (await statusWith(process, there.access_token)) === 401)
  assert.equal((await refresh(svc, there.refresh_token)).body.error, 'invalid_grant')
  assert.equal(await statusWith(svc, here), 200)
  assert.equal((await call(here, 'DELETE', `list/${id}`)).status, 404)
  const logouts = await eventsOf(svc, 'USER_LOGOUT')
  assert.equal(logouts.at(-1).event.info.reason, 'signed_out')
})

test('all others can be ended at once; no other browser stays signed in', async () => {
  await svc.as('root').post('/config/system/config/login/keep_login', '7d')
  const visitor = new TestVisitor(svc)
  await visitor.signIn('anna', 'anna', { auth_method: 'native' }, { keep_login: '1' })
  assert.equal((await visitor.authorize({ auth_method: 'native' })).status, 302)
  const tokens = [await tokenOf('anna'), await tokenOf('anna'), await tokenOf('anna')]
  const [mine = '', ...others] = tokens
  const ended = await call(mine, 'DELETE', 'list')
  assert.equal(ended.status, 200)
  assert.ok(ended.body.ended >= 2)
  for (const token of others) assert.equal(await statusWith(svc, token), 401)
  assert.equal((await call(mine, 'GET', 'list')).body.length, 1)
  assert.equal((await visitor.authorize({ auth_method: 'native' })).status, 200)
})

test('sessions of others are for who manages users, those of root for root; ids of others are not there', async () => {
  const [anna, manager, root] = [await tokenOf('anna'), await tokenOf('manager'), await svc.as('root').token()]
  const ben = await tokenOf('ben')
  const idOf = async (token: string) =>
    (await call(token, 'GET', 'list')).body.find((one: Json) => one.current)._id as string
  assert.deepEqual(
    [
      (await call(anna, 'GET', 'list?user_id=101')).body.code,
      (await call(anna, 'DELETE', 'list?user_id=101')).body.code,
    ],
    ['SystemRightRequired', 'SystemRightRequired'],
  )
  assert.equal((await call(anna, 'DELETE', `list/${await idOf(ben)}`)).status, 404)
  assert.equal((await call(manager, 'GET', 'list?user_id=1')).status, 403)
  assert.equal((await call(manager, 'DELETE', `list/${await idOf(root)}`)).status, 404)
  assert.equal(await statusWith(svc, ben), 200)
  const seen = await call(manager, 'GET', 'list?user_id=101')
  assert.ok(seen.body.every((one: Json) => one.user_id === 101 && !one.current))
  assert.equal((await call(manager, 'DELETE', `list/${await idOf(ben)}`)).status, 200)
  assert.equal(await statusWith(svc, ben), 401)
  const again = await tokenOf('ben')
  assert.equal((await call(manager, 'DELETE', 'list?user_id=101')).status, 200)
  assert.equal(await statusWith(svc, again), 401)
  assert.equal((await call(anna, 'DELETE', 'list/no-id')).status, 400)
})
