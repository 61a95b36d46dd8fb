import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { hash } from 'bcryptjs'
import { ownCallback, TestVisitor } from '../signin/sign-in-browser.ts'
import { createUsers, requestToken, statusWith } from '../signin/support.ts'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'

/** What the standards say, a case each. What has a test of its own elsewhere is not said again. */
let svc: TestService
before(async () => {
  const base = { redirectURIs: [], scopes: null, pkce: 'required' } as const
  svc = await startService({
    oauthClients: [
      { ...base, id: 'secretive', secret: await hash('s3cret', 4) },
      { ...base, id: 'open', secret: null },
    ],
  })
  await createUsers(svc, { user: { login: 'anna' } })
})
after(() => svc[Symbol.asyncDispose]())

const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})
const password = { grant_type: 'password', client_id: 'web-client', username: 'anna', password: 'anna' }
const tokensOf = async (scope = 'offline'): Promise<Json> => (await requestToken(svc, { ...password, scope })).body
const revoke = (form: Record<string, string>, headers: Record<string, string> = {}) =>
  requestToken(svc, form, headers, '/api/oauth2/revoke')
const introspect = (form: Record<string, string>, headers: Record<string, string> = {}) =>
  requestToken(svc, form, headers, '/api/oauth2/introspect')
const codeOf = async (visitor: TestVisitor): Promise<string> =>
  (await visitor.signIn('anna', 'anna')).location?.searchParams.get('code') ?? ''

type Case = [section: string, rule: string, holds: () => Promise<void>]

