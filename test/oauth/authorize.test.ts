import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { hash } from 'bcryptjs'
import { stringify } from 'yaml'
import { loadConfig } from '../../src/platform/config/load.ts'
import { challengeOf, ownCallback, TestVisitor } from '../signin/sign-in-browser.ts'
import { createUsers, statusWith } from '../signin/support.ts'
import { assertNamed, pageText } from '../support/documented.ts'
import { temporaryFolder } from '../support/process.ts'
import { startService, type TestService } from '../support/service.ts'

let svc: TestService
before(async () => {
  const base = { secret: null, scopes: null, pkce: 'required' } as const
  await using folder = await temporaryFolder()
  const webapp = { loginAllowRedirects: ['https://*.portal.example', 'http://localhost:*', 'org.example.app:'] }
  await writeFile(join(folder.path, 'svc.yml'), stringify({ svc: { services: { webapp } } }))
  const { loginAllowRedirects } = loadConfig({ file: 'svc.yml', env: {}, cwd: folder.path })
  svc = await startService({
    loginAllowRedirects,
    oauthClients: [
      { ...base, id: 'one', redirectURIs: ['https://a.portal.example/cb?x=1'], scopes: ['read'] },
      { ...base, id: 'two', redirectURIs: ['https://a.portal.example/cb', 'org.example.app:/cb'], pkce: 'optional' },
      { ...base, id: 'machine', secret: await hash('s3cret', 4), redirectURIs: ['http://localhost:9/cb'] },
      { ...base, id: 'far', redirectURIs: ['https://elsewhere.example/cb'] },
      { ...base, id: 'none', redirectURIs: [] },
    ],
  })
  await createUsers(svc, { user: { login: 'anna', email: 'anna@example.org' } }, { user: { login: 'ben' } })
})
after(() => svc[Symbol.asyncDispose]())

const codeIn = (location: URL | null): string => location?.searchParams.get('code') ?? ''

test('OAUTH-005 OAUTH-006 CLIENT-011 CLIENT-013 a user signs in on the page; the client redeems the code, with PKCE', async () => {
  const visitor = new TestVisitor(svc)
  const page = await visitor.authorize({ scope: 'offline read' })
  assert.equal(page.status, 200)
  assert.match(page.body, /<input id="login" name="login"/)
  assert.match(String(page.headers['content-type']), /^text\/html/)
  const invalid = await new TestVisitor(svc).authorize({ login: 'anna', password: 'wrong' })
  assert.deepEqual([invalid.status, invalid.location], [200, null])
  assert.match(invalid.body, /<input id="login" name="login"/)
  const wrong = await visitor.submit(page, { login: 'anna', password: 'wrong' })
  assert.equal(wrong.status, 200)
  assert.match(wrong.body, /role="alert" id="problem">The login or the password is wrong/)
  assert.match(wrong.body, /value="anna"/)
  assert.doesNotMatch(wrong.body, /value="wrong"/)
  const done = await visitor.submit(wrong, { login: 'anna', password: 'anna' })
  assert.equal(done.status, 303)
  const { origin, pathname, searchParams } = done.location ?? new URL('x:')
  assert.equal(origin + pathname, ownCallback)
  assert.deepEqual([...searchParams.keys()], ['code', 'state', 'iss'])
  assert.equal(searchParams.get('state'), visitor.state)
  assert.equal(searchParams.get('iss'), 'http://localhost:8080')
  const { status, body } = await visitor.redeem(codeIn(done.location))
  assert.deepEqual([status, body.scope, typeof body.refresh_token], [200, 'offline read', 'string'])

  const direct = new TestVisitor(svc)
  const called = await direct.authorize({ login: 'anna', password: 'anna', scope: 'read' })
  assert.equal(called.status, 302)
  assert.equal(`${called.location?.origin}${called.location?.pathname}`, ownCallback)
  assert.equal(called.location?.searchParams.get('state'), direct.state)
  assert.equal((await direct.redeem(codeIn(called.location))).body.scope, 'read')
  const page2 = pageText('signing-in.md')
  assert.match(page2, /The authorization code grant is the recommended one\./)
  assert.match(page2, /PKCE is recommended with it for\s+public clients/)
})

