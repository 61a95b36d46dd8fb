import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../../support/client.ts'
import { startService, type TestService } from '../../support/service.ts'
import { clientCodeOf, follow, pathOf } from '../authenticator.ts'
import { type BrowserAnswer, TestVisitor } from '../sign-in-browser.ts'
import { askedIn, SoftPasskey } from '../soft-passkey.ts'
import { createGroups, eventsOf, refresh, requestToken, signIn, statusWith } from '../support.ts'
import { type DirectoryEntry, type LdapTestServer, searcher, startLdapServer } from './ldap-server.ts'
import { client, type OpenIdTestProvider, signInThere, startProvider } from './openid-provider.ts'

/** Who has left their directory, and comes by another way than the directory. */

const person = (uid: string): DirectoryEntry => ({
  dn: `uid=${uid},ou=people,dc=example,dc=org`,
  password: `pw-${uid}`,
  attributes: { objectClass: 'person', uid, cn: uid, mail: `${uid}@example.org`, ou: 'staff' },
})

let svc: TestService
let server: LdapTestServer
let provider: OpenIdTestProvider
const root = () => svc.as('root')

before(async () => {
  const people = ['ada', 'ben', 'cem', 'dora', 'eva', 'finn', 'gil', 'hana', 'ivo'].map(person)
  ;[svc, server, provider] = await Promise.all([
    startService(),
    startLdapServer(people),
    startProvider('http://localhost:8080/api/openid/callback'),
  ])
  for (const name of ['olga', 'otto']) {
    provider.people.set(name, { name, email: `${name}@example.com`, email_verified: true, roles: ['staff'] })
  }
  const maps = [{ method: 'eq', value: 'staff' }]
  await createGroups(svc, {
    group: { name: 'staff' },
    _two_fa_required: true,
    _auth_method_group_maps: { ldap: maps, sso: maps },
  })
  await set('two_factor', { enabled: true, methods: ['passkey', 'totp'], allow_password_grant: true })
  await set('login/keep_login', '7d')
  await configure()
})
after(async () => {
  await svc[Symbol.asyncDispose]()
  await Promise.all([server[Symbol.asyncDispose](), provider[Symbol.asyncDispose]()])
})

async function set(path: string, value: unknown): Promise<void> {
  const { status, body } = await root().post(`/config/system/config/${path}`, value)
  assert.equal(status, 200, JSON.stringify(body))
}

const nowhere = [{ url: 'ldap://127.0.0.1:9', tls_insecure: true }]

const configure = (more: Json = {}): Promise<void> =>
  set('ldap', {
    connections: [{ url: server.url, tls_insecure: true }],
    bindusername: searcher.dn,
    bindpassword: searcher.password,
    userbasedn: 'ou=people,dc=example,dc=org',
    userfilter: '(&(objectClass=person)(|(uid=%(login)s)(mail=%(login)s)))',
    groupmapping: [{ group: '%(ou)s' }],
    usermapping: [
      { key: 'login', value: '%(uid)s' },
      { key: 'email', value: '%(mail)s' },
    ],
    userupdatecolumn: 'login',
    recheck_minutes: 15,
    unreachable_minutes: 0,
    ...more,
  })

const configureProvider = (more: Json = {}): Promise<void> =>
  set('openid_connect', {
    providers: [
      {
        name: 'campus',
        issuer: provider.issuer,
        client_id: client.id,
        client_secret: client.secret,
        usermapping: [
          { key: 'reference', value: '%(sub)s' },
          { key: 'login', value: '%(sub)s' },
        ],
        groupmapping: [{ group: '%(roles)s' }],
        ...more,
      },
    ],
  })

/** The directory no longer has somebody. */
function leave(uid: string): void {
  const at = server.entries.findIndex(({ dn }) => dn.startsWith(`uid=${uid},`))
  assert.notEqual(at, -1)
  server.entries.splice(at, 1)
}

