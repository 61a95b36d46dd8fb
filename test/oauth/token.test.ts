import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { hash } from 'bcryptjs'
import { stringify } from 'yaml'
import type { Config } from '../../src/platform/config/config.ts'
import { loadConfig } from '../../src/platform/config/load.ts'
import { usualCost } from '../../src/signin/service.ts'
import { TestVisitor } from '../signin/sign-in-browser.ts'
import {
  createUsers,
  eventsOf,
  refresh,
  requestToken,
  signIn,
  statusWith,
  type TokenAnswer,
} from '../signin/support.ts'
import type { Json } from '../support/client.ts'
import { temporaryFolder } from '../support/process.ts'
import { startService, type TestService } from '../support/service.ts'

let svc: TestService

/** The clients of a configuration file that has these. */
async function configured(clients: object): Promise<Config['oauthClients']> {
  await using folder = await temporaryFolder()
  const file = { svc: { services: { api: { oauth2Server: { clients } } } } }
  await writeFile(join(folder.path, 'svc.yml'), stringify(file))
  return loadConfig({ file: 'svc.yml', env: {}, cwd: folder.path }).oauthClients
}

before(async () => {
  const oauthClients = await configured({
    machine: { secret: await hash('s3cret: +', 4), redirectURIs: ['https://m.org/'], scopes: ['read'] },
    wide: { secret: await hash('wide', 4), redirectURIs: ['https://w.org/', 'https://w.org/2'] },
  })
  svc = await startService({ identifierAliases: ['museum'], oauthClients, passwordCost: usualCost })
  await createUsers(svc, { user: { login: 'anna', email: 'Anna@Example.org' } }, { user: { login: 'ben' } })
})
after(() => svc[Symbol.asyncDispose]())

interface Granted {
  readonly grant: string
  readonly answer: TokenAnswer
  /** Of the browser that the token is bound to. */
  readonly cookie: string
}

/** The answer of each grant to a request for these scopes; nothing is asked for where they are undefined. */
async function byEachGrant(scope?: string): Promise<Granted[]> {
  const asked: Record<string, string> = scope === undefined ? {} : { scope }
  const guests = '/config/system/config/login/guest'
  assert.equal((await svc.as('root').post(guests, true)).status, 200)
  const visitor = new TestVisitor(svc)
  const done = await visitor.signIn('anna', 'anna', { auth_method: 'native', ...asked })
  const byCode = await visitor.redeem(done.location?.searchParams.get('code') ?? '')
  const all = (await signIn(svc, 'anna', 'anna', { scope: 'offline read write' })).body.refresh_token
  const asGuest = { grant_type: 'client_credentials', client_id: 'web-client', ...asked }
  const granted = [
    { grant: 'authorization_code', answer: byCode, cookie: `svc-browser-id=${visitor.cookies.get('svc-browser-id')}` },
    { grant: 'password', answer: await signIn(svc, 'anna', 'anna', asked), cookie: '' },
    // Where it asks for nothing it is granted what the session has.
    { grant: 'refresh_token', answer: await refresh(svc, all, { scope: 'read', ...asked }), cookie: '' },
    { grant: 'client_credentials', answer: await requestToken(svc, asGuest), cookie: '' },
  ]
  for (const { grant, answer, cookie } of granted) {
    const headers = { authorization: `Bearer ${answer.body.access_token}`, cookie }
    const { statusCode } = await svc.inject({ method: 'GET', url: '/api/v1/user/session', headers })
    assert.deepEqual([answer.status, statusCode], [200, 200], grant)
  }
  assert.equal((await svc.as('root').delete(guests)).status, 200)
  return granted
}

