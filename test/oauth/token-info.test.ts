import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Writable } from 'node:stream'
import { after, before, test } from 'node:test'
import { hash } from 'bcryptjs'
import { pino } from 'pino'
import { buildApp } from '../../src/app.ts'
import { ownCallback, TestVisitor } from '../signin/sign-in-browser.ts'
import { createUsers, eventsOf, refresh, requestToken, signIn, statusWith } from '../signin/support.ts'
import type { Json } from '../support/client.ts'
import { assertNamed } from '../support/documented.ts'
import { startService, type TestService } from '../support/service.ts'

let svc: TestService
before(async () => {
  const base = { redirectURIs: [], scopes: null, pkce: 'required' } as const
  svc = await startService({
    oauthClients: [
      { ...base, id: 'resource', secret: await hash('s3cret', 4) },
      { ...base, id: 'open', secret: null },
      { ...base, id: 'narrow', secret: null, scopes: ['read'] },
    ],
  })
  await createUsers(
    svc,
    { user: { login: 'anna', email: 'anna@example.org', first_name: 'Anna', company: 'Archive' } },
    { user: { email: 'only@example.org' }, _password: 'only@example.org' },
    { user: { login: 'bare' } },
  )
})
after(() => svc[Symbol.asyncDispose]())

const set = async (path: string, value: unknown) => {
  const answer = await svc.as('root').post(`/config/system/config/${path}`, value)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}
const introspect = (form: Record<string, string>, headers: Record<string, string> = {}) =>
  requestToken(svc, form, headers, '/api/oauth2/introspect')
const asResource = { client_id: 'resource', client_secret: 's3cret' }

test('OAUTH-024 OAUTH-025 introspection tells scope and user of a token that counts, else that it does not', async () => {
  const { body } = await signIn(svc, 'anna', 'anna', { scope: 'offline read' })
  const now = Date.now() / 1000
  const { status, body: access, headers } = await introspect({ token: body.access_token, ...asResource })
  assert.equal(status, 200)
  assert.equal(headers['cache-control'], 'no-store')
  const { exp, iat, ...rest } = access
  assert.deepEqual(rest, {
    active: true,
    scope: 'offline read',
    client_id: 'web-client',
    sub: 'anna',
    token_type: 'bearer',
  })
  assert.ok(Math.abs(iat - now) < 60 && Math.abs(exp - now - 86_400) < 60)
  const ofRefresh = (await introspect({ token: body.refresh_token, token_type_hint: 'access_token', ...asResource }))
    .body
  assert.deepEqual([ofRefresh.active, 'token_type' in ofRefresh], [true, false])
  assert.deepEqual([ofRefresh.scope, ofRefresh.sub], ['offline read', 'anna'])
  const next = (await refresh(svc, body.refresh_token)).body
  const inactive = async (token: string) =>
    assert.deepEqual((await introspect({ token, ...asResource })).body, { active: false })
  await inactive(body.refresh_token)
  await inactive('unknown')
  await svc.db.query(`update oauth_token set expires_at = now() where kind = 'a' and issued_at < now() and expires_at > now() + interval '23 hours'
    and session_id in (select id from oauth_session where client_id = 'web-client' and user_id = 100)`)
  await inactive(body.access_token)
  const fresh = (await signIn(svc, 'anna', 'anna')).body.access_token
  assert.equal((await introspect({ token: fresh, ...asResource })).body.active, true)
  await requestToken(svc, { token: fresh }, {}, '/api/oauth2/revoke')
  await inactive(fresh)
  await requestToken(svc, { token: next.refresh_token }, {}, '/api/oauth2/revoke')
  await inactive(next.refresh_token)
})

test('CLIENT-033 decision 23: introspection is for configured clients and users, nobody else', async () => {
  const token = (await signIn(svc, 'anna', 'anna')).body.access_token
  const basic = (id: string, secret: string) => ({
    authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
  })
  const cases: [form: Record<string, string>, headers: Record<string, string>, status: number][] = [
    [asResource, {}, 200],
    [{}, basic('resource', 's3cret'), 200],
    [{ client_id: 'open' }, {}, 200],
    [{}, { authorization: `Bearer ${token}` }, 200],
    [{}, {}, 401],
    [{ client_id: 'web-client' }, {}, 401],
    [{}, basic('resource', 'wrong'), 401],
    [{}, { authorization: 'Bearer unknown' }, 401],
    [{ client_id: 'nobody' }, {}, 401],
    [{ client_id: 'resource', client_secret: 'x' }, {}, 401],
    [{ client_id: 'open', client_secret: 'x' }, {}, 401],
  ]
  for (const [form, headers, status] of cases) {
    const answer = await introspect({ token, ...form }, headers)
    assert.equal(answer.status, status, JSON.stringify([form, headers]))
    if (status === 401) {
      assert.equal(answer.body.error, 'invalid_client')
      assert.equal(answer.headers['www-authenticate'], 'Basic realm="oauth2"')
    }
  }
  assert.equal((await introspect(asResource)).body.error, 'invalid_request')
  assertNamed('signing-in.md', ['token', 'token_type_hint', 'client_id', 'client_secret'])
})

