import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { insertEvents } from '../../src/events/store.ts'
import type { Json } from '../support/client.ts'
import { temporaryFolder } from '../support/process.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { TestVisitor } from './sign-in-browser.ts'
import { createGroups, createUsers, eventsOf, refresh, requestToken, signIn, statusWith } from './support.ts'

let svc: TestService
before(async () => {
  svc = await startService({ identifierAliases: ['museum'] })
})
after(() => svc[Symbol.asyncDispose]())

const root = () => svc.as('root')

async function tokenOf(login: string): Promise<string> {
  return (await signIn(svc, login, login)).body.access_token
}

async function codeWith(headers: Record<string, string>, url = '/api/v1/config'): Promise<string> {
  const response = await svc.inject({ method: 'GET', url, headers })
  return response.statusCode === 200 ? 'ok' : response.json().code
}

/** Changes one user as root. */
async function change(id: number, members: Json): Promise<void> {
  const [stored] = (await root().get(`/user/${id}`)).body
  const { user = {}, ...rest } = members
  const body = { _basetype: 'user', user: { _id: id, _version: stored.user._version, ...user }, ...rest }
  const answer = await root().post('/user', [body])
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}

test('AUTH-001 AUTH-002 AUTH-003 a token is taken from either header or the query', async () => {
  const token = await root().token()
  assert.equal(await codeWith({ authorization: `Bearer ${token}` }), 'ok')
  assert.equal(await codeWith({ authorization: `bearer ${token}` }), 'ok')
  assert.equal(await codeWith({ 'x-svc-authorization': `Bearer ${token}` }), 'ok')
  assert.equal(await codeWith({ 'x-museum-authorization': `Bearer ${token}` }), 'ok', 'decision 16')
  assert.equal(await codeWith({}, `/api/v1/config?access_token=${token}`), 'ok')
  let count = 0
  for (const { method, url, access } of svc.app.http.declaredRoutes) {
    if (access !== 'user' && access !== 'session') continue
    // Without a body nothing of these is carried out but deletions, of what does not exist.
    if (url.endsWith('/list') && method === 'DELETE') continue
    const path = url.replaceAll(/:\w+|\*/g, '999999')
    for (const [headers, query] of [
      [{ authorization: `Bearer ${token}` }, ''],
      [{ 'x-svc-authorization': `Bearer ${token}` }, ''],
      [{}, `?access_token=${token}`],
    ] as const) {
      // The console takes tokens for JSON alone.
      const accept = url.startsWith('/inspect') ? { accept: 'application/json' } : {}
      const request = { method: method as 'GET', url: path + query, headers: { ...headers, ...accept } }
      const { statusCode } = await svc.inject(request)
      assert.notEqual(statusCode, 401, `${method} ${url} ${JSON.stringify(Object.keys(headers))}`)
      count++
    }
  }
  assert.ok(count > 150, `${count}`)

  // Where callers without a user are served, too: one who must do something first shows that the token was read.
  await createUsers(svc, { user: { login: 'forced', require_password_change: true } })
  const forced = await tokenOf('forced')
  const open = svc.app.http.declaredRoutes.filter(({ access, method }) => access === 'optional' && method !== 'HEAD')
  assert.ok(open.length > 8, `${open.length}`)
  for (const { method, url } of open) {
    const path = url.replaceAll(/:\w+|\*/g, '999999')
    for (const [headers, query] of [
      [{ authorization: `Bearer ${forced}` }, ''],
      [{ 'x-svc-authorization': `Bearer ${forced}` }, ''],
      [{}, `?access_token=${forced}`],
    ] as const) {
      const answer = await svc.inject({ method: method as 'GET', url: path + query, headers })
      assert.equal(answer.json().code, 'PasswordChangedRequired', `${method} ${url} ${Object.keys(headers)}`)
    }
  }
})

