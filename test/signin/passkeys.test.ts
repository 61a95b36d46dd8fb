import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { clientCodeOf, codesIn, enrol, follow, pathOf } from './authenticator.ts'
import { type BrowserAnswer, TestVisitor } from './sign-in-browser.ts'
import { askedIn, type Forged, SoftPasskey } from './soft-passkey.ts'
import { createGroups, createUsers, eventsOf } from './support.ts'

const people = ['ada', 'ben', 'cem', 'dora', 'eva', 'finn', 'gil', 'hana', 'ivo', 'jan', 'kim', 'lea', 'mia'] as const

let svc: TestService
let careful: Json
before(async () => {
  svc = await startService()
  const [group] = await createGroups(svc, { group: { name: 'careful' }, _two_fa_required: true })
  careful = [{ group: { _id: group.group._id } }]
  await createUsers(svc, ...people.map((login) => ({ user: { login }, _groups: careful })), {
    user: { login: 'plain' },
  })
})
after(() => svc[Symbol.asyncDispose]())

const root = () => svc.as('root')
async function configure(two_factor: object): Promise<void> {
  const all = { enabled: true, methods: ['passkey', 'totp'], allow_password_grant: false, ...two_factor }
  const answer = await root().post('/config/system/config/two_factor', all)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}
async function recordOf(login: string): Promise<Json> {
  const { body } = await root().get('/user')
  return body.find(({ user }: Json) => user.login === login)
}

/** Signs in with the password; the page that comes then. */
async function toPageOf(login: string): Promise<[TestVisitor, BrowserAnswer]> {
  const visitor = new TestVisitor(svc)
  const toPage = await visitor.signIn(login, login)
  return [visitor, await follow(visitor, toPage)]
}

interface Owner {
  passkey: SoftPasskey
  recoveryCodes: string[]
  headers: Record<string, string>
}

/** Sets a passkey up at the first sign-in, and comes to the end. */
async function setUp(login: string, name = 'my key'): Promise<Owner> {
  const [visitor, first] = await toPageOf(login)
  const page = await visitor.get(linkTo(first, 'twoFactorSetupPasskey'))
  const passkey = new SoftPasskey()
  const shown = await visitor.submit(page, { passkey: passkey.create(askedIn(page)), name })
  assert.equal(shown.status, 200, shown.body.slice(0, 500))
  const done = await follow(visitor, await visitor.submit(shown, {}))
  const { body } = await visitor.redeem(clientCodeOf(done) ?? '')
  const cookie = [...visitor.cookies].map(([key, value]) => `${key}=${value}`).join('; ')
  const headers = { authorization: `Bearer ${body.access_token}`, cookie }
  return { passkey, recoveryCodes: codesIn(shown), headers }
}

function linkTo({ body }: BrowserAnswer, page: string): string {
  const text = body.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
  return new RegExp(`href="([^"]*/api/page/${page}[^"]*)"`).exec(text)?.[1] ?? `no link to ${page}`
}

/** The page behind the button of the sign-in page. */
async function toPasskeyPage(): Promise<[TestVisitor, BrowserAnswer]> {
  const visitor = new TestVisitor(svc)
  const toPage = await visitor.authorize({ auth_method: 'passkey' })
  assert.deepEqual([toPage.status, toPage.location?.pathname], [303, '/api/page/passkey'])
  return [visitor, await follow(visitor, toPage)]
}

test('OAUTH-008 who must set up a second factor is led to the page for an app, or for a passkey where only those are on', async () => {
  const led = async () => {
    const { status, location } = await new TestVisitor(svc).authorize({ login: 'ada', password: 'ada' })
    assert.equal(status, 303)
    return location?.pathname
  }
  await configure({ methods: ['totp'] })
  assert.equal(await led(), '/api/page/twoFactorSetup')
  await configure({ methods: ['passkey'] })
  const visitor = new TestVisitor(svc)
  const toPage = await visitor.authorize({ login: 'ada', password: 'ada' })
  assert.deepEqual([toPage.status, toPage.location?.pathname], [303, '/api/page/twoFactorSetupPasskey'])
  const page = await follow(visitor, toPage)
  assert.ok(!page.body.includes('/api/page/twoFactorSetup?'), 'nothing leads to what is off')
  await configure({})
  assert.equal(await led(), '/api/page/twoFactorSetup')
})

