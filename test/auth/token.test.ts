import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { hash } from '@node-rs/bcrypt'
import { startService, type TestService } from '../support/service.ts'
import { createUsers, eventsOf, refresh, requestToken, signIn, statusWith } from './support.ts'

let svc: TestService
before(async () => {
  svc = await startService({
    identifierAliases: ['museum'],
    oauthClients: [
      { id: 'machine', secret: await hash('s3cret: +', { cost: 4 }), redirectURIs: [], scopes: ['read'] },
      { id: 'too-costly', secret: `$2b$15$${'a'.repeat(53)}`, redirectURIs: [], scopes: null },
    ],
  })
  await createUsers(svc, { user: { login: 'anna', email: 'Anna@Example.org' } }, { user: { login: 'ben' } })
})
after(() => svc[Symbol.asyncDispose]())

test('OAUTH-019 LIM-001 the password grant answers tokens, their lifetime in seconds and the granted scopes', async () => {
  const answer = await signIn(svc, 'anna', 'anna', { scope: 'read write' })
  assert.equal(answer.status, 200)
  assert.deepEqual(Object.keys(answer.body).sort(), ['access_token', 'expires_in', 'scope', 'token_type'])
  assert.equal(answer.body.token_type, 'bearer')
  assert.equal(answer.body.expires_in, 86_400)
  assert.equal(answer.body.scope, 'read write')
  assert.equal(answer.headers['cache-control'], 'no-store')
  assert.equal(await statusWith(svc, answer.body.access_token), 200)
})

test('OAUTH-017 login and email name the user, in any case', async () => {
  for (const name of ['anna', 'ANNA', ' anna@example.ORG ']) assert.equal((await signIn(svc, name, 'anna')).status, 200)
})

test('OAUTH-020 CLIENT-006 a refresh token comes with scope offline only, an id_token never', async () => {
  const without = await signIn(svc, 'anna', 'anna', { scope: 'read' })
  assert.equal(without.body.refresh_token, undefined)
  const withScope = await signIn(svc, 'anna', 'anna', { scope: 'offline read' })
  assert.equal(typeof withScope.body.refresh_token, 'string')
  assert.equal('id_token' in withScope.body, false)
})

test('CLIENT-009 without scope none is granted, and the token works', async () => {
  const { body } = await signIn(svc, 'anna', 'anna')
  assert.equal(body.scope, '')
  assert.equal(body.refresh_token, undefined)
  assert.equal(await statusWith(svc, body.access_token), 200)
})

test('CLIENT-005 CLIENT-008 CLIENT-010 scopes that do not exist or are outside the client are refused', async () => {
  for (const scope of ['openid', 'offline_access', 'admin', 'read openid', 'OFFLINE', 'read\twrite']) {
    const answer = await signIn(svc, 'anna', 'anna', { scope })
    assert.deepEqual([answer.status, answer.body.error], [400, 'invalid_scope'], scope)
  }
  const narrow = {
    grant_type: 'password',
    client_id: 'machine',
    client_secret: 's3cret: +',
    username: 'anna',
    password: 'anna',
  }
  assert.equal((await requestToken(svc, { ...narrow, scope: 'read' })).status, 200)
  assert.equal((await requestToken(svc, { ...narrow, scope: 'write' })).body.error, 'invalid_scope')
  assert.equal((await signIn(svc, 'anna', 'anna', { scope: 'offline read write' })).status, 200)
})

test('CLIENT-004 default clients are public; the front end answers to the words of the site too', async () => {
  for (const client of ['web-client', 'svc-web-frontend', 'museum-web-frontend']) {
    assert.equal((await signIn(svc, 'anna', 'anna', { client_id: client })).status, 200, client)
  }
  for (const more of [{ client_id: 'nobody' }, { client_secret: 'x' }] as Record<string, string>[]) {
    const answer = await signIn(svc, 'anna', 'anna', more)
    assert.deepEqual([answer.status, answer.body.error], [400, 'invalid_client'])
  }
})