test('OAUTH-019 each grant answers a token, its lifetime in seconds and the granted scopes', async () => {
  for (const { grant, answer } of await byEachGrant('read write')) {
    const { token_type, expires_in, scope } = answer.body
    assert.deepEqual([answer.status, token_type, expires_in, scope], [200, 'bearer', 86_400, 'read write'], grant)
  }
  const answer = await signIn(svc, 'anna', 'anna', { scope: 'read write' })
  assert.equal(answer.status, 200)
  assert.deepEqual(Object.keys(answer.body).sort(), ['access_token', 'expires_in', 'scope', 'token_type'])
  assert.equal(answer.body.token_type, 'bearer')
  assert.equal(answer.body.expires_in, 86_400)
  assert.equal(answer.body.scope, 'read write')
  assert.equal(answer.headers['cache-control'], 'no-store')
  assert.equal(await statusWith(svc, answer.body.access_token), 200)
})

test('OAUTH-017 username, password and scope: login and email name the user, in any case', async () => {
  for (const name of ['anna', 'ANNA', ' anna@example.ORG ']) {
    const { status, body } = await signIn(svc, name, 'anna', { scope: 'read' })
    assert.deepEqual([status, body.scope], [200, 'read'])
  }
  assert.equal((await signIn(svc, 'anna', 'ben')).body.error, 'invalid_grant')
})

test('OAUTH-020 CLIENT-006 a refresh token comes with scope offline only', async () => {
  for (const scope of ['read', 'read write', 'write', undefined]) {
    const { status, body } = await signIn(svc, 'anna', 'anna', scope === undefined ? {} : { scope })
    assert.deepEqual([status, 'refresh_token' in body], [200, false], `scope ${scope}`)
  }
  for (const scope of ['offline', 'offline read', 'write offline']) {
    const { body } = await signIn(svc, 'anna', 'anna', { scope })
    assert.equal(typeof body.refresh_token, 'string', scope)
    assert.equal((await refresh(svc, body.refresh_token)).status, 200)
  }
  for (const scope of ['OFFLINE', 'Offline', 'offline_access', 'offline,read']) {
    assert.equal((await signIn(svc, 'anna', 'anna', { scope })).body.error, 'invalid_scope', scope)
  }
  for (const scope of ['offline read', 'read write', undefined]) {
    for (const { grant, answer } of await byEachGrant(scope)) {
      // A guest is never granted it.
      const offline = scope === 'offline read' && grant !== 'client_credentials'
      const { body } = answer
      assert.deepEqual(
        [body.scope.includes('offline'), 'refresh_token' in body],
        [offline, offline],
        `${grant} ${scope}`,
      )
    }
  }
})

test('SVC-013 no token response has an id_token, and nothing of OpenID Connect is offered', async () => {
  const members = ['access_token', 'expires_in', 'refresh_token', 'scope', 'token_type']
  const first = await signIn(svc, 'anna', 'anna', { scope: 'offline read write' })
  const second = await refresh(svc, first.body.refresh_token)
  const third = await refresh(svc, second.body.refresh_token, { scope: 'offline read' })
  const visitor = new TestVisitor(svc)
  const done = await visitor.signIn('anna', 'anna', { scope: 'offline read write' })
  const byCode = await visitor.redeem(done.location?.searchParams.get('code') ?? '')
  for (const { status, body } of [first, second, third, byCode]) {
    assert.equal(status, 200)
    assert.deepEqual(Object.keys(body).toSorted(), members)
  }
  const inBrowser = {
    cookie: `svc-browser-id=${visitor.cookies.get('svc-browser-id')}`,
    authorization: `Bearer ${byCode.body.access_token}`,
  }
  const renewed = await requestToken(svc, {}, inBrowser, '/api/oauth2/refresh')
  assert.deepEqual([renewed.status, 'access_token' in renewed.body, 'id_token' in renewed.body], [200, true, false])
  const guests = '/config/system/config/login/guest'
  await svc.as('root').post(guests, true)
  const asGuest = await requestToken(svc, { grant_type: 'client_credentials', client_id: 'web-client' })
  await svc.as('root').delete(guests)
  assert.deepEqual([asGuest.status, 'id_token' in asGuest.body], [200, false])
  const plain = await signIn(svc, 'anna', 'anna')
  assert.deepEqual(
    Object.keys(plain.body).toSorted(),
    members.filter((name) => name !== 'refresh_token'),
  )
  assert.equal((await signIn(svc, 'anna', 'anna', { scope: 'openid' })).body.error, 'invalid_scope')
  const discovery = await svc.inject({ method: 'GET', url: '/.well-known/openid-configuration' })
  const offered = Object.keys(discovery.json()).filter((name) => /id_token|subject_types|claims|jwks/.test(name))
  assert.deepEqual(
    [discovery.statusCode, offered],
    [200, []],
    'clients find the endpoints there, and nothing of identities',
  )
})