test('of several carriers Authorization counts first, then X-Svc-Authorization, then the query (decision 13)', async () => {
  const good = `Bearer ${await root().token()}`
  const url = `/api/v1/config?access_token=${await root().token()}`
  assert.equal(await codeWith({ authorization: 'Bearer bad', 'x-svc-authorization': good }, url), 'InvalidToken')
  assert.equal(await codeWith({ authorization: good, 'x-svc-authorization': 'Bearer bad' }), 'ok')
  assert.equal(await codeWith({ 'x-svc-authorization': 'Bearer bad' }, url), 'InvalidToken')
  const proxy = { authorization: 'Basic cHJveHk6eA==' }
  assert.equal(await codeWith({ ...proxy, 'x-svc-authorization': good }), 'ok', 'the Basic of a proxy hides nothing')
})

test('no token is UserRequired, whatever else stands in its place', async () => {
  for (const headers of [{}, { authorization: 'Basic eDp5' }, { authorization: 'Bearer ' }] as Record<
    string,
    string
  >[]) {
    assert.equal(await codeWith(headers), 'UserRequired')
  }
})

test('AUTH-004 an unknown token, an expired one and a revoked one are rejected', async () => {
  await createUsers(svc, { user: { login: 'rejected' } })
  const [expired, revoked] = [await tokenOf('rejected'), await tokenOf('rejected')]
  assert.equal(await statusWith(svc, revoked), 200)
  const hash = createHash('sha256').update(expired).digest()
  const { rowCount } = await svc.db.query('update oauth_token set expires_at = now() where hash = $1', [hash])
  assert.equal(rowCount, 1)
  await requestToken(svc, { token: revoked }, {}, '/api/oauth2/revoke')
  for (const token of ['nonsense', expired, revoked]) {
    for (const request of [
      { url: '/api/v1/event/poll/0', headers: { authorization: `Bearer ${token}` } },
      { url: `/api/v1/event/poll/0?access_token=${token}` },
    ]) {
      const answer = await svc.inject({ method: 'GET', ...request })
      assert.deepEqual([answer.statusCode, answer.json().code], [401, 'InvalidToken'])
    }
  }
})

test('OAUTH-031 /user/session tells who signed in, and answers InvalidToken with 401 also without a token', async () => {
  const without = await svc.inject({ method: 'GET', url: '/api/v1/user/session' })
  assert.deepEqual([without.statusCode, without.json().code], [401, 'InvalidToken'])
  const headers = { authorization: 'Bearer unknown' }
  const unknown = await svc.inject({ method: 'GET', url: '/api/v1/user/session', headers })
  assert.deepEqual([unknown.statusCode, unknown.json().code], [401, 'InvalidToken'])
  await createUsers(svc, { user: { login: 'asking' } })
  const token = await tokenOf('asking')
  const { user, access_token, authenticated } = await sessionWith(svc, token)
  assert.deepEqual([user.user.login, access_token, authenticated.method], ['asking', token, 'native'])
})

test('LIM-001 access tokens last a day, or as long as is configured, whichever grant gives them', async () => {
  const path = '/config/system/config/oauth2/expirations/access_token'
  const lifetimes = async () => {
    const first = (await signIn(svc, 'root', 'root-test-password', { scope: 'offline' })).body
    const second = (await refresh(svc, first.refresh_token)).body
    const visitor = new TestVisitor(svc)
    const done = await visitor.signIn('root', 'root-test-password', { auth_method: 'native' })
    const byCode = (await visitor.redeem(done.location?.searchParams.get('code') ?? '')).body
    const guest = (await requestToken(svc, { grant_type: 'client_credentials', client_id: 'web-client' })).body
    const lastingFor = async (...all: Json[]) => {
      const tokens = all.map(({ access_token }) => createHash('sha256').update(access_token).digest())
      const { rows } = await svc.db.query<{ left: number }>(
        'select extract(epoch from expires_at - now())::int as left from oauth_token where hash = any($1)',
        [tokens],
      )
      assert.equal(rows.length, all.length)
      for (const { left } of rows) assert.ok(Math.abs(left - first.expires_in) < 60, `${left}`)
      return all.map(({ expires_in }) => expires_in)
    }
    const each = await lastingFor(first, second, byCode, guest)
    // It ends the one that it renews.
    const inBrowser = {
      cookie: `svc-browser-id=${visitor.cookies.get('svc-browser-id')}`,
      authorization: `Bearer ${byCode.access_token}`,
    }
    const renewed = (await requestToken(svc, {}, inBrowser, '/api/oauth2/refresh')).body
    return [...each, ...(await lastingFor(renewed))]
  }
  const guests = '/config/system/config/login/guest'
  assert.equal((await root().post(guests, true)).status, 200)
  const day = Array.from({ length: 5 }, () => 86_400)
  assert.deepEqual(await lifetimes(), day)
  assert.equal((await root().post(path, '2h30m')).status, 200)
  assert.deepEqual(await lifetimes(), [9000, 9000, 9000, 9000, 9000])
  await root().delete(path)
  assert.deepEqual(await lifetimes(), day)
  await root().delete(guests)
})