test('CLIENT-001 CLIENT-002 OAUTH-018 a configured client sends its secret in the form or by HTTP Basic', async () => {
  const form = { grant_type: 'password', username: 'anna', password: 'anna' }
  const basic = (secret: string) => ({
    authorization: `Basic ${Buffer.from(`machine:${encodeURIComponent(secret)}`).toString('base64')}`,
  })
  assert.equal((await requestToken(svc, form, basic('s3cret: +'))).status, 200)
  assert.equal((await requestToken(svc, form, basic('s3cret: +'))).status, 200, 'a secret that was right before')
  const wrong = await requestToken(svc, form, basic('wrong'))
  assert.deepEqual([wrong.status, wrong.body.error], [401, 'invalid_client'])
  assert.match(String(wrong.headers['www-authenticate']), /^Basic/)
  const inForm = { ...form, client_id: 'machine', client_secret: 's3cret: +' }
  assert.equal((await requestToken(svc, inForm)).status, 200)
  assert.equal((await requestToken(svc, { ...inForm, client_secret: 'wrong' })).body.error, 'invalid_client')
  assert.equal((await requestToken(svc, { ...form, client_id: 'machine' })).body.error, 'invalid_client')
  assert.equal((await requestToken(svc, inForm, basic('s3cret: +'))).body.error, 'invalid_request')
})

test('CLIENT-003 LIM-003 a client of the base configuration works; more than 14 rounds never do', async () => {
  const clients = [
    { name: 'portal', secret: await hash('portal', { cost: 4 }), redirect_uris: [{ url: 'https://x.org/' }] },
  ]
  const path = '/config/system/config/oauth2/clients'
  assert.equal((await svc.as('root').post(path, clients)).status, 200)
  assert.equal((await signIn(svc, 'anna', 'anna', { client_id: 'portal', client_secret: 'portal' })).status, 200)
  assert.equal((await signIn(svc, 'anna', 'anna', { client_id: 'portal' })).body.error, 'invalid_client')
  const costly = await svc.as('root').post(path, [{ name: 'x', secret: `$2b$15$${'a'.repeat(53)}` }])
  assert.equal(costly.status, 400)
  assert.equal(costly.body.parameters.path, 'system/config/oauth2/clients/0/secret')
  const configured = await signIn(svc, 'anna', 'anna', { client_id: 'too-costly', client_secret: 'x' })
  assert.equal(configured.body.error, 'invalid_client')
})

test('OAUTH-021 ERR-003 wrong requests get RFC 6749 bodies', async () => {
  const good = { grant_type: 'password', client_id: 'web-client', username: 'anna', password: 'anna' }
  const without = (name: string) => Object.fromEntries(Object.entries(good).filter(([key]) => key !== name))
  const cases: [form: Record<string, string> | string, error: string][] = [
    ['', 'invalid_request'],
    [without('grant_type'), 'invalid_request'],
    [without('client_id'), 'invalid_request'],
    [without('username'), 'invalid_request'],
    [{ ...good, password: '' }, 'invalid_request'],
    [`${new URLSearchParams(good)}&username=ben`, 'invalid_request'],
    [{ ...good, username: 'an\0na' }, 'invalid_request'],
    [{ ...good, grant_type: 'implicit' }, 'unsupported_grant_type'],
    [{ ...good, grant_type: 'authorization_code' }, 'unsupported_grant_type'],
    [{ ...good, password: 'wrong' }, 'invalid_grant'],
    [{ ...good, username: 'nobody' }, 'invalid_grant'],
    [{ ...good, username: 'x'.repeat(10_000) }, 'invalid_grant'],
  ]
  for (const [form, error] of cases) {
    const answer = await requestToken(svc, form)
    assert.deepEqual([answer.status, answer.body.error], [400, error], JSON.stringify(form).slice(0, 100))
    assert.equal(typeof answer.body.error_description, 'string')
  }
  assert.equal((await requestToken(svc, { ...good, unknown: 'x' })).status, 200, 'unknown parameters are ignored')
  const json = await svc.inject({ method: 'POST', url: '/api/oauth2/token', payload: good })
  assert.deepEqual([json.statusCode, json.json().error], [400, 'invalid_request'])
})

test('LIM-012 who has not signed in cannot send much', async () => {
  const answer = await signIn(svc, 'anna', 'x'.repeat(70_000))
  assert.deepEqual([answer.status, answer.body.error], [413, 'invalid_request'])
})