test('CLIENT-009 without scope none is granted, and the token works', async () => {
  const { body } = await signIn(svc, 'anna', 'anna')
  assert.equal(body.scope, '')
  assert.equal(body.refresh_token, undefined)
  assert.equal(await statusWith(svc, body.access_token), 200)
  const ofRoot = await signIn(svc, 'root', 'root-test-password')
  assert.deepEqual([ofRoot.body.scope, 'refresh_token' in ofRoot.body], ['', false])
  const headers = { authorization: `Bearer ${ofRoot.body.access_token}` }
  for (const [method, url, payload] of [
    ['GET', '/api/v1/config', undefined],
    ['GET', '/api/v1/event/list', undefined],
    ['POST', '/api/v1/group', [{ group: { name: 'without scope' } }]],
    ['POST', '/api/v1/search', {}],
  ] as const) {
    const answer = await svc.inject({ method, url, headers, ...(payload ? { payload } : {}) })
    assert.equal(answer.statusCode, 200, `${method} ${url}`)
  }
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
  for (const scope of ['write', 'read write', 'offline', 'offline read']) {
    const { status, body } = await requestToken(svc, { ...narrow, scope })
    assert.deepEqual([status, body.error, 'access_token' in body], [400, 'invalid_scope', false], scope)
  }
  const metadata = (await svc.inject({ method: 'GET', url: '/.well-known/oauth-authorization-server' })).json()
  assert.deepEqual(metadata.scopes_supported.toSorted(), ['offline', 'read', 'write'], 'these and no other')
  const wide = { ...narrow, client_id: 'wide', client_secret: 'wide' }
  for (const form of [wide, { ...narrow, client_id: 'web-client', client_secret: '' }]) {
    for (const scope of ['offline', 'read', 'write', 'offline read write', 'write offline']) {
      const { status, body } = await requestToken(svc, { ...form, scope })
      assert.deepEqual([status, body.scope], [200, scope], form.client_id)
    }
  }
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
  assert.equal((await requestToken(svc, { ...form, client_id: 'web-client' })).status, 200, 'public clients send none')
  const stored = svc.config.oauthClients.find(({ id }) => id === 'machine')
  assert.match(stored?.secret ?? '', /^\$2[aby]\$04\$/)
  const asHash = await requestToken(svc, { ...inForm, client_secret: stored?.secret ?? '' })
  assert.equal(asHash.body.error, 'invalid_client', 'the hash is no secret')
  assert.deepEqual([stored?.redirectURIs, stored?.scopes], [['https://m.org/'], ['read']])
  assert.equal(svc.config.oauthClients.find(({ id }) => id === 'wide')?.scopes, null)
  await assert.rejects(configured({ x: { secret: 's3cret: +', redirectURIs: [] } }), /secret: must be a bcrypt hash/)
})