async function userOf(login: string): Promise<Json> {
  return (await root().get('/user')).body.find(({ user }: Json) => user.login === login)
}

/** What the directory has said was so many minutes ago. */
async function saidBefore(login: string, minutes: number): Promise<void> {
  const { rowCount } = await svc.db.query(
    `update directory_word set said_at = now() - make_interval(mins => $2) where user_id = $1`,
    [(await userOf(login)).user._id, minutes],
  )
  assert.equal(rowCount, 1)
}

function linkTo({ body }: BrowserAnswer, page: string): string {
  const text = body.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
  return new RegExp(`href="([^"]*/api/page/${page}[^"]*)"`).exec(text)?.[1] ?? `no link to ${page}`
}

/** Sets a passkey up behind the first sign-in; `token` is of that sign-in. */
async function setUp(visitor: TestVisitor, toPage: BrowserAnswer): Promise<{ passkey: SoftPasskey; token: Json }> {
  const first = await follow(visitor, toPage)
  const page = await visitor.get(linkTo(first, 'twoFactorSetupPasskey'))
  const passkey = new SoftPasskey()
  const shown = await visitor.submit(page, { passkey: passkey.create(askedIn(page)), name: 'key' })
  assert.equal(shown.status, 200, shown.body.slice(0, 500))
  const done = await follow(visitor, await visitor.submit(shown, {}))
  const { body } = await visitor.redeem(clientCodeOf(done) ?? '')
  return { passkey, token: body }
}

async function setUpLdap(uid: string, typed = uid) {
  const visitor = new TestVisitor(svc)
  const page = await visitor.signIn(typed, `pw-${uid}`, { scope: 'offline read write' }, { keep_login: '1' })
  return { visitor, ...(await setUp(visitor, page)) }
}

/** The page that a sign-in by passkey alone ends with. */
async function byPasskey(passkey: SoftPasskey): Promise<BrowserAnswer> {
  const visitor = new TestVisitor(svc)
  const page = await follow(visitor, await visitor.authorize({ auth_method: 'passkey' }))
  const answer = await visitor.submit(page, { passkey: passkey.get(askedIn(page)) })
  return answer.status === 303 ? follow(visitor, answer) : answer
}

async function signInAtProvider(name: string): Promise<[TestVisitor, BrowserAnswer]> {
  const visitor = new TestVisitor(svc)
  const gone = await visitor.authorize({ auth_method: 'openid', scope: 'offline read write' })
  assert.ok(gone.location, gone.body)
  const url = await signInThere(gone.location, name)
  const cross = { 'sec-fetch-site': 'cross-site' }
  return [visitor, await visitor.get(url.pathname + url.search, {}, cross)]
}

test('who has left the directory gets in by no passkey, and is signed out everywhere', async () => {
  const { visitor, passkey, token } = await setUpLdap('ada', 'ada@example.org')
  assert.ok(clientCodeOf(await byPasskey(passkey)))
  const free = await signIn(svc, 'ada', 'pw-ada', { scope: 'offline' })
  assert.equal(await statusWith(svc, free.body.access_token), 200)
  leave('ada')
  const refused = await byPasskey(passkey)
  assert.equal(refused.status, 403)
  assert.match(refused.body, /no longer has this account/)
  assert.equal(await statusWith(svc, free.body.access_token), 401)
  assert.equal((await refresh(svc, free.body.refresh_token)).status, 400)
  assert.equal((await refreshIn(visitor, token)).status, 401)
  const [failed] = (await eventsOf(svc, 'USER_LOGIN_FAILED')).slice(-1)
  assert.deepEqual([failed?.event.info.method, failed?.event.info.error], ['passkey', 'left_directory'])
  const out = (await eventsOf(svc, 'USER_LOGOUT')).map(({ event }) => event.info.reason)
  assert.ok(out.includes('left_directory'))
  server.entries.push(person('ada'))
  assert.ok(clientCodeOf(await byPasskey(passkey)), 'who is back gets in again')
})