test('a passkey is set up at the next sign-in, asked for from then on, and signs in by itself', async () => {
  const { passkey, recoveryCodes } = await setUp('ada')
  assert.equal(new Set(recoveryCodes).size, 10)
  const stored = await recordOf('ada')
  assert.deepEqual(
    [stored._two_factor_passkey_enrolled, stored._two_factor_totp_enrolled, stored._two_factor_last_method],
    [true, false, 'passkey'],
  )
  const [visitor, page] = await toPageOf('ada')
  const asked = askedIn(page)
  assert.deepEqual([asked.act, asked.rpId, asked.allowed], ['get', 'localhost', [passkey.id.toString('base64url')]])
  // The device need not know whose hand it is: the password has told.
  const answer = passkey.get(asked, { userVerified: false, userHandle: undefined, crossOrigin: undefined })
  const done = await follow(visitor, await visitor.submit(page, { passkey: answer }))
  assert.equal((await visitor.redeem(clientCodeOf(done) ?? '')).status, 200)

  const [alone, passkeyPage] = await toPasskeyPage()
  assert.deepEqual(askedIn(passkeyPage).allowed, [], 'the page knows nobody')
  const signedIn = await follow(alone, await alone.submit(passkeyPage, { passkey: passkey.get(askedIn(passkeyPage)) }))
  const tokens = await alone.redeem(clientCodeOf(signedIn) ?? '')
  assert.equal(tokens.status, 200)
  const logins = (await eventsOf(svc, 'USER_LOGIN')).filter(({ event }) => event.info.login === 'ada')
  assert.deepEqual(
    logins.map(({ event }) => [event.info.method, event.info.two_factor]),
    [
      ['native', 'passkey'],
      ['native', 'passkey'],
      ['passkey', 'passkey'],
    ],
  )
})

test('an answer that is wrong in any way is no proof, and none is taken twice', async () => {
  const { passkey } = await setUp('ben')
  const other = await setUp('cem')
  const lies: Record<string, Forged> = {
    'another origin': { origin: 'https://evil.example.org' },
    'another port': { origin: 'http://localhost:8081' },
    'a frame of another site': { crossOrigin: true },
    'a page around it': { topOrigin: 'https://evil.example.org' },
    'both of them': { crossOrigin: true, topOrigin: 'http://localhost:8080' },
    'another service': { rpId: 'evil.example.org' },
    'the answer of a set-up': { type: 'webauthn.create' },
    'a challenge of one’s own': { challenge: Buffer.alloc(32).toString('base64url') },
    'nobody at the device': { userPresent: false },
    'a device that did not ask whose hand it is': { userVerified: false },
    'a count that goes back': { count: 1 },
    'another user': { userHandle: other.passkey.userHandle },
    'no user': { userHandle: undefined },
    'a key that nobody has': { id: Buffer.from('nobody') },
    'the name of another key': { id: other.passkey.id, userHandle: other.passkey.userHandle },
  }
  passkey.count = 5
  for (const [what, forged] of Object.entries(lies)) {
    const [visitor, page] = await toPasskeyPage()
    const answer = await visitor.submit(page, { passkey: passkey.get(askedIn(page), forged) })
    assert.deepEqual([answer.status, answer.body.includes('role="alert" id="problem"')], [200, true], what)
  }
  for (const hostile of [
    '{}',
    '[]',
    'null',
    'x',
    `{"id":"${'A'.repeat(30_000)}"}`,
    JSON.stringify({ id: 'x', rawId: 'x', type: 'public-key', response: { clientDataJSON: '' } }),
  ]) {
    const [visitor, page] = await toPasskeyPage()
    assert.equal((await visitor.submit(page, { passkey: hostile })).status, 200, hostile.slice(0, 50))
  }
  // The right answer, to the challenge of another browser, of another page, and then twice at once.
  const [first, firstPage] = await toPasskeyPage()
  const [second, secondPage] = await toPasskeyPage()
  const foreign = await second.submit(secondPage, { passkey: passkey.get(askedIn(firstPage)) })
  assert.equal(foreign.status, 200)
  const [withPassword, factorPage] = await toPageOf('ben')
  assert.equal((await withPassword.submit(factorPage, { passkey: passkey.get(askedIn(firstPage)) })).status, 200)
  const right = passkey.get(askedIn(firstPage))
  const both = await Promise.all([1, 2].map(() => first.submit(firstPage, { passkey: right })))
  assert.equal(both.filter(({ location }) => location?.pathname === '/api/oauth2/auth').length, 1)
  assert.equal(both.filter(({ status }) => status === 200 || status === 400).length, 1)
  await svc.db.query('update passkey_challenge set expires_at = now()')
  const late = await second.submit(secondPage, { passkey: passkey.get(askedIn(secondPage)) })
  assert.equal(late.status, 200, 'after five minutes')
  // As the second factor of somebody else it counts no more than a wrong code.
  const [stranger, strangerPage] = await toPageOf('cem')
  const lent = await stranger.submit(strangerPage, { passkey: passkey.get(askedIn(strangerPage)) })
  assert.equal(lent.status, 200)
})

