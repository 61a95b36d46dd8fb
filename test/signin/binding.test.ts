import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startService, type TestService } from '../support/service.ts'
import { ownCallback, TestVisitor } from './sign-in-browser.ts'
import { createUsers, requestToken } from './support.ts'

const farCallback = 'https://portal.example/cb'
const [own, other] = ['a'.repeat(43), 'b'.repeat(43)]

let svc: TestService
before(async () => {
  svc = await startService({
    identifierAliases: ['museum'],
    loginAllowRedirects: ['https://portal.example'],
    oauthClients: [{ id: 'third', secret: null, redirectURIs: [farCallback], scopes: null, pkce: 'required' }],
  })
  await createUsers(svc, { user: { login: 'anna' } })
  const set = await svc.as('root').post('/config/system/config/login', { guest: true, keep_login: '7d' })
  assert.equal(set.status, 200, JSON.stringify(set.body))
})
after(() => svc[Symbol.asyncDispose]())

interface Tokens {
  access: string
  refresh: string | undefined
  /** The browser id that the sign-in left in the browser. */
  minted: string | undefined
}

type Grant = 'authorization_code' | 'password' | 'client_credentials' | 'refresh_token'

const sites = {
  'our page': { origin: 'http://localhost:8080', 'sec-fetch-site': 'same-origin' },
  'another site': { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
  'a neighbour': { origin: 'http://shop.localhost:8080', 'sec-fetch-site': 'same-site' },
  'another site, old browser': { origin: 'https://evil.example' },
} as const

/** A sign-in with a cookie that the browser has from before. */
async function signIn(grant: Grant, cookie: string, site: keyof typeof sites, callback: string): Promise<Tokens> {
  const tokensOf = (body: { access_token: string; refresh_token?: string }, minted?: string): Tokens => {
    assert.ok(body.access_token, JSON.stringify(body))
    return { access: body.access_token, refresh: body.refresh_token, minted }
  }
  if (grant === 'password' || grant === 'client_credentials') {
    const form = { grant_type: grant, client_id: 'web-client', username: 'anna', password: 'anna', scope: 'offline' }
    return tokensOf((await requestToken(svc, form, cookie ? { cookie } : {})).body)
  }
  const visitor = new TestVisitor(svc)
  const [name, value] = cookie.split('=')
  if (name && value) visitor.cookies.set(name, value)
  const asked = visitor.parameters({ redirect_uri: callback, scope: 'offline', auth_method: 'native' })
  const page = await visitor.get('/api/oauth2/auth', asked)
  const credentials = { login: 'anna', password: 'anna' }
  const done =
    site === 'our page'
      ? await visitor.submit(page, credentials, sites[site])
      : await visitor.post('/api/oauth2/auth', { ...asked, ...credentials }, sites[site])
  const code = done.location?.searchParams.get('code') ?? ''
  const minted = [done.headers['set-cookie'] ?? []].flat().find((line) => String(line).startsWith('svc-browser-id='))
  const id = minted === undefined ? undefined : /=([^;]*)/.exec(String(minted))?.[1]
  if (minted !== undefined) {
    assert.match(String(minted), /; Max-Age=34560000; Path=\/; HttpOnly; SameSite=Lax$/)
  }
  const redeemed = await visitor.redeem(code, { redirect_uri: callback })
  const first = tokensOf(redeemed.body, id)
  if (grant === 'authorization_code') return first
  const again = await requestToken(
    svc,
    { grant_type: 'refresh_token', client_id: 'web-client', refresh_token: first.refresh ?? '' },
    { cookie: [...visitor.cookies].map((pair) => pair.join('=')).join('; ') },
  )
  return tokensOf(again.body, id)
}

async function codeWith(token: string, cookie: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, ...(cookie ? { cookie } : {}) }
  const response = await svc.inject({ method: 'GET', url: '/api/v1/user/session', headers })
  return response.statusCode === 200 ? 'ok' : response.json().code
}

async function refreshedWith(refresh: string, cookie: string): Promise<string> {
  const answer = await requestToken(svc, { refresh_token: refresh }, cookie ? { cookie } : {}, '/api/oauth2/refresh')
  return answer.status === 200 ? 'ok' : answer.body.code
}