test('CLIENT-007 scopes are labels: a token with scope read writes what its user may write', async () => {
  const form = { grant_type: 'password', client_id: 'web-client', username: 'root', password: 'root-test-password' }
  const { access_token: token, scope } = (await requestToken(svc, { ...form, scope: 'read' })).body
  assert.equal(scope, 'read')
  const headers = { authorization: `Bearer ${token}` }
  const write = await svc.inject({
    method: 'POST',
    url: '/api/v1/group',
    headers,
    payload: [{ group: { name: 'labels' } }],
  })
  assert.equal(write.statusCode, 200)
})

test('SESS-007 AUTH-007 a token of the password grant is bound to no browser: after UserRequired one signs in and retries', async () => {
  const url = '/api/v1/user'
  const refused = await svc.inject({ method: 'GET', url })
  assert.deepEqual([refused.statusCode, refused.json().code], [401, 'UserRequired'])
  const authorization = `Bearer ${(await signIn(svc, 'anna', 'anna')).body.access_token}`
  for (const cookie of ['', 'svc-browser-id=any', 'svc-browser-id=other']) {
    const retried = await svc.inject({ method: 'GET', url, headers: { authorization, cookie } })
    assert.equal(retried.statusCode, 200)
  }
})

test('a wrong login answers like a wrong password, in body and time', async () => {
  const wrongPassword = await signIn(svc, 'ben', 'wrong')
  const wrongLogin = await signIn(svc, 'nobody-here', 'wrong')
  assert.deepEqual(wrongLogin.body, wrongPassword.body)
  const time = async (login: string): Promise<number> => {
    const times: number[] = []
    for (let round = 0; round < 3; round++) {
      const start = performance.now()
      await signIn(svc, `${login}${round}`, 'wrong')
      times.push(performance.now() - start)
    }
    return Math.min(...times)
  }
  await createUsers(svc, ...[0, 1, 2].map((n) => ({ user: { login: `timed${n}` } })))
  const [known, unknown] = [await time('timed'), await time('untimed')]
  assert.ok(unknown > known / 3, `unknown login ${unknown} ms, known login ${known} ms`)
})

test('only hashes of tokens are stored', async () => {
  const { body } = await signIn(svc, 'anna', 'anna', { scope: 'offline' })
  const { rows } = await svc.db.query<{ hash: Buffer }>('select hash from oauth_token')
  const stored = rows.map((row) => row.hash.toString('hex'))
  for (const token of [body.access_token, body.refresh_token]) {
    assert.ok(stored.includes(createHash('sha256').update(token).digest('hex')))
    assert.ok(!stored.includes(Buffer.from(token).toString('hex')))
  }
  const { rows: users } = await svc.db.query<{ hash: string }>(
    `select password_hash as hash from "user" where login = 'anna'`,
  )
  assert.match(users[0]?.hash ?? '', /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
})

test('CLIENT-015 CLIENT-031 the refresh grant gives new tokens and uses the old refresh token up', async () => {
  const first = (await signIn(svc, 'anna', 'anna', { scope: 'offline read' })).body
  const second = await refresh(svc, first.refresh_token)
  assert.equal(second.status, 200)
  assert.equal(second.body.scope, 'offline read')
  assert.notEqual(second.body.refresh_token, first.refresh_token)
  assert.equal(await statusWith(svc, second.body.access_token), 200)
  assert.equal(await statusWith(svc, first.access_token), 200, 'requests in flight go on')
})

test('a used refresh token ends the whole session: one of its two holders is a thief', async () => {
  const first = (await signIn(svc, 'anna', 'anna', { scope: 'offline' })).body
  const second = (await refresh(svc, first.refresh_token)).body
  assert.equal((await refresh(svc, first.refresh_token)).body.error, 'invalid_grant')
  assert.equal((await refresh(svc, second.refresh_token)).body.error, 'invalid_grant')
  assert.equal(await statusWith(svc, second.access_token), 401)
  const [logout] = (await eventsOf(svc, 'USER_LOGOUT')).filter(({ event }) => event.info.reason === 'token_reuse')
  assert.equal(logout.user.user._id, 100)
})

test('of two refreshes at once with one token only one succeeds', async () => {
  const first = (await signIn(svc, 'anna', 'anna', { scope: 'offline' })).body
  const answers = await Promise.all([refresh(svc, first.refresh_token), refresh(svc, first.refresh_token)])
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, 400])
})