test('three wrong answers begin the sign-in anew; one without any does not count', async () => {
  const { passkey } = await setUp('dora')
  const [visitor, page] = await toPageOf('dora')
  for (const _ of [1, 2, 3, 4]) assert.equal((await visitor.submit(page, {})).status, 200)
  for (const _ of [1, 2]) assert.equal((await visitor.submit(page, { passkey: '{}' })).status, 200)
  const over = await visitor.submit(page, { passkey: '{}' })
  assert.deepEqual([over.status, over.location?.pathname], [303, '/api/oauth2/auth'])
  assert.equal((await visitor.submit(page, { passkey: passkey.get(askedIn(page)) })).status, 400)
  const failed = (await eventsOf(svc, 'USER_LOGIN_FAILED')).filter(({ event }) => event.info.login === 'dora')
  assert.deepEqual(
    failed.map(({ event }) => [event.info.two_factor, event.info.error]),
    Array.from({ length: 3 }, () => ['passkey', 'wrong passkey']),
  )
})

test('whoever may not sign in does not by a passkey either', async () => {
  const { passkey } = await setUp('eva')
  const stored = await recordOf('eva')
  const block = (login_disabled: boolean, _version: number) =>
    root().post('/user', [{ user: { _id: stored.user._id, _version, login_disabled } }])
  assert.equal((await block(true, stored.user._version)).status, 200)
  const [visitor, page] = await toPasskeyPage()
  assert.equal((await visitor.submit(page, { passkey: passkey.get(askedIn(page)) })).status, 200)
  const [last] = (await eventsOf(svc, 'USER_LOGIN_FAILED')).filter(({ event }) => event.info.login === 'eva')
  assert.deepEqual([last?.event.info.method, last?.event.info.error], ['passkey', 'login_disabled'])
  assert.equal((await block(false, stored.user._version + 1)).status, 200)
  // Nor when passkeys are off: their page is not there, and the password does not do alone.
  await configure({ methods: ['totp'] })
  assert.equal((await new TestVisitor(svc).authorize({ auth_method: 'passkey' })).status, 400)
  assert.ok(!(await new TestVisitor(svc).authorize({})).body.includes('passkey'))
  const [again, pageBefore] = [visitor, page]
  assert.equal((await again.submit(pageBefore, { passkey: passkey.get(askedIn(pageBefore)) })).status, 200)
  assert.equal((await new TestVisitor(svc).signIn('eva', 'eva')).location?.pathname, '/api/page/twoFactorSetup')
  await configure({})
  const [now, nowPage] = await toPasskeyPage()
  assert.ok((await now.submit(nowPage, { passkey: passkey.get(askedIn(nowPage)) })).location)
})