test('AUTH-006 the tokens of a user who may no longer sign in are rejected at once', async () => {
  const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10)
  const rejected = async (token: string) => {
    for (const url of ['/api/v1/config', '/api/v1/user/session']) {
      const answer = await svc.inject({ method: 'GET', url, headers: { authorization: `Bearer ${token}` } })
      assert.deepEqual([answer.statusCode, answer.json().code], [401, 'InvalidToken'], url)
    }
  }
  const cases: [reason: string, members: Json][] = [
    ['login_disabled', { user: { login_disabled: true } }],
    ['login_valid_from', { user: { login_valid_from: day(2) } }],
    ['login_valid_to', { user: { login_valid_to: day(-2) } }],
  ]
  for (const [reason, members] of cases) {
    const [user] = await createUsers(svc, { user: { login: reason } })
    const token = await tokenOf(reason)
    assert.equal(await statusWith(svc, token), 200)
    await change(user.user._id, members)
    await rejected(token)
    assert.equal((await signIn(svc, reason, reason)).body.error, 'invalid_grant')
    const logout = (await eventsOf(svc, 'USER_LOGOUT')).find(({ event }) => event.info.reason === reason)
    assert.deepEqual([logout.event.info.scope, logout.event.info.user_id], ['user', user.user._id])
  }
  const [user] = await createUsers(svc, { user: { login: 'archived' } })
  const token = await tokenOf('archived')
  assert.equal(await statusWith(svc, token), 200)
  const archived = await root().delete(`/user/${user.user._id}`, undefined, { delete_policy: 'archive' })
  assert.equal(archived.status, 200, JSON.stringify(archived.body))
  await rejected(token)
})

test('a validity window that includes today lets in', async () => {
  const today = new Date().toISOString().slice(0, 10)
  await createUsers(svc, { user: { login: 'window', login_valid_from: today, login_valid_to: today } })
  assert.equal(await statusWith(svc, await tokenOf('window')), 200)
})

test('AUTH-008 after InvalidToken only a new sign-in helps, neither sending again nor a refresh', async () => {
  const [user] = await createUsers(svc, { user: { login: 'ended' } })
  const tokens = (await signIn(svc, 'ended', 'ended', { scope: 'offline' })).body
  await change(user.user._id, { user: { login_disabled: true } })
  const authorization = `Bearer ${tokens.access_token}`
  assert.equal(await codeWith({ authorization }), 'InvalidToken')
  await change(user.user._id, { user: { login_disabled: false } })
  for (let attempt = 0; attempt < 2; attempt++) assert.equal(await codeWith({ authorization }), 'InvalidToken')
  const refreshed = await refresh(svc, tokens.refresh_token)
  assert.deepEqual([refreshed.status, refreshed.body.error], [400, 'invalid_grant'])
  for (const form of [{ refresh_token: tokens.refresh_token }, {}] as Record<string, string>[]) {
    const { status, body } = await requestToken(svc, form, { authorization }, '/api/oauth2/refresh')
    assert.deepEqual([status, body.code], [401, 'InvalidToken'])
  }
  assert.equal(await statusWith(svc, (await signIn(svc, 'ended', 'ended')).body.access_token), 200)
})