test('SESS-001 SESS-006 SESS-007 SESS-009 VER-005 VER-006 whom a token is bound to, by grant, site, callback and cookie', async () => {
  let count = 0
  for (const grant of ['authorization_code', 'refresh_token', 'password', 'client_credentials'] as const) {
    const onPage = grant === 'authorization_code' || grant === 'refresh_token'
    for (const had of ['', `svc-browser-id=${own}`, `museum-browser-id=${own}`, 'svc-browser-id=short']) {
      const all = Object.keys(sites) as (keyof typeof sites)[]
      for (const site of grant === 'authorization_code' ? all : all.slice(0, onPage ? 2 : 1)) {
        for (const callback of onPage ? [ownCallback, farCallback] : [ownCallback]) {
          const what = [grant, had, site, callback].join(' | ')
          const tokens = await signIn(grant, had, site, callback)
          const hadId = had.endsWith(own) ? own : undefined
          const bound = onPage ? site === 'our page' && callback === ownCallback : hadId !== undefined
          const id = bound ? (hadId ?? tokens.minted) : undefined
          if (onPage) assert.equal(tokens.minted !== undefined, bound, `${what}: mints`)
          if (bound && hadId) assert.ok(tokens.minted === undefined || tokens.minted === hadId, `${what}: keeps`)
          const wanted = (right: boolean) => (!bound || right ? 'ok' : 'InvalidToken')
          for (const [cookie, right] of [
            [`svc-browser-id=${id ?? own}`, true],
            [`museum-browser-id=${id ?? own}`, true],
            [`a=b; svc-browser-id=${other}; svc-browser-id=${id ?? own}`, true],
            ['', false],
            [`svc-browser-id=${other}`, false],
            [`park-browser-id=${id ?? own}`, false],
            [`svc-browser-id=${id ?? own}x`, false],
          ] as const) {
            assert.equal(await codeWith(tokens.access, cookie), wanted(right), `${what}: ${cookie}`)
            count++
          }
          if (grant === 'client_credentials') {
            assert.equal(tokens.refresh, undefined)
            continue
          }
          const right = `svc-browser-id=${id ?? own}`
          const wrong = ['', `svc-browser-id=${other}`]
          for (const cookie of wrong)
            assert.equal(await refreshedWith(tokens.refresh ?? '', cookie), 'InvalidToken', what)
          // The endpoint is for sessions of a browser.
          assert.equal(await refreshedWith(tokens.refresh ?? '', right), bound ? 'ok' : 'InvalidToken', what)
          const renewed = await requestToken(
            svc,
            {},
            { authorization: `Bearer ${tokens.access}`, cookie: right },
            '/api/oauth2/refresh',
          )
          assert.equal(renewed.status, bound ? 200 : 401, `${what}: renews`)
          if (bound) assert.equal(await codeWith(renewed.body.access_token, right), 'ok')
        }
      }
    }
  }
  assert.ok(count > 350, `${count}`)
})

test('SESS-002 the cookie accompanies the token on every request, else it is rejected', async () => {
  const { access: token, minted } = await signIn('authorization_code', '', 'our page', ownCallback)
  let count = 0
  for (const { method, url, access } of svc.app.http.declaredRoutes) {
    if ((access !== 'user' && access !== 'session') || method === 'HEAD') continue
    // It would sign out elsewhere.
    if (url.endsWith('/list') && method === 'DELETE') continue
    const path = url.replaceAll(/:\w+|\*/g, '999999')
    const ask = (cookie: string) => {
      const headers = { authorization: `Bearer ${token}`, ...(cookie ? { cookie } : {}) }
      return svc.inject({ method: method as 'GET', url: path, headers })
    }
    const missing = await ask('')
    assert.deepEqual([missing.statusCode, missing.json().code], [401, 'InvalidToken'], `${method} ${url}`)
    assert.notEqual((await ask(`svc-browser-id=${minted}`)).statusCode, 401, `${method} ${url}`)
    count++
  }
  assert.ok(count > 50, `${count}`)
})

test('SESS-008 what is used on another origin is unbound: by a third-party client, by a front end of another server', async () => {
  for (const client_id of ['third', 'web-client', 'svc-web-frontend', 'museum-web-frontend']) {
    for (const redirect_uri of client_id === 'third' ? [farCallback] : [farCallback, ownCallback]) {
      const what = `${client_id} ${redirect_uri}`
      const far = redirect_uri === farCallback
      const visitor = new TestVisitor(svc)
      const done = await visitor.signIn('anna', 'anna', { client_id, redirect_uri, auth_method: 'native' })
      assert.equal(`${done.location?.origin}${done.location?.pathname}`, redirect_uri, what)
      assert.equal(visitor.cookies.has('svc-browser-id'), !far, what)
      // The other server asks for the tokens, without a cookie of ours.
      const form = { client_id, redirect_uri }
      const code = done.location?.searchParams.get('code') ?? ''
      const { status, body } = await visitor.redeem(code, form, far ? { cookie: '' } : {})
      assert.equal(status, 200, what)
      for (const cookie of ['', `svc-browser-id=${other}`]) {
        assert.equal(await codeWith(body.access_token, cookie), far ? 'ok' : 'InvalidToken', what)
      }
    }
  }
})