const cases: Case[] = [
  [
    'RFC 6749, 2.3.1',
    'a client authenticates in one way only',
    async () => {
      const form = { ...password, client_id: 'secretive', client_secret: 's3cret' }
      assert.equal((await requestToken(svc, form, basic('secretive', 's3cret'))).body.error, 'invalid_request')
    },
  ],
  [
    'RFC 6749, 3.1',
    'the authorization endpoint takes GET and POST, and no parameter twice',
    async () => {
      const visitor = new TestVisitor(svc)
      for (const name of Object.keys(visitor.parameters())) {
        const text = `${new URLSearchParams(visitor.parameters())}&${name}=x`
        assert.equal((await visitor.get(`/api/oauth2/auth?${text}`)).status, 400, name)
      }
    },
  ],
  [
    'RFC 6749, 3.1',
    'unknown parameters are ignored, those without a value count as left out',
    async () => {
      const visitor = new TestVisitor(svc)
      assert.equal((await visitor.authorize({ unknown: 'x', scope: '' })).status, 200)
      assert.equal((await visitor.authorize({ state: '' })).status, 400)
    },
  ],
  [
    'RFC 6749, 4.1.2',
    'a code lives for a minute and is stored as a hash',
    async () => {
      const code = await codeOf(new TestVisitor(svc))
      const { rows } = await svc.db.query<{ seconds: number }>(
        'select extract(epoch from expires_at - issued_at)::int as seconds from oauth_code order by issued_at desc limit 1',
      )
      assert.deepEqual(rows, [{ seconds: 60 }])
      const { rowCount } = await svc.db.query('select from oauth_code where hash = $1', [
        Buffer.from(code, 'base64url'),
      ])
      assert.equal(rowCount, 0)
    },
  ],
  [
    'RFC 6749, 4.1.3',
    'a code without client_id is refused',
    async () => {
      const { body } = await new TestVisitor(svc).redeem('x', { client_id: '' })
      assert.equal(body.error, 'invalid_request')
    },
  ],
  [
    'RFC 6749, 5.1',
    'answers with tokens are not for caches',
    async () => {
      const { headers } = await requestToken(svc, password)
      assert.deepEqual([headers['cache-control'], headers.pragma], ['no-store', 'no-cache'])
    },
  ],
  [
    'RFC 6749, 5.2',
    'a client that came by HTTP Basic is told so with 401',
    async () => {
      const { status, headers, body } = await requestToken(svc, password, basic('secretive', 'wrong'))
      assert.equal(body.error, 'invalid_request', 'client_id is that of another')
      assert.equal(status, 400)
      const { client_id: _, ...rest } = password
      const again = await requestToken(svc, rest, basic('secretive', 'wrong'))
      assert.deepEqual([again.status, again.body.error], [401, 'invalid_client'])
      assert.match(String(again.headers['www-authenticate']), /^Basic/)
      assert.equal(headers['www-authenticate'], undefined)
    },
  ],
  [
    'RFC 6749, 6',
    'a refresh token is of its client, and never gives more scopes',
    async () => {
      const { refresh_token } = await tokensOf('offline read')
      const form = { grant_type: 'refresh_token', refresh_token, client_id: 'web-client' }
      assert.equal((await requestToken(svc, { ...form, client_id: 'open' })).body.error, 'invalid_grant')
      assert.equal((await requestToken(svc, { ...form, scope: 'offline write' })).body.error, 'invalid_scope')
      assert.equal((await requestToken(svc, form)).body.scope, 'offline read')
    },
  ],
  [
    'RFC 6750, 3',
    'a refusal asks for a bearer token, and says invalid_token where one was sent',
    async () => {
      const ask = async (headers: Record<string, string>, url = '/api/v1/user') =>
        (await svc.inject({ method: 'GET', url, headers })).headers['www-authenticate']
      assert.equal(await ask({}), 'Bearer realm="api"')
      const rejected = 'Bearer realm="api", error="invalid_token"'
      for (const url of ['/api/v1/user', '/api/oauth2/userinfo']) {
        assert.equal(await ask({ authorization: 'Bearer unknown' }, url), rejected, url)
      }
      const { access_token } = await tokensOf()
      assert.equal(await ask({ authorization: `Bearer ${access_token}` }), undefined)
    },
  ],
  [
    'RFC 7009, 2.1',
    'a client cannot revoke the tokens of another',
    async () => {
      const { access_token } = await tokensOf()
      assert.equal((await revoke({ token: access_token, client_id: 'open' })).status, 200)
      assert.equal(await statusWith(svc, access_token), 200)
    },
  ],
  [
    'RFC 7009, 2.1',
    'with the refresh token the access tokens go, and the other way round',
    async () => {
      for (const name of ['access_token', 'refresh_token'] as const) {
        const tokens = await tokensOf()
        assert.equal((await revoke({ token: tokens[name], client_id: 'web-client' })).status, 200)
        assert.equal(await statusWith(svc, tokens.access_token), 401)
        const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id: 'web-client' }
        assert.equal((await requestToken(svc, form)).body.error, 'invalid_grant')
      }
    },
  ],
  [
    'RFC 7009, 2.2',
    'an unknown token, or a wrong hint, is no error',
    async () => {
      const { access_token } = await tokensOf()
      assert.equal((await revoke({ token: 'unknown', token_type_hint: 'refresh_token' })).status, 200)
      assert.equal((await revoke({ token: access_token, token_type_hint: 'refresh_token' })).status, 200)
      assert.equal(await statusWith(svc, access_token), 401)
    },
  ],
  [
    'RFC 7636, 4.1',
    'a verifier has 43 to 128 of the allowed characters',
    async () => {
      const visitor = new TestVisitor(svc)
      for (const code_verifier of ['x'.repeat(42), 'x'.repeat(129), `${'x'.repeat(43)}!`, `${'x'.repeat(43)}ä`]) {
        assert.equal((await visitor.redeem('x', { code_verifier })).body.error, 'invalid_request', code_verifier)
      }
    },
  ],
  [
    'RFC 7636, 4.6',
    'the challenge itself is no verifier',
    async () => {
      const visitor = new TestVisitor(svc)
      const code = await codeOf(visitor)
      const code_verifier = visitor.parameters().code_challenge ?? ''
      assert.equal((await visitor.redeem(code, { code_verifier })).body.error, 'invalid_grant')
      assert.equal((await visitor.redeem(code)).status, 200)
    },
  ],
  [
    'RFC 7662, 2.2',
    'of a token that does not count nothing but that is told',
    async () => {
      const { body } = await introspect({ token: 'unknown', client_id: 'open' })
      assert.deepEqual(body, { active: false })
    },
  ],
  [
    'RFC 7662, 4',
    'who guesses tokens must be somebody',
    async () => {
      assert.equal((await introspect({ token: 'guess' })).status, 401)
    },
  ],
  [
    'RFC 9207, 2',
    'the issuer stands in the answer, so that nobody mixes up two servers',
    async () => {
      const done = await new TestVisitor(svc).signIn('anna', 'anna')
      assert.equal(done.location?.searchParams.get('iss'), svc.config.externalUrl)
    },
  ],
  [
    'RFC 9700, 2.1',
    'redirect URIs are compared letter by letter',
    async () => {
      const visitor = new TestVisitor(svc)
      const code = await codeOf(visitor)
      for (const redirect_uri of [`${ownCallback}/`, ownCallback.toUpperCase(), `${ownCallback}?`]) {
        assert.equal((await visitor.redeem(code, { redirect_uri })).body.error, 'invalid_grant')
      }
    },
  ],
  [
    'RFC 9700, 2.1.1',
    'a code for which no challenge was sent takes no verifier, and none is read from elsewhere',
    async () => {
      const parameters = new TestVisitor(svc).parameters({
        code_challenge: undefined,
        code_challenge_method: undefined,
      })
      const url = `/api/oauth2/auth?${new URLSearchParams(parameters)}`
      const answer = await svc.inject({ method: 'GET', url, headers: { host: 'localhost:8080' } })
      assert.equal(answer.json().error, 'invalid_request', 'public clients must send one')
    },
  ],
  [
    'RFC 9700, 4.2.4',
    'neither page nor redirect tells another site where it came from',
    async () => {
      const visitor = new TestVisitor(svc)
      for (const answer of [await visitor.authorize(), await visitor.signIn('anna', 'anna')]) {
        assert.equal(answer.headers['referrer-policy'], 'no-referrer')
      }
    },
  ],
  [
    'RFC 9700, 4.12',
    'a form with a password is answered 303, never 307',
    async () => {
      assert.equal((await new TestVisitor(svc).signIn('anna', 'anna')).status, 303)
    },
  ],
  [
    'RFC 9700, 4.16',
    'the page is never framed',
    async () => {
      const { headers } = await new TestVisitor(svc).authorize()
      assert.match(String(headers['content-security-policy']), /frame-ancestors 'none'/)
    },
  ],
]