test('a window that ends while a session is cached ends the session', async () => {
  const [user] = await createUsers(svc, { user: { login: 'cached' } })
  const token = await tokenOf('cached')
  assert.equal(await statusWith(svc, token), 200)
  await svc.db.query(`update "user" set login_valid_to = '2020-01-01' where id = $1`, [user.user._id])
  assert.equal(await statusWith(svc, token), 200, 'nobody told us: for some seconds the old state holds')
  await change(user.user._id, { user: { phone: '1' } })
  assert.equal(await statusWith(svc, token), 401)
})

test('changes are known to other processes at once, not after the time of their cache', async () => {
  await using other = await attachService(svc.dsn)
  const [user] = await createUsers(svc, { user: { login: 'roamer' } })
  const token = await tokenOf('roamer')
  assert.equal(await statusWith(other, token), 200)
  await requestToken(svc, { token }, {}, '/api/oauth2/revoke')
  assert.equal(await eventually(() => statusWith(other, token), 401), 401)
  const again = await tokenOf('roamer')
  assert.deepEqual((await sessionWith(other, again)).system_rights, {})
  await change(user.user._id, { _system_rights: { 'system.message': {} } })
  const rights = await eventually(
    async () => Object.keys((await sessionWith(other, again)).system_rights).join(),
    'system.message',
  )
  assert.equal(rights, 'system.message')
})

/** Notifications between processes are asynchronous: asks until the answer is there, for a second at most. */
async function eventually<T>(ask: () => Promise<T>, wanted: T): Promise<T> {
  let answer = await ask()
  for (let round = 0; round < 100 && answer !== wanted; round++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    answer = await ask()
  }
  return answer
}

async function sessionWith(target: TestService, token: string, headers: Record<string, string> = {}): Promise<Json> {
  const response = await target.inject({
    method: 'GET',
    url: '/api/v1/user/session',
    headers: { authorization: `Bearer ${token}`, ...headers },
  })
  assert.equal(response.statusCode, 200, response.body)
  return response.json()
}

test('system rights of user and groups are merged: lists united, flags or-ed', async () => {
  const groups = await createGroups(
    svc,
    {
      group: { name: 'm1' },
      _system_rights: { 'system.datamodel': { level: ['development'] }, 'system.user': { create: false } },
    },
    {
      group: { name: 'm2' },
      _system_rights: { 'system.datamodel': { level: ['commit'] }, 'system.user': { create: true } },
    },
  )
  await createUsers(svc, {
    user: { login: 'merged' },
    _groups: groups.map(({ group }) => ({ group: { _id: group._id } })),
    _system_rights: { 'system.config': {} },
  })
  const { system_rights: rights } = await sessionWith(svc, await tokenOf('merged'))
  assert.deepEqual(rights['system.datamodel'].level.sort(), ['commit', 'development'])
  assert.deepEqual(rights['system.user'], { create: true })
  assert.deepEqual(rights['system.config'], {})
  assert.deepEqual((await sessionWith(svc, await root().token())).system_rights, { 'system.root': {} })
})

test('a group that is changed or deleted changes the rights of its members at once', async () => {
  const [group] = await createGroups(svc, { group: { name: 'changing' } })
  await createUsers(svc, { user: { login: 'member' }, _groups: [{ group: { _id: group.group._id } }] })
  const token = await tokenOf('member')
  assert.deepEqual((await sessionWith(svc, token)).system_rights, {})
  const body = [{ group: { _id: group.group._id, _version: 1 }, _system_rights: { 'system.message': {} } }]
  assert.equal((await root().post('/group', body)).status, 200)
  assert.deepEqual((await sessionWith(svc, token)).system_rights, { 'system.message': {} })
  await root().delete(`/group/${group.group._id}`)
  assert.deepEqual((await sessionWith(svc, token)).system_rights, {})
})