async function userinfo(token: string | null, method: 'GET' | 'POST' = 'GET') {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` }
  const response = await svc.inject({ method, url: '/api/oauth2/userinfo', headers })
  return { status: response.statusCode, body: response.json() }
}

test('OAUTH-026 OAUTH-027 userinfo tells who it is, and the rest only as the base configuration allows', async () => {
  const anna = (await signIn(svc, 'anna', 'anna')).body.access_token
  const only = (await signIn(svc, 'only@example.org', 'only@example.org')).body.access_token
  const bare = (await signIn(svc, 'bare', 'bare')).body.access_token
  for (const method of ['GET', 'POST'] as const) {
    await set('openid/userinfo', [])
    assert.deepEqual(await userinfo(anna, method), { status: 200, body: { sub: 'anna' } })
    assert.deepEqual((await userinfo(only, method)).body, { sub: 'only@example.org' })
    await set('openid/userinfo', ['displayname'])
    assert.deepEqual((await userinfo(anna, method)).body, { sub: 'anna', displayname: 'Anna' })
    await set('openid/userinfo', ['email'])
    assert.deepEqual((await userinfo(anna, method)).body, { sub: 'anna', email: 'anna@example.org' })
    assert.deepEqual((await userinfo(bare, method)).body, { sub: 'bare', email: '' })
    await set('openid/userinfo', ['email_verified', 'company', 'town'])
    assert.deepEqual((await userinfo(anna, method)).body, {
      sub: 'anna',
      email_verified: false,
      company: 'Archive',
      town: '',
    })
  }
  await svc.db.query(`update "user" set email_confirmed_at = now() where login in ('anna', 'bare')`)
  await set('openid/userinfo', ['email_verified'])
  assert.deepEqual((await userinfo(anna)).body, { sub: 'anna', email_verified: true })
  assert.deepEqual((await userinfo(bare)).body, { sub: 'bare', email_verified: false }, 'there is no address')
  const [stored] = (await svc.as('root').get('/user')).body.filter(({ user }: Json) => user.login === 'anna')
  const { _id, _version } = stored.user
  const moved = await svc.as('root').post('/user', [{ user: { _id, _version, email: 'anna@elsewhere.example.org' } }])
  assert.equal(moved.status, 200, JSON.stringify(moved.body))
  assert.deepEqual((await userinfo(anna)).body, { sub: 'anna', email_verified: false }, 'another address is not yet')
  await svc.db.query(`update "user" set login = null, login_key = null where login = 'bare'`)
  const { rows } = await svc.db.query<{ id: number }>(`select id from "user" where login is null and email is null`)
  await set('openid/userinfo', [])
  for (const method of ['GET', 'POST'] as const) {
    assert.deepEqual((await userinfo(bare, method)).body, { sub: String(rows[0]?.id) })
  }
})

test('OAUTH-028 AUTH-010 userinfo answers 401 InvalidToken when no user resolves, also without a token', async () => {
  const session = await svc.inject({ method: 'GET', url: '/api/v1/user/session' })
  assert.deepEqual([session.statusCode, session.json().code], [401, 'InvalidToken'])
  for (const method of ['GET', 'POST'] as const) {
    for (const token of [null, 'unknown']) {
      const { status, body } = await userinfo(token, method)
      assert.deepEqual([status, body.code], [401, 'InvalidToken'])
    }
  }
})

test('AUTH-012 VER-007 rejected tokens, those of a former server too, are 401 and InvalidToken at once, where it was 400', async () => {
  // What another server may have issued once: whoever still has it signs in anew.
  const former = `${Buffer.from('{"alg":"RS256"}').toString('base64url')}.${Buffer.from('{"sub":"anna"}').toString('base64url')}.c2ln`
  const ended = (await signIn(svc, 'anna', 'anna')).body.access_token
  await requestToken(svc, { token: ended, client_id: 'web-client' }, {}, '/api/oauth2/revoke')
  for (const token of [former, ended, 'unknown']) {
    const headers = { authorization: `Bearer ${token}` }
    for (const [method, url] of [
      ['GET', '/api/v1/user/session'],
      ['GET', '/api/oauth2/userinfo'],
      ['POST', '/api/oauth2/userinfo'],
      ['POST', '/api/oauth2/refresh'],
    ] as const) {
      const answer = await svc.inject({ method, url, headers })
      assert.deepEqual([answer.statusCode, answer.json().code], [401, 'InvalidToken'], `${method} ${url}`)
    }
  }
  for (const scope of ['openid', 'offline_access', 'read openid']) {
    assert.equal((await signIn(svc, 'anna', 'anna', { scope })).body.error, 'invalid_scope', scope)
  }
})

test('OAUTH-029 OAUTH-030 AUTH-009 /oauth2/refresh with a rejected token is 401 InvalidToken, never 400', async () => {
  const visitor = new TestVisitor(svc)
  const done = await visitor.signIn('anna', 'anna', { scope: 'offline' })
  const { body } = await visitor.redeem(done.location?.searchParams.get('code') ?? '')
  const cookie = `svc-browser-id=${visitor.cookies.get('svc-browser-id')}`
  const ask = (form: Record<string, string>, headers: Record<string, string>) =>
    requestToken(svc, form, headers, '/api/oauth2/refresh')
  const bearer = { authorization: `Bearer ${body.access_token}` }
  for (const [form, headers] of [
    [{ refresh_token: body.refresh_token }, {}],
    [{ refresh_token: body.refresh_token }, { cookie: `svc-browser-id=${'b'.repeat(43)}` }],
    [{}, { ...bearer, cookie: `svc-browser-id=${'b'.repeat(43)}` }],
    [{ refresh_token: 'unknown' }, { cookie }],
    [{ refresh_token: body.access_token }, { cookie }],
    [{}, bearer],
    [{}, { cookie }],
    [{}, { cookie, authorization: 'Bearer unknown' }],
  ] as [Record<string, string>, Record<string, string>][]) {
    const { status, body: refused } = await ask(form, headers)
    assert.deepEqual([status, refused.code], [401, 'InvalidToken'], JSON.stringify([form, headers]))
  }
  const renewed = await ask({}, { cookie, ...bearer })
  assert.deepEqual([renewed.status, renewed.body.scope, 'refresh_token' in renewed.body], [200, 'offline', false])
  const refreshed = await ask({ refresh_token: body.refresh_token }, { cookie })
  assert.deepEqual([refreshed.status, typeof refreshed.body.refresh_token], [200, 'string'])
  await requestToken(svc, { token: refreshed.body.access_token }, {}, '/api/oauth2/revoke')
  for (const [form, headers] of [
    [{ refresh_token: refreshed.body.refresh_token }, { cookie }],
    [{}, { cookie, authorization: `Bearer ${refreshed.body.access_token}` }],
  ] as [Record<string, string>, Record<string, string>][]) {
    const { status, body: refused } = await ask(form, headers)
    assert.deepEqual([status, refused.code], [401, 'InvalidToken'])
  }

  const [user] = await createUsers(svc, { user: { login: 'leaving' } })
  const ends: [what: string, end: (tokens: Buffer[]) => Promise<unknown>][] = [
    ['expired', (hashes) => svc.db.query('update oauth_token set expires_at = now() where hash = any($1)', [hashes])],
    [
      'the user may not sign in any more',
      () => {
        const { _id, _version } = user.user
        return svc.as('root').post('/user', [{ user: { _id, _version, login_disabled: true } }])
      },
    ],
  ]
  for (const [what, end] of ends) {
    const browser = new TestVisitor(svc)
    const entered = await browser.signIn('leaving', 'leaving', { scope: 'offline' })
    const tokens = (await browser.redeem(entered.location?.searchParams.get('code') ?? '')).body
    assert.equal(typeof tokens.refresh_token, 'string')
    const both = [tokens.access_token, tokens.refresh_token]
    await end(both.map((token) => createHash('sha256').update(token).digest()))
    const own = { cookie: `svc-browser-id=${browser.cookies.get('svc-browser-id')}` }
    for (const [form, headers] of [
      [{ refresh_token: tokens.refresh_token }, own],
      [{}, { ...own, authorization: `Bearer ${tokens.access_token}` }],
    ] as [Record<string, string>, Record<string, string>][]) {
      const { status, body: refused } = await ask(form, headers)
      assert.deepEqual([status, refused.code], [401, 'InvalidToken'], what)
    }
  }
})

test('OAUTH-003 CLIENT-027 CLIENT-028 guests come in where the base configuration allows it, by grant and page', async () => {
  const ask = (more: Record<string, string> = {}) =>
    requestToken(svc, { grant_type: 'client_credentials', client_id: 'web-client', ...more })
  const visitor = new TestVisitor(svc)
  const enteredAs = async (code: string | null | undefined) => {
    const tokens = (await visitor.redeem(code ?? '')).body
    const cookie = `svc-browser-id=${visitor.cookies.get('svc-browser-id')}`
    const headers = { authorization: `Bearer ${tokens.access_token}`, cookie }
    const { user } = (await svc.inject({ method: 'GET', url: '/api/v1/user/session', headers })).json()
    return [user.user.type, user.user.login]
  }
  await set('login/guest', false)
  assert.equal((await ask()).body.error, 'unauthorized_client')
  assert.equal((await visitor.authorize({ auth_method: 'anonymous' })).status, 400)
  for (const auth_method of ['auto', undefined]) {
    assert.equal((await visitor.authorize({ auth_method })).status, 200)
    const entered = await visitor.authorize({ auth_method, login: 'anna', password: 'anna' })
    assert.deepEqual(await enteredAs(entered.location?.searchParams.get('code')), ['native', 'anna'])
  }
  await set('login/guest', true)
  const { status, body } = await ask({ scope: 'offline read' })
  assert.deepEqual([status, body.scope, 'refresh_token' in body], [200, 'read', false])
  const headers = { authorization: `Bearer ${body.access_token}` }
  const session = (await svc.inject({ method: 'GET', url: '/api/v1/user/session', headers })).json()
  assert.deepEqual([session.user.user.type, session.authenticated.method], ['anonymous', 'anonymous'])
  assert.ok(session.groups.some(({ group }: { group: { reference: string } }) => group.reference === ':anonymous'))
  assert.equal((await ask({ client_id: 'resource', client_secret: 's3cret' })).status, 200)
  assert.equal((await ask({ client_id: 'resource' })).body.error, 'invalid_client')
  assert.equal((await ask({ client_id: 'narrow', scope: 'write' })).body.error, 'invalid_scope')
  for (const auth_method of ['anonymous', 'auto', 'ldap,anonymous', '', undefined]) {
    // Left out it is auto; scopes are separated by spaces.
    const entered = await visitor.authorize({ auth_method, scope: 'read write' })
    assert.deepEqual([entered.status, entered.location?.pathname], [302, '/app/callback'], String(auth_method))
    const guest = await visitor.redeem(entered.location?.searchParams.get('code') ?? '')
    assert.deepEqual([guest.status, guest.body.scope], [200, 'read write'])
    assert.equal((await visitor.authorize({ auth_method, scope: 'read,write' })).status, 400)
    const again = await visitor.authorize({ auth_method })
    assert.equal((await enteredAs(again.location?.searchParams.get('code')))[0], 'anonymous', String(auth_method))
  }
  const page = await visitor.authorize({ auth_method: 'native' })
  assert.equal(page.status, 200)
  assert.match(page.body, /Continue as a guest/)
  for (const auth_method of ['auto', undefined]) {
    const withLogin = await visitor.authorize({ login: 'anna', password: 'anna', auth_method })
    const who = await enteredAs(withLogin.location?.searchParams.get('code'))
    assert.deepEqual(who, ['native', 'anna'], 'with a login auto means the password')
    assert.equal((await visitor.authorize({ login: 'anna', password: 'wrong', auth_method })).status, 200)
  }
  const logins = await eventsOf(svc, 'USER_LOGIN')
  assert.ok(logins.some(({ event }) => event.info.method === 'anonymous'))
  await set('login/guest', false)
})

test('OAUTH-015 CLIENT-015 RFC 8414: the metadata names what is there, and all four grants are', async () => {
  const url = '/.well-known/oauth-authorization-server'
  const response = await svc.inject({ method: 'GET', url })
  assert.equal(response.statusCode, 200)
  const metadata = response.json()
  assert.equal(metadata.issuer, 'http://localhost:8080')
  assert.deepEqual(metadata.code_challenge_methods_supported, ['S256'])
  assert.equal(metadata.authorization_response_iss_parameter_supported, true)
  // Clients that know OpenID Connect only find the endpoints, and no promise of an id_token (decisions.md, 80).
  const openid = await svc.inject({ method: 'GET', url: '/.well-known/openid-configuration' })
  assert.deepEqual([openid.statusCode, openid.json()], [200, metadata])
  assert.ok(!Object.keys(metadata).some((name) => name.startsWith('id_token')))
  const routes = svc.app.http.declaredRoutes.map((route) => route.url)
  for (const [name, address] of Object.entries(metadata)) {
    if (name.endsWith('_endpoint')) assert.ok(routes.includes(new URL(String(address)).pathname), name)
  }
  const grants = ['authorization_code', 'client_credentials', 'password', 'refresh_token']
  assert.deepEqual(metadata.grant_types_supported.toSorted(), grants)

  await set('login/guest', true)
  const visitor = new TestVisitor(svc)
  const done = await visitor.signIn('anna', 'anna', { auth_method: 'native' })
  const answers = [
    await visitor.redeem(done.location?.searchParams.get('code') ?? ''),
    await requestToken(svc, { grant_type: 'client_credentials', client_id: 'web-client' }),
    await signIn(svc, 'anna', 'anna', { scope: 'offline' }),
  ]
  answers.push(await refresh(svc, answers[2]?.body.refresh_token))
  for (const { status, body } of answers) assert.deepEqual([status, body.token_type], [200, 'bearer'])
  await set('login/guest', false)
  for (const grant_type of ['implicit', 'token', 'PASSWORD', '']) {
    const { status, body } = await requestToken(svc, { grant_type, client_id: 'web-client' })
    assert.equal(status, 400, grant_type)
    assert.equal(body.error, grant_type === '' ? 'invalid_request' : 'unsupported_grant_type', grant_type)
  }
})

test('a rejected token is no token where callers without a user are served', async () => {
  const groups = await svc.inject({ method: 'GET', url: '/api/v1/group', headers: { authorization: 'Bearer unknown' } })
  assert.deepEqual([groups.statusCode, groups.json()], [200, []])
})

test('credentials in an address never come into the log', async () => {
  const lines: string[] = []
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  const app = await buildApp(svc.config, { db: svc.db, log: pino({ level: 'trace' }, sink) })
  try {
    const secrets = {
      login: 'anna',
      password: 'anna-secret-typed',
      secret: 's'.repeat(43),
      action_code: 'c'.repeat(43),
    }
    const parameters = new TestVisitor(svc).parameters({ redirect_uri: ownCallback, ...secrets })
    for (const more of [
      {},
      { access_token: 'token-in-query' },
      { client_id: 'nobody' },
      { auth_method: 'action_code' },
    ]) {
      const text = new URLSearchParams({ ...parameters, ...more } as Record<string, string>).toString()
      await app.http.inject({ method: 'GET', url: `/api/oauth2/auth?${text}`, headers: { accept: 'text/html' } })
      await app.http.inject({
        method: 'POST',
        url: '/api/oauth2/auth',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: text,
      })
    }
    const answered = await app.http.inject({
      method: 'GET',
      url: '/api/oauth2/auth?password=anna-secret-typed&bad=%zz',
    })
    assert.ok(answered.statusCode >= 400)
    const text = lines.join('')
    assert.ok(text.includes('/api/oauth2/auth'), 'the log has the requests')
    for (const word of [
      'anna-secret-typed',
      'token-in-query',
      secrets.secret,
      secrets.action_code,
      parameters.state ?? '',
    ]) {
      assert.ok(!text.includes(word), word)
    }
    const { rows } = await svc.db.query<{ found: string }>('select info::text as found from event')
    assert.ok(!rows.some(({ found }) => found.includes('anna-secret-typed')))
  } finally {
    await app.http.close()
    await app.close()
  }
})

test('the token of a guest is refused once the session is ended', async () => {
  await set('login/guest', true)
  const { body } = await requestToken(svc, { grant_type: 'client_credentials', client_id: 'web-client' })
  assert.equal(await statusWith(svc, body.access_token), 200)
  await requestToken(svc, { token: body.access_token }, {}, '/api/oauth2/revoke')
  assert.equal(await statusWith(svc, body.access_token), 401)
})

test('AUTH-014 with a rejected token GET /eas refuses with 403 and GET /group answers an empty list, as without one', async () => {
  const { body } = await signIn(svc, 'anna', 'anna')
  assert.equal(await statusWith(svc, body.access_token), 200)
  await requestToken(svc, { token: body.access_token, client_id: 'web-client' }, {}, '/api/oauth2/revoke')
  for (const token of [null, 'nonsense', body.access_token]) {
    const headers = token === null ? {} : { authorization: `Bearer ${token}` }
    const get = (url: string) => svc.inject({ url, headers })
    assert.equal((await get('/api/v1/user/session')).statusCode, 401)
    const files = await get('/api/v1/eas?ids=[1]')
    assert.deepEqual([files.statusCode, files.json().code], [403, 'InsufficientRights'])
    const groups = await get('/api/v1/group')
    assert.deepEqual([groups.statusCode, groups.json()], [200, []])
  }
})