test('a passkey is kept without asking who made the device, and none is kept twice', async () => {
  // A statement with a certificate names addresses that whoever checks it would have to ask.
  const [visitor, first] = await toPageOf('finn')
  const page = await visitor.get(linkTo(first, 'twoFactorSetupPasskey'))
  const passkey = new SoftPasskey()
  const certified = passkey.create(askedIn(page), { fmt: 'packed', statement: Buffer.from([0xa1, 0x61, 0x78, 0x01]) })
  const shown = await visitor.submit(page, { passkey: certified })
  assert.equal(codesIn(shown).length, 10)
  assert.ok(clientCodeOf(await follow(visitor, await visitor.submit(shown, {}))))

  const [other, otherFirst] = await toPageOf('gil')
  const otherPage = await other.get(linkTo(otherFirst, 'twoFactorSetupPasskey'))
  const refused = await other.submit(otherPage, { passkey: passkey.create(askedIn(otherPage)) })
  assert.match(refused.body, /role="alert" id="problem"/)
  assert.equal((await recordOf('gil'))._two_factor_passkey_enrolled, false)
  const wrong: Forged[] = [
    { origin: 'https://evil.example.org' },
    { rpId: 'evil' },
    { type: 'webauthn.get' },
    { crossOrigin: true },
    { topOrigin: 'https://evil.example.org' },
  ]
  for (const lies of wrong) {
    const [each, eachFirst] = await toPageOf('gil')
    const eachPage = await each.get(linkTo(eachFirst, 'twoFactorSetupPasskey'))
    const answer = await each.submit(eachPage, { passkey: new SoftPasskey().create(askedIn(eachPage), lies) })
    assert.match(answer.body, /role="alert" id="problem"/, JSON.stringify(lies))
  }
})

test('nobody sets one up past a second factor that there is', async () => {
  await enrol(svc, 'hana')
  const [visitor, page] = await toPageOf('hana')
  const flow = /name="flow" value="([^"]+)"/.exec(page.body)?.[1] ?? ''
  const past = await visitor.get('/api/page/twoFactorSetupPasskey', { flow })
  assert.deepEqual([past.status, past.location?.pathname], [303, '/api/page/twoFactor'])
  const csrf = /name="csrf" value="([^"]+)"/.exec(page.body)?.[1] ?? ''
  const posted = await visitor.post('/api/page/twoFactorSetupPasskey', { flow, csrf, passkey: '{}' })
  assert.equal(posted.location?.pathname, '/api/page/twoFactor')
  // Two sign-ins that have proved nothing: one sets something up, the other comes too late.
  const [one, oneFirst] = await toPageOf('ivo')
  const [two, twoFirst] = await toPageOf('ivo')
  const [onePage, twoPage] = [
    await one.get(linkTo(oneFirst, 'twoFactorSetupPasskey')),
    await two.get(linkTo(twoFirst, 'twoFactorSetupPasskey')),
  ]
  const shown = await one.submit(onePage, { passkey: new SoftPasskey().create(askedIn(onePage)) })
  assert.equal(codesIn(shown).length, 10)
  const late = await two.submit(twoPage, { passkey: new SoftPasskey().create(askedIn(twoPage)) })
  assert.equal(late.location?.pathname, '/api/page/twoFactor')
  const { rows } = await svc.db.query('select from passkey p join "user" u on u.id = p.user_id where u.login = $1', [
    'ivo',
  ])
  assert.equal(rows.length, 1)
})

test('users list their own passkeys', async () => {
  const { headers } = await setUp('jan', '  desk\nkey  ')
  const list = async (of: Record<string, string>) =>
    (await svc.inject({ url: '/api/v1/user/passkey/list', headers: of })).json()
  const [passkey, ...others] = await list(headers)
  assert.deepEqual([passkey.name, passkey.backed_up, passkey.last_used_at, others], ['desk key', false, undefined, []])
  assert.ok(Date.now() - Date.parse(passkey.created_at) < 600_000)
  const ofOther = await list((await setUp('gil')).headers)
  assert.deepEqual(
    ofOther.map(({ name }: Json) => name),
    ['my key'],
  )
})