test('a group with an IP filter counts in its networks only', async () => {
  const groups = await createGroups(
    svc,
    { group: { name: 'inside' }, _ip_subnet_filter: ['10.0.0.0/8', '2001:db8::/32'] },
    { group: { name: 'outside' }, _ip_subnet_filter: ['10.0.0.0/8', '2001:db8::/32'], _ip_subnet_filter_exclude: true },
  )
  const ids = groups.map(({ group }) => group._id)
  await createUsers(svc, { user: { login: 'mobile' }, _groups: ids.map((_id) => ({ group: { _id } })) })
  const token = await tokenOf('mobile')
  const from = async (address: string) => {
    const { groups: counted } = await sessionWith(svc, token, { 'x-forwarded-for': address })
    return counted.map(({ group }: Json) => group.name).filter((name: string) => /side/.test(name))
  }
  assert.deepEqual(await from('10.1.2.3'), ['inside'])
  assert.deepEqual(await from('2001:db8::1'), ['inside'])
  assert.deepEqual(await from('192.0.2.1'), ['outside'])
})

test('the session names user, groups, rights, languages and how the user signed in', async () => {
  await createUsers(svc, { user: { login: 'whole', frontend_language: 'de-DE', database_languages: ['de-DE'] } })
  const token = await tokenOf('whole')
  const session = await sessionWith(svc, token)
  assert.equal(session.access_token, token)
  assert.equal(session.user.user.login, 'whole')
  assert.deepEqual(
    session.groups.map(({ group }: Json) => group.reference),
    [':all', ':authenticated', ':native'],
  )
  assert.equal(session.frontend_language, 'de-DE')
  assert.equal(session.frontend_locale.numbers.decimal, ',')
  assert.equal(session.frontend_locale.calendar.date, 'dd.MM.y')
  assert.deepEqual(
    session.database_locales.map(({ name }: Json) => name),
    ['en-US', 'de-DE'],
  )
  assert.equal(session.authenticated.method, 'native')
  assert.equal(session.authenticated.client_id, 'web-client')
  assert.ok(session.current_max_event_id > 0)
  assert.ok(session.config.system.config.languages)
  assert.equal('_password' in session.user || '_password_hash' in session.user, false)
})

test('a poll from the event that the session names misses nothing, not even what is committed later', async () => {
  const root = svc.as('root')
  const sessionEvent = async (): Promise<number> => (await root.get('/user/session')).body.current_max_event_id
  const polled = async (from: number): Promise<number[]> =>
    (await root.get(`/event/poll/${from}`, { limit: 1000 })).body.map(({ event }: Json) => event._id)
  const row = { type: 'GROUP_UPDATE', pollable: true, at: new Date().toISOString() }
  const { promise: committed, resolve: commit } = Promise.withResolvers<void>()
  const written = Promise.withResolvers<number>()
  const late = svc.db.transaction(async (tx) => {
    const [id = 0] = await insertEvents(tx, [row])
    written.resolve(id)
    await committed
  })
  const lateId = await written.promise
  const [earlierId = 0] = await insertEvents(svc.db, [row])
  assert.ok(earlierId > lateId)
  const from = await sessionEvent()
  commit()
  await late
  assert.deepEqual((await polled(from)).slice(0, 2), [lateId, earlierId])
  assert.ok((await sessionEvent()) >= earlierId)
})

async function changePassword(token: string, form: Record<string, string>): Promise<Json> {
  return requestToken(svc, form, { authorization: `Bearer ${token}` }, '/api/v1/user/change_password')
}

test('changing the own password needs the right and the old password, and ends all sessions', async () => {
  await createUsers(
    svc,
    { user: { login: 'changer' }, _system_rights: { 'system.user.change_password': {} } },
    { user: { login: 'unchanging' } },
  )
  const denied = await changePassword(await tokenOf('unchanging'), { password: 'unchanging', new_password: 'next' })
  assert.deepEqual([denied.status, denied.body.parameters.right], [403, 'system.user.change_password'])
  const [first, second] = [await tokenOf('changer'), await tokenOf('changer')]
  const wrong = await changePassword(first, { password: 'wrong', new_password: 'next' })
  assert.deepEqual([wrong.status, wrong.body.code], [400, 'WrongPassword'])
  for (const form of [
    { password: 'changer' },
    { password: 'changer', new_password: 'changer' },
    { password: 'changer', new_password: '' },
  ]) {
    assert.equal((await changePassword(first, form as Record<string, string>)).status, 400)
  }
  const answer = await changePassword(first, { password: 'changer', new_password: 'next' })
  assert.deepEqual([answer.status, answer.body], [200, { status: 'ok' }])
  assert.deepEqual([await statusWith(svc, first), await statusWith(svc, second)], [401, 401])
  assert.equal((await signIn(svc, 'changer', 'changer')).status, 400)
  assert.equal((await signIn(svc, 'changer', 'next')).status, 200)
})