test('AUTH-005 a bound token in another browser is answered 401 InvalidToken where a user is required, in every carrier', async () => {
  const { access, minted } = await signIn('authorization_code', '', 'our page', ownCallback)
  for (const request of [
    { headers: { authorization: `Bearer ${access}` } },
    { headers: { 'x-svc-authorization': `Bearer ${access}` } },
    { headers: {}, query: `?access_token=${access}` },
  ]) {
    const ask = (cookie: string) =>
      svc.inject({
        method: 'GET',
        url: `/api/v1/event/poll/0${request.query ?? ''}`,
        headers: { ...request.headers, cookie },
      })
    const refused = await ask(`svc-browser-id=${other}`)
    assert.deepEqual([refused.statusCode, refused.json().code], [401, 'InvalidToken'])
    assert.notEqual((await ask(`svc-browser-id=${minted}`)).statusCode, 401)
  }
})

test('a refresh from a wrong browser neither uses up the token nor ends the session', async () => {
  const visitor = new TestVisitor(svc)
  const done = await visitor.signIn('anna', 'anna', { scope: 'offline', auth_method: 'native' })
  const { body } = await visitor.redeem(done.location?.searchParams.get('code') ?? '')
  const form = { grant_type: 'refresh_token', client_id: 'web-client', refresh_token: body.refresh_token }
  const cookie = `svc-browser-id=${visitor.cookies.get('svc-browser-id')}`
  assert.equal((await requestToken(svc, form)).body.error, 'invalid_grant')
  assert.equal((await requestToken(svc, form, { cookie: `svc-browser-id=${other}` })).body.error, 'invalid_grant')
  assert.equal(await codeWith(body.access_token, cookie), 'ok')
  assert.equal((await requestToken(svc, form, { cookie })).status, 200)
})

test('a refresh by the browser whose token stands twice or is no text is refused', async () => {
  for (const form of ['refresh_token=a&refresh_token=b', 'refresh_token=%00']) {
    const { status, body } = await requestToken(svc, form, { cookie: `svc-browser-id=${other}` }, '/api/oauth2/refresh')
    assert.deepEqual([status, body.code, body.parameters.error], [400, 'ServerGeneric', 'invalid_request'], form)
  }
})

test('SESS-003 SESS-004 SESS-005 OAUTH-013 who asks stays signed in on this browser, until the cookie or the time ends', async () => {
  const root = svc.as('root')
  const set = (value: unknown) => root.post('/config/system/config/login/keep_login', value)
  const arrive = async (visitor: TestVisitor) => (await visitor.authorize({ auth_method: 'native' })).status
  const keep = async (days: string) => {
    assert.equal((await set(days)).status, 200)
    const visitor = new TestVisitor(svc)
    const done = await visitor.signIn('anna', 'anna', { auth_method: 'native' }, { keep_login: '1' })
    return { visitor, lines: [done.headers['set-cookie'] ?? []].flat().map(String) }
  }
  const off = await keep('off')
  assert.ok(!off.lines.some((line) => line.startsWith('svc-keep-login')), 'ignored while it is off')
  assert.equal(await arrive(off.visitor), 200)
  for (const [days, seconds] of [
    ['7d', 604_800],
    ['30d', 2_592_000],
  ] as const) {
    const { visitor, lines } = await keep(days)
    for (const values of [{}, { keep_login: '0' }, { keep_login: '' }] as Record<string, string>[]) {
      const unasked = new TestVisitor(svc)
      await unasked.signIn('anna', 'anna', { auth_method: 'native' }, values)
      assert.equal(unasked.cookies.has('svc-keep-login'), false, 'only who asks for it')
      assert.equal(await arrive(unasked), 200)
    }
    const line = lines.find((one) => one.startsWith('svc-keep-login=')) ?? ''
    assert.match(line, new RegExp(`; Max-Age=${seconds}; Path=/; HttpOnly; SameSite=Lax$`))
    await svc.db.query(`update keep_login set expires_at = now() + interval '1 hour'`)
    const again = await visitor.authorize({ auth_method: 'native' })
    assert.equal(again.status, 302)
    const slid = [again.headers['set-cookie'] ?? []].flat().map(String)
    assert.ok(
      slid.some((one) => one.startsWith('svc-keep-login=') && one.includes(`Max-Age=${seconds}`)),
      'slides',
    )
    const { rows } = await svc.db.query<{ left: number }>(
      'select extract(epoch from max(expires_at) - now())::int as left from keep_login',
    )
    assert.ok(Math.abs((rows[0]?.left ?? 0) - seconds) < 60)
    const { body } = await visitor.redeem(again.location?.searchParams.get('code') ?? '')
    const cookie = `svc-browser-id=${visitor.cookies.get('svc-browser-id')}`
    assert.equal(await codeWith(body.access_token, cookie), 'ok')

    const kept = visitor.cookies.get('svc-keep-login') ?? ''
    const mine = visitor.cookies.get('svc-browser-id') ?? ''
    const withCookies = async (cookies: Record<string, string>) => {
      const browser = new TestVisitor(svc)
      for (const [name, value] of Object.entries(cookies)) browser.cookies.set(name, value)
      return arrive(browser)
    }
    assert.equal(await withCookies({ 'svc-keep-login': kept, 'svc-browser-id': mine }), 302)
    assert.equal(await withCookies({ 'museum-keep-login': kept, 'museum-browser-id': mine }), 302, 'decision 16')
    assert.equal(await withCookies({ 'svc-keep-login': kept }), 200, 'without the browser id')
    assert.equal(await withCookies({ 'svc-keep-login': kept, 'svc-browser-id': other }), 200, 'in another browser')
    assert.equal(await withCookies({ 'svc-keep-login': other, 'svc-browser-id': mine }), 200)

    const address = days === '7d' ? '/logout' : '/api/oauth2/logout'
    const out = await visitor.get(address)
    assert.equal(out.status, 200)
    assert.match(out.body, /<h1>Signed out<\/h1>/)
    const expired = [out.headers['set-cookie'] ?? []].flat().map(String)
    assert.ok(expired.some((one) => one.startsWith('svc-keep-login=;') && one.includes('Max-Age=0')))
    assert.equal(await withCookies({ 'svc-keep-login': kept, 'svc-browser-id': mine }), 200, 'revoked')
    assert.equal(await codeWith(body.access_token, cookie), 'InvalidToken', 'what is bound to the browser ends too')
  }
  for (const days of ['1d', '14d', '31d', 'on']) assert.equal((await set(days)).status, 400, days)
  const { visitor } = await keep('30d')
  await set('off')
  assert.equal(await arrive(visitor), 200, 'what was kept before does not count while it is off')
  await set('30d')
  assert.equal(await arrive(visitor), 302)
  const forged = new TestVisitor(svc)
  const asked = { ...forged.parameters(), login: 'anna', password: 'anna', keep_login: '1' }
  await forged.post('/api/oauth2/auth', asked, sites['another site'])
  assert.equal(forged.cookies.has('svc-keep-login'), false, 'no other site leaves an account in the browser')
})