for (const [section, rule, holds] of cases) test(`${section}: ${rule}`, holds)

test('CLIENT-020 CLIENT-021 auth_method is one method or several that are tried in order; unknown ones are native', async () => {
  const visitor = new TestVisitor(svc)
  const shows = async (auth_method: string, more: Record<string, string> = {}) => {
    const { status, location } = await visitor.authorize({ auth_method, ...more })
    return status === 302 ? (location?.pathname ?? '') : status
  }
  const credentials = { login: 'anna', password: 'anna' }
  const signedInBy = async (auth_method: string | undefined, more: Record<string, string> = {}) => {
    const done = await visitor.authorize({ auth_method, ...more })
    const { body } = await visitor.redeem(done.location?.searchParams.get('code') ?? '')
    const cookie = `svc-browser-id=${visitor.cookies.get('svc-browser-id')}`
    const headers = { authorization: `Bearer ${body.access_token}`, cookie }
    const session = await svc.inject({ method: 'GET', url: '/api/v1/user/session', headers })
    return session.json().authenticated.method
  }
  for (const method of ['native', 'unheard-of', undefined]) {
    assert.equal(await signedInBy(method, credentials), 'native', String(method))
  }
  for (const method of ['native', 'unheard-of', '', 'auto', 'native,ldap', 'ldap,native', 'nonsense,collection']) {
    assert.equal(await shows(method), 200, method)
    assert.equal(await shows(method, credentials), '/app/callback', method)
    assert.equal(await shows(method, { ...credentials, password: 'wrong' }), 200, method)
  }
  assert.equal((await svc.as('root').post('/config/system/config/login/guest', true)).status, 200)
  assert.equal(await shows('native'), 200, 'native alone asks')
  assert.equal(await shows('native,anonymous'), '/app/callback', 'without credentials the next one has its turn')
  assert.equal(await signedInBy('native,anonymous', credentials), 'native', 'with credentials the first')
  assert.equal(await signedInBy('anonymous,native', credentials), 'anonymous', 'the first here, too')
  assert.equal(await signedInBy('native,anonymous'), 'anonymous')
  assert.equal((await svc.as('root').post('/config/system/config/login/guest', false)).status, 200)
  assert.equal(await signedInBy('anonymous,native', credentials), 'native', 'the next one where the first is off')
})