test('CLIENT-003 LIM-003 a client of the base configuration works; more than 14 rounds never do', async () => {
  const clients = [{ name: 'portal', secret: await hash('portal', 4), redirect_uris: [{ url: 'https://x.org/' }] }]
  const path = '/config/system/config/oauth2/clients'
  assert.equal((await svc.as('root').post(path, clients)).status, 200)
  assert.equal((await signIn(svc, 'anna', 'anna', { client_id: 'portal', client_secret: 'portal' })).status, 200)
  assert.equal((await signIn(svc, 'anna', 'anna', { client_id: 'portal' })).body.error, 'invalid_client')
  const costly = await svc.as('root').post(path, [{ name: 'x', secret: `$2b$15$${'a'.repeat(53)}` }])
  assert.equal(costly.status, 400)
  assert.equal(costly.body.parameters.path, 'system/config/oauth2/clients/0/secret')
  const rounds = (cost: number) => `$2b$${cost}$${'a'.repeat(53)}`
  assert.equal((await svc.as('root').post(path, [{ name: 'x', secret: rounds(14) }])).status, 200)
  assert.equal((await configured({ x: { secret: rounds(14), redirectURIs: ['https://x.org/'] } }))[0]?.id, 'x')
  await assert.rejects(
    configured({ x: { secret: rounds(15), redirectURIs: ['https://x.org/'] } }),
    /clients\.x\.secret: .* at most 14 rounds, not of 15/,
  )
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
    [{ ...good, grant_type: 'authorization_code' }, 'invalid_request'],
    [{ ...good, grant_type: 'authorization_code', code: 'x' }, 'invalid_grant'],
    [{ ...good, password: 'wrong' }, 'invalid_grant'],
    [{ ...good, username: 'nobody' }, 'invalid_grant'],
    [{ ...good, client_id: 'nobody' }, 'invalid_client'],
    [{ ...good, scope: 'everything' }, 'invalid_scope'],
    [{ ...good, username: 'x'.repeat(10_000) }, 'invalid_grant'],
  ]
  for (const [form, error] of cases) {
    const answer = await requestToken(svc, form)
    assert.deepEqual([answer.status, answer.body.error], [400, error], JSON.stringify(form).slice(0, 100))
    assert.equal(typeof answer.body.error_description, 'string')
  }
  for (const [form, error] of [
    [{}, 'invalid_request'],
    [{ token: 'x', client_id: 'nobody' }, 'invalid_client'],
  ] as [Record<string, string>, string][]) {
    const { status, body } = await requestToken(svc, form, {}, '/api/oauth2/revoke')
    assert.deepEqual([status, body.error, typeof body.error_description], [400, error, 'string'])
  }
  const known = { client_id: 'machine', client_secret: 's3cret: +' }
  for (const [form, expected, error] of [
    [{ token: 'x' }, 401, 'invalid_client'],
    [{ token: 'x', client_id: 'nobody' }, 401, 'invalid_client'],
    [{ token: 'x', ...known, client_secret: 'wrong' }, 401, 'invalid_client'],
    [known, 400, 'invalid_request'],
  ] as [Record<string, string>, number, string][]) {
    const { status, body } = await requestToken(svc, form, {}, '/api/oauth2/introspect')
    const what = JSON.stringify(form)
    assert.deepEqual([status, body.error, typeof body.error_description], [expected, error, 'string'], what)
  }
  for (const [query, error] of [
    ['', 'invalid_request'],
    ['response_type=code&client_id=nobody&state=12345678', 'invalid_client'],
  ] as const) {
    const answer = await svc.inject({ method: 'GET', url: `/api/oauth2/auth?${query}` })
    const { error: code, error_description } = answer.json()
    assert.deepEqual([answer.statusCode, code, typeof error_description], [400, error, 'string'], query)
  }
  assert.equal((await requestToken(svc, { ...good, unknown: 'x' })).status, 200, 'unknown parameters are ignored')
  const json = await svc.inject({ method: 'POST', url: '/api/oauth2/token', payload: good })
  assert.deepEqual([json.statusCode, json.json().error], [400, 'invalid_request'])
})

test('who has not signed in cannot send much', async () => {
  const answer = await signIn(svc, 'anna', 'x'.repeat(70_000))
  assert.deepEqual([answer.status, answer.body.error], [413, 'invalid_request'])
})