function refreshIn(visitor: TestVisitor, { refresh_token }: Json) {
  const cookie = [...visitor.cookies].map(([key, value]) => `${key}=${value}`).join('; ')
  return requestToken(svc, { refresh_token }, { cookie }, '/api/oauth2/refresh')
}

test('the groups of who comes by passkey are those that the directory says then', async () => {
  const { passkey } = await setUpLdap('ivo')
  const automatic = async () => (await userOf('ivo'))._groups.filter((one: Json) => one._automatic_auth).length
  assert.equal(await automatic(), 1)
  const at = server.entries.findIndex(({ dn }) => dn.startsWith('uid=ivo,'))
  server.entries[at] = { ...person('ivo'), attributes: { ...person('ivo').attributes, ou: 'others' } }
  assert.ok(clientCodeOf(await byPasskey(passkey)))
  assert.equal(await automatic(), 0)
})

test('a browser that stays signed in does so no longer than the directory has its user', async () => {
  const visitor = new TestVisitor(svc)
  await set('two_factor/enabled', false)
  const done = await visitor.signIn('ben', 'pw-ben', { auth_method: 'native,ldap' }, { keep_login: '1' })
  assert.ok(clientCodeOf(done), done.body)
  const arrive = async () => (await visitor.authorize({ auth_method: 'native' })).status
  assert.equal(await arrive(), 302)
  await configure({ connections: nowhere })
  assert.equal(await arrive(), 200, 'nobody can be asked')
  await configure()
  assert.equal(await arrive(), 302)
  leave('ben')
  assert.equal(await arrive(), 200)
  server.entries.push(person('ben'))
  assert.equal(await arrive(), 200, 'and it has forgotten them')
  await set('two_factor/enabled', true)
})

test('a refresh token goes on while the directory has its user, asked once in the configured minutes', async () => {
  let { body } = await signIn(svc, 'cem', 'pw-cem', { scope: 'offline' })
  const next = async () => {
    const answer = await refresh(svc, body.refresh_token)
    if (answer.status === 200) body = answer.body
    return answer
  }
  const before = server.filters.length
  assert.equal((await next()).status, 200)
  assert.equal(server.filters.length, before, 'it has just said so')
  await saidBefore('cem', 16)
  assert.equal((await next()).status, 200)
  assert.ok(server.filters.length > before)
  leave('cem')
  assert.equal((await next()).status, 200, 'for some minutes')
  await saidBefore('cem', 16)
  const refused = await next()
  assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_grant'])
  assert.equal(await statusWith(svc, body.access_token), 401)

  ;({ body } = await signIn(svc, 'dora', 'pw-dora', { scope: 'offline' }))
  await configure({ recheck_minutes: 0 })
  leave('dora')
  assert.equal((await next()).status, 400, '0: at each')
  await configure()
})

test('a refresh by the browser asks the directory, too', async () => {
  const { visitor, token } = await setUpLdap('eva')
  const cookie = [...visitor.cookies].map(([key, value]) => `${key}=${value}`).join('; ')
  const authorization = `Bearer ${token.access_token}`
  const renew = () => requestToken(svc, {}, { cookie, authorization }, '/api/oauth2/refresh')
  assert.equal((await renew()).status, 200)
  await saidBefore('eva', 16)
  leave('eva')
  const { status, body } = await renew()
  assert.deepEqual([status, body.code], [401, 'InvalidToken'])
})