test('administrators take passkeys away; users do not, with a token', async () => {
  const { headers, passkey } = await setUp('kim')
  const { user } = await recordOf('kim')
  const body = (_version: number) => [{ user: { _id: user._id, _version }, _two_factor_reset_passkey: true }]
  const byItself = await svc.inject({ method: 'POST', url: '/api/v1/user', headers, payload: body(user._version) })
  assert.ok(byItself.statusCode >= 400)
  const reset = await root().post('/user', body(user._version))
  assert.deepEqual([reset.status, reset.body[0]._two_factor_passkey_enrolled], [200, false])
  const [visitor, page] = await toPasskeyPage()
  assert.equal((await visitor.submit(page, { passkey: passkey.get(askedIn(page)) })).status, 200)
  assert.equal((await new TestVisitor(svc).signIn('kim', 'kim')).location?.pathname, '/api/page/twoFactorSetup')
})

const list = '/api/v1/user/passkey/list'

test('users name and remove their own passkeys, shortly after a sign-in that has proved one; the last stays where a group asks', async () => {
  const { headers } = await setUp('lea')
  const send = (method: 'GET' | 'POST' | 'DELETE', url: string, payload?: object) =>
    svc.inject({ method, url, headers, ...(payload ? { payload } : {}) })
  const [{ _id, user_id }] = (await send('GET', list)).json()
  const { user } = await recordOf('lea')
  assert.equal(user_id, user._id)
  const renamed = await send('POST', `${list}/${_id}`, { name: ' blue\tkey ' })
  assert.deepEqual([renamed.statusCode, renamed.json()], [200, { ...renamed.json(), _id, name: 'blue key' }])
  for (const [name, status] of [
    ['\n', 400],
    ['', 400],
    ['x'.repeat(1001), 400],
  ] as const)
    assert.equal((await send('POST', `${list}/${_id}`, { name })).statusCode, status)

  const last = await send('DELETE', `${list}/${_id}`)
  assert.deepEqual([last.statusCode, last.json().parameters], [400, { _id }])
  await svc.db.query(
    `insert into passkey (user_id, credential_id, public_key, sign_count, transports, name, backed_up)
     values ($1, 'other', 'key', 0, '{}', 'other', false)`,
    [user._id],
  )
  const setBack = (what: string) => svc.db.query(`update oauth_session set ${what} where user_id = $1`, [user._id])
  for (const stale of [`authenticated_at = now() - interval '11 minutes'`, 'two_factor = null']) {
    const { rows } = await svc.db.query<{ two_factor: string }>(
      'select two_factor from oauth_session where user_id = $1',
      [user._id],
    )
    assert.equal(rows[0]?.two_factor, 'passkey')
    await setBack(stale)
    const refused = await send('DELETE', `${list}/${_id}`)
    assert.deepEqual([refused.statusCode, refused.json().code], [403, 'FreshSignInRequired'], stale)
    await setBack(`authenticated_at = now(), two_factor = 'passkey'`)
  }
  const before = await recordOf('lea')
  assert.equal((await send('DELETE', `${list}/${_id}`)).statusCode, 200)
  assert.equal((await send('DELETE', `${list}/${_id}`)).json().code, 'ResourceNotFound')
  const left = (await send('GET', list)).json()
  assert.deepEqual(
    left.map(({ name }: Json) => name),
    ['other'],
  )
  assert.equal((await recordOf('lea')).user._version, before.user._version + 1)
  const events = (await eventsOf(svc, 'USER_UPDATE')).filter(({ event }) => event.object_id === user._id)
  assert.equal(events.length, 3, 'set up, named, removed')
})