test('CLIENT-007 scopes are labels: whichever a token has, it does what its user may do', async () => {
  const rightsOf = async (login: string, password: string, scope: string) => {
    const { body } = await signIn(svc, login, password, { scope })
    assert.equal(body.scope, scope)
    const headers = { authorization: `Bearer ${body.access_token}` }
    const write = { method: 'POST', url: '/api/v1/group', headers, payload: [{ group: { comment: scope } }] } as const
    return [
      (await svc.inject({ method: 'GET', url: '/api/v1/event/list', headers })).statusCode,
      (await svc.inject(write)).statusCode,
    ]
  }
  // By the rights on a pool: who has them may, whatever the scope, and nobody else.
  const users = (await svc.as('root').get('/user')).body
  const { _id } = users.find(({ user }: Json) => user.login === 'anna').user
  const who = { _basetype: 'user', user: { _id } }
  const made = await svc
    .as('root')
    .post('/pool', [
      { pool: { _id_parent: 1, name: { 'en-US': 'Hers' } }, _acl: [{ who, rights: { bag_read: {}, read: {} } }] },
    ])
  assert.equal(made.status, 200, JSON.stringify(made.body))
  const seesPool = async (login: string, scope: string) => {
    const { body } = await signIn(svc, login, login, { scope })
    const headers = { authorization: `Bearer ${body.access_token}` }
    const pools = (await svc.inject({ method: 'GET', url: '/api/v1/pool', headers })).json()
    return pools.some(({ pool }: Json) => pool._id === made.body[0].pool._id)
  }
  for (const scope of ['read', 'write', 'read write']) {
    assert.deepEqual([await seesPool('anna', scope), await seesPool('ben', scope)], [true, false], scope)
    assert.deepEqual(await rightsOf('root', 'root-test-password', scope), [200, 200], scope)
    assert.deepEqual(await rightsOf('anna', 'anna', scope), [403, 403], scope)
  }
})

