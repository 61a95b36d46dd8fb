import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { TestVisitor } from '../signin/sign-in-browser.ts'
import { startService, type TestService } from '../support/service.ts'
import { consoleCookie, consoleOf, formFor } from './support.ts'

const html = { accept: 'text/html' }
const json = { accept: 'application/json' }

suite('who gets into the console', () => {
  let svc: TestService
  before(async () => {
    svc = await startService()
    const made = await svc.as('root').post('/user', [
      { user: { login: 'keeper' }, _password: 'keeper', _system_rights: { 'system.root': {} } },
      { user: { login: 'reader' }, _password: 'reader', _system_rights: { 'system.user': {} } },
    ])
    assert.equal(made.status, 200, JSON.stringify(made.body))
  })
  after(() => svc[Symbol.asyncDispose]())

  /** Goes the way of a browser: to the sign-in page and back. Answers the page that leads on. */
  async function signIn(visitor: TestVisitor, login: string, password: string, path = '/inspect/users/?limit=3') {
    const first = await visitor.get(path)
    assert.equal(first.status, 302, first.body)
    assert.equal(first.location?.pathname, '/api/oauth2/auth')
    const page = await visitor.get(
      first.location?.pathname ?? '',
      Object.fromEntries(first.location?.searchParams ?? []),
    )
    assert.equal(page.status, 200)
    const passed = await visitor.submit(page, { login, password })
    assert.equal(passed.location?.pathname, '/inspect/login/')
    return visitor.get(passed.location?.pathname ?? '', Object.fromEntries(passed.location?.searchParams ?? []))
  }

  test('INSP-003 on the public port a session of the browser and system.root are asked at each request; a token is none', async () => {
    const visitor = new TestVisitor(svc)
    const back = await signIn(visitor, 'keeper', 'keeper')
    assert.equal(back.status, 200)
    assert.match(back.body, /<meta http-equiv="refresh" content="0;url&#61;|content="0;url=\/inspect\/users\//)
    const set = [back.headers['set-cookie'] ?? []]
      .flat()
      .map(String)
      .find((line) => line.startsWith('svc-inspect='))
    assert.match(set ?? '', /; Max-Age=28800; Path=\/inspect; HttpOnly; SameSite=Strict/)
    assert.equal((await visitor.get('/inspect/users/')).status, 200)
    // The right goes, and with it the console, whatever the session.
    const keeper = (await svc.as('root').get('/user', { limit: 100 })).body.find(
      ({ user }: { user: { login: string } }) => user.login === 'keeper',
    )
    const change = { _id: keeper.user._id, _version: keeper.user._version, login: 'keeper' }
    const without = await svc.as('root').post('/user', [{ user: change, _system_rights: {} }])
    assert.equal(without.status, 200, JSON.stringify(without.body))
    const refused = await visitor.get('/inspect/users/')
    assert.equal(refused.status, 403)
    assert.match(refused.body, /SystemRightRequired/)
    const again = { ...change, _version: without.body[0].user._version }
    const given = await svc.as('root').post('/user', [{ user: again, _system_rights: { 'system.root': {} } }])
    assert.equal(given.status, 200, JSON.stringify(given.body))
    assert.equal((await visitor.get('/inspect/users/')).status, 200)
    // A token of root opens no page.
    const authorization = `Bearer ${await svc.as('root').token()}`
    const page = await svc.inject({ method: 'GET', url: '/inspect/users/', headers: { ...html, authorization } })
    assert.deepEqual(
      [page.statusCode, new URL(String(page.headers.location), 'http://x').pathname],
      [302, '/api/oauth2/auth'],
    )
    const named = await svc.inject({
      method: 'GET',
      url: `/inspect/users/?access_token=${await svc.as('root').token()}`,
      headers: html,
    })
    assert.equal(named.statusCode, 302)
    for (const cookie of ['svc-inspect=', `svc-inspect=${await svc.as('root').token()}`, 'svc-inspect=x'.repeat(9)]) {
      assert.equal((await consoleOf(svc, cookie).html('/users/')).statusCode, 302, 'no session of the console')
      assert.equal((await consoleOf(svc, cookie).get('/users/', json)).statusCode, 401)
    }
  })

  test('VER-001 the console stands under /inspect, what clients use under /api/v1 and /api/oauth2', async () => {
    const outside = new Set<string>()
    for (const { url } of svc.app.http.declaredRoutes) {
      if (url.startsWith('/api/v1/')) continue
      outside.add(
        url
          .split('/')
          .slice(0, url.startsWith('/api/') ? 3 : 2)
          .join('/'),
      )
    }
    assert.ok(outside.has('/inspect') && outside.has('/api/oauth2'))
    assert.ok(![...outside].some((place) => place.startsWith('/api/inspect')))
    const versioned = svc.app.http.declaredRoutes.filter(({ url }) => url.startsWith('/api/v1/'))
    assert.ok(versioned.length > svc.app.http.declaredRoutes.length / 2, 'most of them')
    assert.ok(!versioned.some(({ url }) => /oauth2|inspect/.test(url)))
  })

  test('programs read the JSON form with a token of somebody with system.root', async () => {
    const ask = async (login: string | null, headers: Record<string, string> = json) =>
      svc.inject({
        method: 'GET',
        url: '/inspect/users/',
        headers: { ...headers, ...(login === null ? {} : { authorization: `Bearer ${await svc.as(login).token()}` }) },
      })
    assert.deepEqual([(await ask('root')).statusCode, (await ask('keeper')).statusCode], [200, 200])
    assert.deepEqual(
      [(await ask('reader')).statusCode, (await ask('reader')).json().code],
      [403, 'SystemRightRequired'],
    )
    assert.deepEqual([(await ask(null)).statusCode, (await ask(null)).json().code], [401, 'UserRequired'])
    const wrong = await svc.inject({
      method: 'GET',
      url: '/inspect/users/',
      headers: { ...json, authorization: 'Bearer nothing' },
    })
    assert.equal(wrong.json().code, 'InvalidToken')
  })

  test('somebody without system.root signs in for nothing, and may try again as somebody else', async () => {
    const visitor = new TestVisitor(svc)
    const back = await signIn(visitor, 'reader', 'reader')
    assert.equal(back.status, 403)
    assert.equal(visitor.cookies.has('svc-inspect'), false)
    const { rows } =
      await svc.db.query(`select from oauth_session where client_id = 'svc-inspect' and revoked_at is null
      and user_id = (select id from "user" where login = 'reader')`)
    assert.equal(rows.length, 0)
    assert.equal((await signIn(visitor, 'keeper', 'keeper')).status, 200)
  })

  test('a sign-in belongs to the browser that began it, and leads into the console only', async () => {
    const [one, other] = [new TestVisitor(svc), new TestVisitor(svc)]
    const begun = await one.get('/inspect/')
    const page = await one.get('/api/oauth2/auth', Object.fromEntries(begun.location?.searchParams ?? []))
    const passed = await one.submit(page, { login: 'keeper', password: 'keeper' })
    const query = Object.fromEntries(passed.location?.searchParams ?? [])
    await other.get('/inspect/')
    const stolen = await other.get('/inspect/login/', query)
    assert.deepEqual([stolen.status, other.cookies.has('svc-inspect')], [400, false])
    assert.equal((await one.get('/inspect/login/', { ...query, code: 'x' })).status, 400)
    assert.equal((await one.get('/inspect/login/', {})).status, 400)
    for (const path of ['/inspect/..%2f..%2fapi/page/security', '/inspect//evil.example/', '/inspect/%5Cevil']) {
      const visitor = new TestVisitor(svc)
      const led = await signIn(visitor, 'keeper', 'keeper', path)
      const [, to = ''] = /url=([^"]*)"/.exec(led.body) ?? []
      const target = new URL(to, 'http://localhost:8080/')
      assert.deepEqual([target.origin, target.pathname.startsWith('/inspect/')], ['http://localhost:8080', true], path)
    }
  })

  test('a link of another site leads over a page of our own, from which the browser sends its cookie', async () => {
    const answer = await svc.inject({
      method: 'GET',
      url: '/inspect/users/?limit=2',
      headers: { ...html, 'sec-fetch-site': 'cross-site' },
    })
    assert.equal(answer.statusCode, 200)
    assert.match(answer.body, /url=\/inspect\/users\/\?limit/)
    assert.doesNotMatch(answer.body, /keeper/)
  })

  test('signing out ends the session', async () => {
    const visitor = new TestVisitor(svc)
    await signIn(visitor, 'keeper', 'keeper')
    const token = visitor.cookies.get('svc-inspect')
    assert.equal((await visitor.get('/inspect/')).status, 200)
    const out = await visitor.post('/inspect/logout/', {})
    assert.deepEqual([out.status, visitor.cookies.has('svc-inspect')], [303, false])
    assert.equal(
      (await consoleOf(svc, `svc-inspect=${token}; svc-browser-id=${visitor.cookies.get('svc-browser-id')}`).html('/'))
        .statusCode,
      302,
    )
  })

  test('actions need a token of the page, of this session, for this action', async () => {
    const [root, keeper] = [
      consoleOf(svc, await consoleCookie(svc)),
      consoleOf(svc, await consoleCookie(svc, 'keeper', 'keeper')),
    ]
    const form = formFor((await root.html('/system/janitor/')).body, 'run')
    const foreign = formFor((await keeper.html('/system/janitor/')).body, 'run')
    const other = formFor((await root.html('/recalcterms/')).body, 'renew')
    const old = `1000000000.${form.csrf?.split('.')[1]}`
    for (const csrf of ['', 'x', foreign.csrf ?? '', other.csrf ?? '', old, form.csrf?.replace(/.$/, '~') ?? '']) {
      const answer = await root.post('/system/janitor/', { action: 'run', csrf })
      assert.deepEqual([answer.statusCode, /PageExpired/.test(answer.body)], [400, true], csrf)
    }
    assert.equal((await root.post('/system/janitor/', form)).statusCode, 303)
    for (const action of ['', 'nothing', 'constructor', '__proto__', 'toString'])
      assert.equal((await root.post('/system/janitor/', { ...form, action })).statusCode, 400, action)
    assert.equal((await consoleOf(svc, null).post('/system/janitor/', form)).statusCode, 401)
    const authorization = `Bearer ${await svc.as('root').token()}`
    const program = await consoleOf(svc, null).post('/system/janitor/', form, { ...json, authorization })
    assert.deepEqual([program.statusCode, program.json().code], [403, 'InsufficientRights'])
  })

  test('sessions of others are ended from the page of tokens', async () => {
    const root = consoleOf(svc, await consoleCookie(svc))
    const token = await svc.as('reader').token()
    const page = await root.html('/tokens/?user=reader')
    assert.ok(!page.body.includes(token))
    const fields = formFor(page.body, 'end')
    const { Sessions } = (await root.json('/tokens/?user=reader')) as { Sessions: { id: string; user: string }[] }
    assert.ok(Sessions.every(({ user }) => user === 'reader') && Sessions.some(({ id }) => id === fields.id))
    for (const { id } of Sessions) assert.equal((await root.post('/tokens/', { ...fields, id })).statusCode, 303)
    assert.equal((await svc.as('reader').get('/user/session')).body.code, 'InvalidToken')
    assert.equal((await root.post('/tokens/', { ...fields, id: "' or true --" })).statusCode, 404)
  })

  test('addresses and numbers of any kind are refused clearly', async () => {
    const root = consoleOf(svc, await consoleCookie(svc))
    const refused = async (path: string, status: number): Promise<void> => {
      for (const accept of [json, html]) {
        const answer = await root.get(path, accept)
        assert.equal(answer.statusCode, status, `${path}: ${answer.body.slice(0, 200)}`)
        assert.doesNotMatch(answer.body, /<script>alert/)
      }
    }
    for (const id of [
      '0',
      '-1',
      '1e3',
      '9007199254740993',
      '99999999999999999999',
      'NaN',
      '1.5',
      '%00',
      'constructor',
      '%2e%2e%2f',
      'a%2fb',
    ]) {
      for (const page of ['objects', 'pools', 'files']) await refused(`/${page}/${id}/`, 404)
    }
    for (const path of [
      '/nothing/',
      '/objects/1/2/',
      '/objects//',
      '//',
      '/%3Cscript%3Ealert(1)/',
      `/${'a'.repeat(500)}/`,
    ])
      await refused(path, 404)
    for (const query of [
      'offset=-1',
      'offset=x',
      'offset=1e9',
      'offset=99999999999',
      'limit=0',
      'limit=501',
      'limit=',
      'order=name',
      'trash=x',
      'index=x',
      'objecttype=nothing',
      'pool=x',
      'limit=1&limit=2',
      'unknown=1',
      'accept=text/plain',
    ]) {
      if (query !== 'limit=') await refused(`/objects/?${query}`, 400)
    }
    await refused(`/users/?search=${'x'.repeat(501)}`, 400)
    await refused('/users/?search=%00', 400)
    await refused('/users/?objecttype=a', 400)
    await refused('/sqlquery/?query=select%201', 404)
    await refused('/events/?group=%27%3B--', 400)
  })

  test('in read-only mode the pages are there, and nothing is done', async () => {
    await using quiet = await startService({ readOnly: true })
    const root = consoleOf(quiet, await consoleCookie(quiet))
    const page = await root.html('/system/janitor/')
    const answer = await root.post('/system/janitor/', formFor(page.body, 'run'))
    assert.deepEqual([answer.statusCode, /ReadOnlyMode/.test(answer.body)], [400, true])
  })
})