test('who must set a new password can do nothing else before', async () => {
  await createUsers(svc, { user: { login: 'fresh', require_password_change: true } })
  const token = await tokenOf('fresh')
  assert.equal(await codeWith({ authorization: `Bearer ${token}` }), 'PasswordChangedRequired')
  assert.equal((await sessionWith(svc, token)).user.user.require_password_change, true)
  assert.equal((await changePassword(token, { password: 'fresh', new_password: 'next' })).status, 200)
  assert.equal(
    await codeWith({ authorization: `Bearer ${(await signIn(svc, 'fresh', 'next')).body.access_token}` }),
    'ok',
  )
})

test('new passwords meet the configured rules; who manages users may confirm an exception', async () => {
  const rules = { check: [{ regexp: '.{8}' }, { regexp: '[0-9]' }], hint: { 'en-US': 'Eight characters, one digit.' } }
  await root().post('/config/system/config/password', rules)
  const body = [{ user: { login: 'weak' }, _password: 'weak' }]
  const asked = await root().post('/user', body)
  assert.equal(asked.status, 202)
  assert.equal(asked.body.tasks[0].message, 'Eight characters, one digit.')
  const { name, value } = asked.body.tasks[0].buttons[0]
  assert.equal((await root().post('/user', body, { [name]: value })).status, 200)
  const [strong] = await createUsers(svc, {
    user: { login: 'strong-1-password' },
    _system_rights: { 'system.user.change_password': {} },
  })
  assert.ok(strong)
  const token = await tokenOf('strong-1-password')
  const refused = await changePassword(token, { password: 'strong-1-password', new_password: 'short1' })
  assert.deepEqual([refused.status, refused.body.error], [400, 'Eight characters, one digit.'])
  await root().delete('/config/system/config/password')
})

test('a configured root password that differs replaces the stored one and ends the sessions of root', async () => {
  await using folder = await temporaryFolder()
  const options = { rootPassword: null, dataDir: folder.path }
  await using first = await startService(options)
  const password = first.app.newRootPassword ?? ''
  assert.match(password, /^[a-z2-9]{20}$/)
  const kept = join(folder.path, 'root-password')
  assert.equal((await stat(kept)).mode & 0o777, 0o600)
  await using elsewhere = await attachService(first.dsn, { rootPassword: null, dataDir: join(folder.path, 'other') })
  assert.equal(elsewhere.app.newRootPassword, null, 'only the folder in which it was made keeps it')
  await using again = await attachService(first.dsn, options)
  assert.equal(again.app.newRootPassword, password, 'shown until somebody has signed in with it')
  const token = await first.as('root', password).token()
  await assert.rejects(stat(kept))
  await using second = await attachService(first.dsn, options)
  assert.equal(second.app.newRootPassword, null)
  await using third = await attachService(first.dsn, { rootPassword: 'configured' })
  assert.equal(third.app.newRootPassword, null)
  assert.equal(await statusWith(third, token), 401)
  assert.equal((await signIn(third, 'root', 'configured')).status, 200)
})

test('in read-only mode users still sign in and out, and nothing is written', async () => {
  await using readOnly = await attachService(svc.dsn, { readOnly: true })
  const answer = await signIn(readOnly, 'root', 'root-test-password')
  assert.equal(answer.status, 200)
  const refused = await readOnly.as('root').post('/user', [{ user: { login: 'x' } }])
  assert.equal(refused.body.code, 'ReadOnlyMode')
  assert.equal((await readOnly.as('root').post('/config', {})).body.code, 'ReadOnlyMode')
  const revoked = await requestToken(readOnly, { token: answer.body.access_token }, {}, '/api/oauth2/revoke')
  assert.equal(revoked.status, 200)
})