test('while no server answers nobody of the directory comes in without it, unless its last word may count', async () => {
  const { passkey } = await setUpLdap('finn')
  const { body } = await signIn(svc, 'finn', 'pw-finn', { scope: 'offline' })
  await saidBefore('finn', 20)
  await configure({ connections: nowhere })
  const refused = await byPasskey(passkey)
  assert.equal(refused.status, 503)
  assert.match(refused.body, /cannot be asked at the moment, so nobody signs in/)
  const waiting = await refresh(svc, body.refresh_token)
  assert.equal(waiting.status, 503)
  assert.ok(waiting.headers['retry-after'])
  assert.equal(await statusWith(svc, body.access_token), 200, 'nobody is signed out by it')
  await configure({ connections: nowhere, unreachable_minutes: 15 })
  assert.equal((await byPasskey(passkey)).status, 503)
  await configure({ connections: nowhere, unreachable_minutes: 60 })
  assert.ok(clientCodeOf(await byPasskey(passkey)))
  assert.equal((await refresh(svc, body.refresh_token)).status, 200, 'the refresh token was not used up')
  await configure({ connections: [] })
  const off = await byPasskey(passkey)
  assert.equal(off.status, 403, 'there is nobody any more who could say it')
  await configure()
})

test('a login that belongs to somebody else in the directory now lets nobody in, and makes nobody', async () => {
  const { passkey } = await setUpLdap('gil', 'gil@example.org')
  leave('gil')
  server.entries.push({ ...person('new'), attributes: { ...person('new').attributes, mail: 'gil@example.org' } })
  assert.equal((await byPasskey(passkey)).status, 403)
  assert.equal(await userOf('new'), undefined)
})

test('who is disabled here is not let in for the word of the directory', async () => {
  const { passkey } = await setUpLdap('hana')
  const { _id, _version } = (await userOf('hana')).user
  assert.equal((await root().post('/user', [{ user: { _id, _version, login_disabled: true } }])).status, 200)
  const refused = await byPasskey(passkey)
  assert.ok(refused.status !== 303 && clientCodeOf(refused) === null)
})

test('a passkey and a refresh token of who comes by a provider count as long as its word', async () => {
  await configureProvider({ valid_hours: 2 })
  const [visitor, back] = await signInAtProvider('olga')
  const { passkey, token } = await setUp(visitor, await visitor.get(pathOf(back)))
  assert.ok(clientCodeOf(await byPasskey(passkey)))
  assert.equal((await refreshIn(visitor, token)).status, 200)
  await saidBefore('olga', 119)
  assert.ok(clientCodeOf(await byPasskey(passkey)))
  await saidBefore('olga', 121)
  const stale = await byPasskey(passkey)
  assert.equal(stale.status, 403)
  assert.match(stale.body, /too long ago/)
  const cookie = [...visitor.cookies].map(([key, value]) => `${key}=${value}`).join('; ')
  const renewed = await requestToken(
    svc,
    {},
    { cookie, authorization: `Bearer ${token.access_token}` },
    '/api/oauth2/refresh',
  )
  assert.equal(renewed.status, 401)
  const [, again] = await signInAtProvider('olga')
  assert.equal(again.status, 303)
  assert.ok(clientCodeOf(await byPasskey(passkey)), 'the provider has said it anew')
  await configureProvider({ name: 'other' })
  assert.equal((await byPasskey(passkey)).status, 403, 'who has said it is not asked any more')
})

test('an account that goes over to a provider is let in by no passkey from before', async () => {
  await configureProvider()
  const [visitor, back] = await signInAtProvider('otto')
  const { passkey } = await setUp(visitor, await visitor.get(pathOf(back)))
  const change = async (type: string) => {
    const { _id, _version } = (await userOf('otto')).user
    const { status, body } = await root().post('/user', [{ user: { _id, _version, type } }])
    assert.equal(status, 200, JSON.stringify(body))
  }
  await change('ldap')
  assert.equal((await byPasskey(passkey)).status, 403, 'the directory does not know them')
  await change('sso')
  assert.ok(clientCodeOf(await byPasskey(passkey)))
  await svc.db.query('delete from directory_word')
  assert.equal((await byPasskey(passkey)).status, 403, 'no provider has ever said it')
})