test('a browser does not stay signed in for who may not sign in any more, or has a new password', async () => {
  await svc.as('root').post('/config/system/config/login/keep_login', '7d')
  const [user] = await createUsers(svc, { user: { login: 'leaver' } })
  const visitor = new TestVisitor(svc)
  await visitor.signIn('leaver', 'leaver', { auth_method: 'native' }, { keep_login: '1' })
  const arrive = async () => (await visitor.authorize({ auth_method: 'native' })).status
  assert.equal(await arrive(), 302)
  const change = (members: object) => svc.as('root').post('/user', [{ user: { _id: user.user._id, ...members } }])
  const stored = async () => (await svc.as('root').get(`/user/${user.user._id}`)).body[0].user._version
  assert.equal((await change({ _version: await stored(), login_disabled: true })).status, 200)
  assert.equal(await arrive(), 200)
  assert.equal((await change({ _version: await stored(), login_disabled: false })).status, 200)
  assert.equal(await arrive(), 200, 'it does not come back')
})

test('a link on another site signs nobody out: people are asked first', async () => {
  await svc.as('root').post('/config/system/config/login/keep_login', '7d')
  const visitor = new TestVisitor(svc)
  await visitor.signIn('anna', 'anna', { auth_method: 'native' }, { keep_login: '1' })
  const arrive = async () => (await visitor.authorize({ auth_method: 'native' })).status
  const asked = await visitor.get('/logout', {}, { 'sec-fetch-site': 'cross-site' })
  assert.match(asked.body, /Sign out\?/)
  assert.equal(await arrive(), 302)
  const forged = await visitor.post('/logout', {}, { 'sec-fetch-site': 'cross-site' })
  assert.match(forged.body, /Sign out\?/)
  assert.equal(await arrive(), 302)
  assert.match((await visitor.submit(asked, {})).body, /Signed out/)
  assert.equal(await arrive(), 200)
})

test('/logout answers programs with nothing, and ends no session that is bound to no browser', async () => {
  const { access } = await signIn('password', '', 'our page', ownCallback)
  for (const url of ['/logout', '/api/oauth2/logout']) {
    const answer = await svc.inject({ method: 'POST', url, headers: { authorization: `Bearer ${access}` } })
    assert.deepEqual([answer.statusCode, answer.body], [204, ''])
  }
  assert.equal(await codeWith(access, ''), 'ok')
})