test('a refresh may ask for fewer scopes, never for more, and only by the client of the session', async () => {
  const narrow = (await signIn(svc, 'anna', 'anna', { scope: 'offline read' })).body
  assert.equal((await refresh(svc, narrow.refresh_token, { scope: 'offline write' })).body.error, 'invalid_scope')
  assert.equal(
    (await refresh(svc, narrow.refresh_token, { client_id: 'svc-web-frontend' })).body.error,
    'invalid_grant',
  )
  const less = await refresh(svc, narrow.refresh_token, { scope: 'read' })
  assert.equal(less.status, 200, 'neither refusal used the token up')
  assert.deepEqual([less.body.scope, less.body.refresh_token], ['read', undefined])
  for (const token of ['unknown', narrow.access_token]) {
    assert.equal((await refresh(svc, token)).body.error, 'invalid_grant')
  }
})

test('OAUTH-022 OAUTH-023 CLIENT-032 revoke ends the session of an access or refresh token, and takes unknown ones', async () => {
  for (const kind of ['access_token', 'refresh_token'] as const) {
    const tokens = (await signIn(svc, 'anna', 'anna', { scope: 'offline' })).body
    assert.equal(await statusWith(svc, tokens.access_token), 200)
    const form = { token: tokens[kind], token_type_hint: 'access_token', client_id: 'web-client' }
    const answer = await requestToken(svc, form, {}, '/api/oauth2/revoke')
    assert.deepEqual([answer.status, answer.body], [200, null])
    assert.equal(await statusWith(svc, tokens.access_token), 401)
    assert.equal((await refresh(svc, tokens.refresh_token)).body.error, 'invalid_grant')
  }
  const unknown = await requestToken(svc, { token: 'nonsense' }, {}, '/api/oauth2/revoke')
  assert.deepEqual([unknown.status, unknown.body], [200, null])
  const missing = await requestToken(svc, {}, {}, '/api/oauth2/revoke')
  assert.deepEqual([missing.status, missing.body.error], [400, 'invalid_request'])
})

test('revoke without client is logout; another client cannot end the session', async () => {
  const { access_token: token } = (await signIn(svc, 'anna', 'anna')).body
  await requestToken(svc, { token, client_id: 'svc-web-frontend' }, {}, '/api/oauth2/revoke')
  assert.equal(await statusWith(svc, token), 200)
  await requestToken(svc, { token }, {}, '/api/oauth2/revoke')
  assert.equal(await statusWith(svc, token), 401)
})

test('EVENT-003 signing in, failing and signing out are logged with the user, whatever the configuration says', async () => {
  const { access_token: token } = (await signIn(svc, 'ben', 'ben')).body
  await signIn(svc, 'ben', 'not ben')
  await requestToken(svc, { token }, {}, '/api/oauth2/revoke')
  const last = async (type: string) => (await eventsOf(svc, type)).filter(({ user }) => user?.user._id === 101).at(-1)
  assert.deepEqual((await last('USER_LOGIN')).event.info.method, 'native')
  assert.equal((await last('USER_LOGIN')).event.info.client, 'web-client')
  assert.equal((await last('USER_LOGIN_FAILED')).event.info.error, 'wrong password')
  assert.equal((await last('USER_LOGOUT')).event.info.client, 'web-client')
})

test('an unknown login is logged without what was typed: it may be a password', async () => {
  await signIn(svc, 'my-secret-password', 'x')
  const log = JSON.stringify(await eventsOf(svc, 'USER_LOGIN_FAILED'))
  assert.ok(log.includes('unknown login'))
  assert.ok(!log.includes('my-secret-password'))
})

test('sessions that have ended are cleaned up by later sign-ins', async () => {
  await svc.db.query("update oauth_session set expires_at = now() - interval '1 day', revoked_at = now()")
  const { rows: before } = await svc.db.query<{ count: number }>('select count(*)::int as count from oauth_session')
  for (let round = 0; round < 3; round++) await signIn(svc, 'anna', 'anna')
  const { rows: now } = await svc.db.query<{ count: number }>('select count(*)::int as count from oauth_session')
  assert.ok((now[0]?.count ?? 0) < (before[0]?.count ?? 0))
})

test('VER-001 the endpoints are not served under /api/v1', async () => {
  const answer = await requestToken(svc, { grant_type: 'password' }, {}, '/api/v1/oauth2/token')
  assert.equal(answer.body.code, 'UnknownEndpointMethod')
})