test('OAUTH-012 GET and POST take the same parameters, credentials included', async () => {
  for (const method of ['get', 'post'] as const) {
    const visitor = new TestVisitor(svc)
    const parameters = visitor.parameters({
      login: 'anna@example.org',
      password: 'anna',
      auth_method: 'native',
      scope: 'read',
    })
    const done = await visitor[method]('/api/oauth2/auth', parameters)
    assert.equal(done.status, method === 'get' ? 302 : 303)
    assert.equal(`${done.location?.origin}${done.location?.pathname}`, ownCallback)
    assert.equal(done.location?.searchParams.get('state'), visitor.state)
    const url = '/api/oauth2/auth'
    for (const changed of [
      { response_type: 'token' },
      { client_id: 'nobody' },
      { state: '1234567' },
      { redirect_uri: 'https://evil.example/' },
      { scope: 'openid' },
      { auth_method: 'anonymous' },
      { code_challenge: 'short' },
      { code_challenge_method: 'plain' },
    ] as Record<string, string>[]) {
      const wrong = await visitor[method](url, { ...parameters, ...changed })
      assert.equal(wrong.status, 400, `${method} ${JSON.stringify(changed)}`)
    }
    for (const changed of [{ login: 'nobody' }, { password: 'wrong' }] as Record<string, string>[]) {
      const { status, location } = await visitor[method](url, { ...parameters, ...changed })
      assert.deepEqual([status, location], [200, null], `${method} ${JSON.stringify(changed)}`)
    }
    assert.equal((await visitor.redeem(codeIn(done.location))).body.scope, 'read')
  }
  const multipart = await svc.inject({
    method: 'POST',
    url: '/api/oauth2/auth',
    payload: new TestVisitor(svc).parameters(),
  })
  assert.deepEqual([multipart.statusCode, multipart.json().error], [400, 'invalid_request'])
})

test('OAUTH-001 OAUTH-002 OAUTH-004 OAUTH-011 CLIENT-019 LIM-002 a wrong request is a 400 with a description and leads nowhere', async () => {
  const cases: [more: Record<string, string | undefined>, error: string | null][] = [
    [{ response_type: undefined }, 'invalid_request'],
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ response_type: 'id_token' }, 'unsupported_response_type'],
    [{ response_type: 'code token' }, 'unsupported_response_type'],
    [{ client_id: undefined }, 'invalid_request'],
    [{ client_id: 'nobody' }, 'invalid_client'],
    [{ state: undefined }, 'invalid_request'],
    [{ state: '1234567' }, 'invalid_request'],
    [{ state: '12345678' }, null],
    [{ state: 'x'.repeat(4001) }, 'invalid_request'],
    [{ scope: 'openid' }, 'invalid_scope'],
    [{ scope: 'offline_access' }, 'invalid_scope'],
    [{ scope: 'read write offline' }, null],
    [{ scope: 'read,write' }, 'invalid_scope'],
    [{ redirect_uri: undefined }, 'invalid_request'],
    [{ redirect_uri: 'https://evil.example/' }, 'invalid_request'],
    [{ redirect_uri: 'http://localhost:8080/other' }, null],
    [{ code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    [{ code_challenge: undefined }, 'invalid_request'],
    [{ code_challenge_method: undefined }, 'invalid_request'],
    [{ code_challenge_method: 'plain' }, 'invalid_request'],
    [{ code_challenge: 'short' }, 'invalid_request'],
    [{ client_id: 'one', redirect_uri: undefined }, null],
    [{ client_id: 'one', redirect_uri: 'https://a.portal.example/cb?x=1' }, null],
    [{ client_id: 'one', redirect_uri: 'https://a.portal.example/cb' }, 'invalid_request'],
    [{ client_id: 'one', redirect_uri: undefined, scope: 'write' }, 'invalid_scope'],
    [{ client_id: 'two', redirect_uri: undefined }, 'invalid_request'],
    [{ client_id: 'two', redirect_uri: 'org.example.app:/cb' }, null],
    [
      {
        client_id: 'two',
        redirect_uri: 'org.example.app:/cb',
        code_challenge: undefined,
        code_challenge_method: undefined,
      },
      null,
    ],
    [
      { client_id: 'machine', redirect_uri: undefined, code_challenge: undefined, code_challenge_method: undefined },
      null,
    ],
    [{ client_id: 'far', redirect_uri: undefined }, 'invalid_request'],
    [{ client_id: 'none', redirect_uri: ownCallback }, 'invalid_request'],
    [{ auth_method: 'ldap' }, 'invalid_request'],
    [{ auth_method: 'saml,openid' }, 'invalid_request'],
    [{ auth_method: 'ldap,native' }, null],
    [{ auth_method: 'whatever' }, null],
  ]
  for (const [more, error] of cases) {
    const what = JSON.stringify(more)
    const parameters = new TestVisitor(svc).parameters(more)
    const credentials = { ...parameters, login: 'anna', password: 'anna' }
    for (const sent of [parameters, credentials]) {
      const url = `/api/oauth2/auth?${new URLSearchParams(sent)}`
      const answer = await svc.inject({ method: 'GET', url, headers: { host: 'localhost:8080' } })
      if (error === null) {
        assert.equal(answer.statusCode, sent === parameters ? 200 : 302, what)
        continue
      }
      assert.deepEqual([answer.statusCode, answer.json().error], [400, error], what)
      assert.ok(answer.json().error_description.length > 10)
      assert.equal(answer.headers.location, undefined)
      const page = await new TestVisitor(svc).post('/api/oauth2/auth', sent)
      assert.equal(page.status, 400)
      assert.match(page.body, /<h1>That did not work<\/h1>/)
      assert.ok(page.body.includes(`: ${error}: `), 'the code of RFC 6749 is told')
    }
  }
  const twice = `/api/oauth2/auth?${new URLSearchParams(new TestVisitor(svc).parameters())}&client_id=one`
  assert.equal((await svc.inject({ method: 'GET', url: twice })).json().error, 'invalid_request')
})