test('administrators list, name and remove passkeys of those whom they may reset; others learn nothing of them', async () => {
  const owner = await setUp('mia')
  const { user } = await recordOf('mia')
  await createUsers(
    svc,
    { user: { login: 'manager' }, _system_rights: { 'system.user': { read: true } } },
    { user: { login: 'nobody' } },
  )
  const manager = svc.as('manager')
  const [passkey, ...others] = (await manager.get('/user/passkey/list', { user_id: user._id })).body
  assert.deepEqual([passkey.name, passkey.user_id, others], ['my key', user._id, []])
  const path = `/user/passkey/list/${passkey._id}`
  const stranger = svc.as('nobody')
  assert.equal((await stranger.get('/user/passkey/list', { user_id: user._id })).body.code, 'SystemRightRequired')
  assert.equal((await stranger.post(path, { name: 'mine' })).body.code, 'ResourceNotFound')
  assert.equal((await stranger.delete(path)).body.code, 'ResourceNotFound')
  assert.equal((await stranger.delete(`${path.slice(0, -1)}0`)).body.code, 'ResourceNotFound')
  assert.equal((await manager.get('/user/passkey/list', { user_id: 1 })).body.code, 'SystemRightRequired', 'of root')

  const right = { 'system.datamodel': { level: ['development'] } }
  const version = async () => (await recordOf('mia')).user._version
  const give = async (_system_rights: Json) =>
    root().post('/user', [{ user: { _id: user._id, _version: await version() }, _system_rights }])
  assert.equal((await give(right)).status, 200)
  for (const refused of [await manager.post(path, { name: 'x' }), await manager.delete(path)]) {
    assert.deepEqual([refused.status, refused.body.code], [400, 'ColumnNeedsSystemRoot'])
  }
  await give({})
  assert.equal((await manager.post(path, { name: 'taken in' })).body.name, 'taken in')
  assert.equal((await manager.delete(path)).status, 200, 'also the last one that a group asks for')
  assert.equal((await recordOf('mia'))._two_factor_passkey_enrolled, false)
  const [visitor, page] = await toPasskeyPage()
  assert.equal((await visitor.submit(page, { passkey: owner.passkey.get(askedIn(page)) })).status, 200, 'not signed in')
  const events = (await eventsOf(svc, 'USER_UPDATE')).filter(({ event }) => event.object_id === user._id)
  assert.equal(events.length, 5)
})

test('an address that is no name, or not safe, has no passkeys', async () => {
  for (const externalUrl of ['http://192.0.2.7:8080', 'https://[2001:db8::1]', 'http://archive.example.org']) {
    await using other = await attachService(svc.dsn, { externalUrl })
    const visitor = new TestVisitor(other)
    const parameters = visitor.parameters({ auth_method: 'passkey', redirect_uri: `${externalUrl}/callback` })
    assert.equal((await visitor.get('/api/oauth2/auth', parameters)).status, 400, externalUrl)
    const page = await visitor.get('/api/oauth2/auth', visitor.parameters({ redirect_uri: `${externalUrl}/callback` }))
    assert.deepEqual([page.status, page.body.includes('value="passkey"')], [200, false], externalUrl)
  }
  assert.match((await new TestVisitor(svc).authorize({})).body, /value="passkey"/)
})

test('the sign-in by passkey belongs to its browser and its page', async () => {
  const [visitor, page] = await toPasskeyPage()
  const flow = /name="flow" value="([^"]+)"/.exec(page.body)?.[1] ?? ''
  assert.equal((await new TestVisitor(svc).get('/api/page/passkey', { flow })).status, 400)
  for (const name of ['twoFactor', 'twoFactorSetup', 'twoFactorSetupPasskey', 'twoFactorChoose', 'setPassword']) {
    assert.equal((await visitor.get(`/api/page/${name}`, { flow })).status, 400, name)
  }
  const [withPassword, factorPage] = await toPageOf('ada')
  const other = /name="flow" value="([^"]+)"/.exec(factorPage.body)?.[1] ?? ''
  assert.equal((await withPassword.get('/api/page/passkey', { flow: other })).status, 400)
  assert.match(pathOf(await visitor.authorize({ auth_method: 'passkey' })), /^\/api\/page\/passkey\?flow=/)
})