test('AUTH-007 a token of the password grant is bound to no browser: after UserRequired one signs in and retries', async () => {
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

test('CLIENT-031 the refresh grant gives new tokens and uses the old refresh token up', async () => {
  const first = (await signIn(svc, 'anna', 'anna', { scope: 'offline read' })).body
  const second = await refresh(svc, first.refresh_token)
  assert.equal(second.status, 200)
  assert.equal(second.body.scope, 'offline read')
  assert.notEqual(second.body.refresh_token, first.refresh_token)
  assert.equal(await statusWith(svc, second.body.access_token), 200)
  assert.equal(await statusWith(svc, first.access_token), 200, 'requests in flight go on')
  const described = await formOf('/api/oauth2/token')
  assert.match(described.refresh_token.description, /refresh/i)
})

/** The parameters that the description of the interface has for a form. */
async function formOf(path: string): Promise<Json> {
  const { body } = await svc.as(null).get('/system/openapi/spec.json')
  const { schema } = body.paths[path].post.requestBody.content['application/x-www-form-urlencoded']
  const name = schema.$ref?.split('/').at(-1)
  return (name ? body.components.schemas[name] : schema).properties
}

test('a used refresh token ends the whole session: one of its two holders is a thief', async () => {
  const first = (await signIn(svc, 'anna', 'anna', { scope: 'offline' })).body
  const second = (await refresh(svc, first.refresh_token)).body
  // Two tabs may refresh at once; some seconds later it is none of them.
  await svc.db.query(`update oauth_token set used_at = now() - interval '11 seconds' where used_at is not null`)
  assert.equal((await refresh(svc, first.refresh_token)).body.error, 'invalid_grant')
  assert.equal((await refresh(svc, second.refresh_token)).body.error, 'invalid_grant')
  assert.equal(await statusWith(svc, second.access_token), 401)
  const [logout] = (await eventsOf(svc, 'USER_LOGOUT')).filter(({ event }) => event.info.reason === 'token_reuse')
  assert.equal(logout.user.user._id, 100)
})

test('20 refreshes at once with one token end with one live family: one session, one successor', async () => {
  const first = (await signIn(svc, 'anna', 'anna', { scope: 'offline read' })).body
  const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(svc, first.refresh_token)))
  for (const { status, body } of answers) assert.deepEqual([status, body.scope], [200, 'offline read'])
  assert.equal(new Set(answers.map(({ body }) => body.refresh_token)).size, 1)
  assert.equal(new Set(answers.map(({ body }) => body.access_token)).size, 20)
  for (const { body } of answers) assert.equal(await statusWith(svc, body.access_token), 200)
  const hash = createHash('sha256').update(first.access_token).digest()
  const { rows } = await svc.db.query<{ live: number; used: number }>(
    `select count(*) filter (where kind = 'r' and used_at is null)::int as live,
       count(*) filter (where used_at is not null)::int as used
     from oauth_token where session_id = (select session_id from oauth_token where hash = $1)`,
    [hash],
  )
  assert.deepEqual(rows, [{ live: 1, used: 1 }])
  const next = (await refresh(svc, answers[0]?.body.refresh_token)).body
  assert.equal(await statusWith(svc, next.access_token), 200)
  assert.equal((await refresh(svc, first.refresh_token, { client_id: 'svc-web-frontend' })).body.error, 'invalid_grant')
  assert.equal(await statusWith(svc, next.access_token), 200, 'another client ends nothing')
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
    const headers = { authorization: `Bearer ${tokens.access_token}` }
    const rejected = await svc.inject({ method: 'GET', url: '/api/v1/config', headers })
    assert.deepEqual([rejected.statusCode, rejected.json().code], [401, 'InvalidToken'])
    const refreshed = await refresh(svc, tokens.refresh_token)
    assert.deepEqual([refreshed.status, refreshed.body.error], [400, 'invalid_grant'])
  }
  const unknown = await requestToken(svc, { token: 'nonsense' }, {}, '/api/oauth2/revoke')
  assert.deepEqual([unknown.status, unknown.body], [200, null])
  assert.match((await formOf('/api/oauth2/revoke')).token.description, /token/)
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

test('EVENT-003 EVENT-056 signing in, failing and signing out are logged with the user, whatever the configuration says', async () => {
  const last = async (type: string) => (await eventsOf(svc, type)).filter(({ user }) => user?.user._id === 101).at(-1)
  const path = '/config/system/config/user/user_in_event_group'
  let before = 0
  for (const groups of [[], ['SYSTEM'], ['LOGIN_LOGOUT']]) {
    assert.equal((await svc.as('root').post(path, groups)).status, 200)
    const { access_token: token } = (await signIn(svc, 'ben', 'ben')).body
    await signIn(svc, 'ben', 'not ben')
    await requestToken(svc, { token }, {}, '/api/oauth2/revoke')
    const login = await last('USER_LOGIN')
    assert.ok(login.event._id > before)
    assert.deepEqual([login.event.info.method, login.event.info.client], ['native', 'web-client'])
    const failed = await last('USER_LOGIN_FAILED')
    assert.ok(failed.event._id > login.event._id)
    assert.equal(failed.event.info.error, 'wrong password')
    const logout = await last('USER_LOGOUT')
    assert.ok(logout.event._id > failed.event._id)
    assert.equal(logout.event.info.client, 'web-client')
    before = logout.event._id
  }
  await svc.as('root').delete(path)
  const page = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'events.md'), 'utf8')
  const documented = [...page.matchAll(/^\| LOGIN_LOGOUT \| `(\w+)` \| yes \| always \|/gm)].map(([, name]) => name)
  assert.deepEqual(documented, ['USER_LOGIN', 'USER_LOGIN_FAILED', 'USER_LOGOUT'])
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

test('the endpoints are not served under /api/v1', async () => {
  const answer = await requestToken(svc, { grant_type: 'password' }, {}, '/api/v1/oauth2/token')
  assert.equal(answer.body.code, 'UnknownEndpointMethod')
})