test('CLIENT-014 VER-004 another origin needs an entry in loginAllowRedirects, the service itself and its external address do not', async () => {
  const visitor = new TestVisitor(svc)
  const to = async (redirect_uri: string, host = 'localhost:8080') =>
    (await visitor.get('/api/oauth2/auth', visitor.parameters({ redirect_uri }), { host })).status
  assert.equal(await to('http://localhost:8080/app'), 200, 'externalURL')
  assert.equal(await to('http://127.0.0.1:81/app', '127.0.0.1:81'), 200, 'the loopback address of the request')
  assert.equal(await to('http://127.0.0.1:81/app'), 400)
  assert.equal(await to('http://inside.example:81/app', 'inside.example:81'), 400, 'any other Host proves nothing')
  for (const [uri, status] of [
    ['https://a.portal.example/', 200],
    ['https://A.PORTAL.example:443/x', 200],
    ['http://localhost/', 200],
    ['http://localhost:1234/', 200],
    ['org.example.app:/cb', 200],
    ['https://a.b.portal.example/', 400],
    ['https://portal.example/', 400],
    ['https://a.portal.example:8443/', 400],
    ['http://a.portal.example/', 400],
    ['https://a.portal.example.evil.com/', 400],
    ['http://localhost.evil.com/', 400],
    ['https://localhost:1/', 400],
    ['org.example.app2:/cb', 400],
  ] as const) {
    assert.equal(await to(uri), status, uri)
  }
  const implicit = await visitor.get('/api/oauth2/auth', visitor.parameters({ response_type: 'token' }))
  assert.equal(implicit.status, 400, 'the implicit grant is gone')
})

test('OAUTH-016 CLIENT-029 CLIENT-030 a code is for one client, redirect URI, verifier and browser, and used once', async () => {
  assertNamed('signing-in.md', ['code_challenge', 'code_challenge_method', 'code_verifier'])
  const visitor = new TestVisitor(svc)
  const fresh = async () => codeIn((await visitor.signIn('anna', 'anna')).location)
  const refused: [what: string, more: Record<string, string>, headers: Record<string, string>][] = [
    ['client', { client_id: 'svc-web-frontend' }, {}],
    ['redirect URI', { redirect_uri: 'http://localhost:8080/app/callback/' }, {}],
    ['no redirect URI', { redirect_uri: '' }, {}],
    ['verifier', { code_verifier: 'x'.repeat(43) }, {}],
    ['no verifier', { code_verifier: '' }, {}],
    ['no browser', {}, { cookie: '' }],
    ['other browser', {}, { cookie: `svc-browser-id=${'x'.repeat(43)}` }],
    ['code', { code: 'x'.repeat(43) }, {}],
  ]
  const code = await fresh()
  for (const [what, more, headers] of refused) {
    const { status, body } = await visitor.redeem(code, more, headers)
    assert.deepEqual([status, body.error], [400, 'invalid_grant'], what)
  }
  const malformed = await visitor.redeem(code, { code_verifier: 'short' })
  assert.deepEqual([malformed.status, malformed.body.error], [400, 'invalid_request'])
  const first = await visitor.redeem(code)
  assert.equal(first.status, 200, 'what did not fit has not used it up')
  const headers = {
    authorization: `Bearer ${first.body.access_token}`,
    cookie: `svc-browser-id=${visitor.cookies.get('svc-browser-id')}`,
  }
  const asked = async () => (await svc.inject({ method: 'GET', url: '/api/v1/user/session', headers })).statusCode
  assert.equal(await asked(), 200)
  assert.equal((await visitor.redeem(code)).body.error, 'invalid_grant')
  assert.equal(await asked(), 401, 'a second use ends what came of the first')

  const raced = await fresh()
  const both = await Promise.all([visitor.redeem(raced), visitor.redeem(raced), visitor.redeem(raced)])
  assert.equal(both.filter(({ status }) => status === 200).length, 1)

  const late = await fresh()
  await svc.db.query('update oauth_code set expires_at = now() where used_at is null')
  assert.equal((await visitor.redeem(late)).body.error, 'invalid_grant')
  const { rows } = await svc.db.query<{ found: string }>('select row_to_json(c)::text as found from oauth_code c')
  assert.ok(rows.length > 0 && rows.every(({ found }) => !found.includes(code)), 'only hashes are stored')
})

test('CLIENT-012 a confidential client proves its secret, a public one has none; without challenge a verifier is refused', async () => {
  const visitor = new TestVisitor(svc)
  const plain = {
    client_id: 'machine',
    redirect_uri: undefined,
    code_challenge: undefined,
    code_challenge_method: undefined,
  }
  const redeem = async (more: Record<string, string>) => {
    const code = codeIn((await visitor.signIn('anna', 'anna', plain)).location)
    const form = { client_id: 'machine', redirect_uri: '', code_verifier: '', ...more }
    return (await visitor.redeem(code, form, { cookie: '' })).body
  }
  assert.equal((await redeem({ client_secret: 's3cret' })).token_type, 'bearer')
  assert.equal((await redeem({})).error, 'invalid_client')
  assert.equal((await redeem({ client_secret: 'wrong' })).error, 'invalid_client')
  assert.equal((await redeem({ client_secret: 's3cret', redirect_uri: 'http://localhost:9/cb' })).token_type, 'bearer')
  assert.equal((await redeem({ client_secret: 's3cret', redirect_uri: 'http://localhost:9/' })).error, 'invalid_grant')
  assert.equal((await redeem({ client_secret: 's3cret', code_verifier: visitor.verifier })).error, 'invalid_grant')
  const ofPublic = await new TestVisitor(svc).signIn('anna', 'anna', {
    client_id: 'two',
    redirect_uri: 'org.example.app:/cb',
  })
  assert.equal(ofPublic.location?.protocol, 'org.example.app:')
  const noSecret = new TestVisitor(svc)
  const publicCode = codeIn((await noSecret.signIn('anna', 'anna')).location)
  assert.equal((await noSecret.redeem(publicCode, { client_secret: 'x' })).body.error, 'invalid_client')
  const unnamed = await noSecret.redeem(publicCode, { redirect_uri: '' })
  assert.deepEqual([unnamed.status, unnamed.body.error], [400, 'invalid_grant'], 'it was used in the first step')
  assert.equal((await noSecret.redeem(publicCode)).status, 200)
  const elsewhere = await visitor.signIn('anna', 'anna', plain)
  assert.equal(elsewhere.location?.origin, 'http://localhost:9')
  const verified = { client_id: 'machine', redirect_uri: undefined, code_challenge: challengeOf(visitor.verifier) }
  const code = codeIn((await visitor.signIn('anna', 'anna', verified)).location)
  const form = { client_id: 'machine', client_secret: 's3cret', redirect_uri: '' }
  const { body } = await visitor.redeem(code, form, { cookie: '' })
  assert.equal(await statusWith(svc, body.access_token), 200)
})

test('a user who was shut out between sign-in and token request gets no token', async () => {
  const visitor = new TestVisitor(svc)
  const code = codeIn((await visitor.signIn('ben', 'ben')).location)
  await svc.db.query(`update "user" set login_disabled = true where login = 'ben'`)
  assert.equal((await visitor.redeem(code)).body.error, 'invalid_grant')
})
