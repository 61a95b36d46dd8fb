import assert from 'node:assert/strict'
import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Json } from '../../support/client.ts'
import { startService, type TestService } from '../../support/service.ts'
import { type BrowserAnswer, TestVisitor, unescapeHtml } from '../sign-in-browser.ts'
import { createGroups, createUsers, eventsOf, statusWith } from '../support.ts'
import { client, type OpenIdTestProvider, signInThere, startProvider } from './openid-provider.ts'

const path = '/config/system/config/openid_connect'
const callback = 'http://localhost:8080/api/openid/callback'

let svc: TestService
let provider: OpenIdTestProvider
let other: OpenIdTestProvider
const root = () => svc.as('root')

before(async () => {
  ;[svc, provider, other] = await Promise.all([startService(), startProvider(callback), startProvider(callback)])
  const person = (name: string) => ({
    name: `Name of ${name}`,
    email: `${name}@example.org`,
    email_verified: true,
    roles: ['staff-a', 'b'],
  })
  for (const name of ['anna', 'ben', 'off', 'taken']) provider.people.set(name, person(name))
  other.people.set('anna', person('anna'))
  await configure()
})
after(async () => {
  await svc[Symbol.asyncDispose]()
  await Promise.all([provider[Symbol.asyncDispose](), other[Symbol.asyncDispose]()])
})

const configured = (more: Json = {}): Json => ({
  name: 'campus',
  issuer: provider.issuer,
  client_id: client.id,
  client_secret: client.secret,
  loginlink: { 'en-US': 'Sign in with your campus account' },
  usermapping: [
    { key: 'reference', value: 'campus:%(sub)s' },
    { key: 'login', value: '%(sub)s' },
    { key: 'email', value: '%(email)s' },
    { key: 'displayname', value: '%(name)s' },
    { key: 'town', value: '%(org.town)s' },
  ],
  groupmapping: [{ group: '%(roles)s' }],
  ...more,
})

async function configure(...more: Json[]): Promise<void> {
  const providers = more.length === 0 ? [configured()] : more.map(configured)
  const { status, body } = await root().post(path, { providers })
  assert.equal(status, 200, JSON.stringify(body))
}

/** From the sign-in page to the provider. */
async function leave(visitor: TestVisitor, more: Record<string, string> = {}): Promise<URL> {
  const gone = await visitor.authorize({ auth_method: 'openid', ...more })
  assert.equal(gone.status, 302, gone.body)
  assert.ok(gone.location)
  return gone.location
}

const back = (visitor: TestVisitor, url: URL): Promise<BrowserAnswer> =>
  visitor.get(url.pathname + url.search, {}, { 'sec-fetch-site': 'cross-site' })

async function signIn(name: string, visitor = new TestVisitor(svc)): Promise<BrowserAnswer> {
  const returned = await back(visitor, await signInThere(await leave(visitor), name))
  return returned.status === 303
    ? visitor.get(returned.location?.pathname ?? '', Object.fromEntries(returned.location?.searchParams ?? []))
    : returned
}

async function userOf(login: string): Promise<Json> {
  return (await root().get('/user', { type: 'sso' })).body.find(({ user }: Json) => user.login === login)
}

test('the test of a provider says step by step what it answers, without secrets', async () => {
  await configure()
  const check = async (more: Json = {}) =>
    (await root().post('/system/directory/test', { kind: 'openid', ...more })).body
  const found = await check()
  assert.equal(found.ok, true, JSON.stringify(found))
  assert.match(found.steps.join('\n'), /the issuer is [\s\S]*keys for signatures: \d[\s\S]*redirect URI/)
  await configure({ issuer: 'http://127.0.0.1:9' })
  const lost = await check()
  assert.deepEqual([lost.ok, /cannot be asked/.test(lost.steps.at(-1))], [false, true])
  assert.doesNotMatch(JSON.stringify([found, lost]), new RegExp(RegExp.escape(configured().client_secret)))
  await configure()
})

test('the secret is never shown again, and what cannot work is refused with its place', async () => {
  const shown = (await root().get(`${path}/providers/0`)).body
  assert.equal(shown.client_secret, '***')
  const wrong: [more: Json, place: string][] = [
    [{ issuer: 'http://idp.example.org' }, 'issuer'],
    [{ issuer: 'https://idp.example.org/?a=b' }, 'issuer'],
    [{ issuer: 'file:///etc/passwd' }, 'issuer'],
    [{ name: 'a b' }, 'name'],
    [{ scopes: 'profile' }, 'scopes'],
    [{ client_id: '' }, 'client_id'],
    [{ usermapping: [{ key: 'login', value: '%(sub)s' }] }, 'usermapping'],
  ]
  for (const [more, place] of wrong) {
    const { status, body } = await root().post(path, { providers: [configured(more)] })
    const expected = [400, `system/config/openid_connect/providers/0/${place}`]
    assert.deepEqual([status, body.parameters?.path], expected, JSON.stringify(more))
  }
})

test('a button leads to the provider; whoever comes back is made a user and put into groups, anew each time', async () => {
  await createGroups(
    svc,
    { group: { name: 'Staff' }, _auth_method_group_maps: { sso: [{ method: 'regexp', value: '^staff-' }] } },
    { group: { name: 'Of LDAP' }, _auth_method_group_maps: { ldap: [{ method: 'regexp', value: '.' }] } },
  )
  const visitor = new TestVisitor(svc)
  const page = await visitor.authorize()
  const link = /<a class="button second" href="([^"]*)">Sign in with your campus account<\/a>/.exec(page.body)?.[1]
  assert.ok(link)
  const gone = await visitor.get(unescapeHtml(link))
  assert.equal(gone.status, 302, link)
  const { searchParams } = gone.location ?? new URL('x:')
  assert.equal(searchParams.get('code_challenge_method'), 'S256')
  assert.equal(searchParams.get('redirect_uri'), callback)
  for (const name of ['state', 'nonce', 'code_challenge']) assert.match(searchParams.get(name) ?? '', /^[\w-]{43}$/)
  const returned = await back(visitor, await signInThere(gone.location ?? new URL('x:'), 'anna'))
  assert.equal(returned.status, 303, returned.body)
  const done = await visitor.get(
    returned.location?.pathname ?? '',
    Object.fromEntries(returned.location?.searchParams ?? []),
  )
  const code = done.location?.searchParams.get('code') ?? ''
  assert.equal(done.location?.searchParams.get('state'), visitor.state)
  const tokens = await visitor.redeem(code)
  assert.equal(tokens.status, 200, JSON.stringify(tokens.body))
  assert.equal((await eventsOf(svc, 'USER_LOGIN')).at(-1)?.event.info.idp, configured().issuer)
  const anna = await userOf('anna')
  assert.deepEqual(
    [anna.user.type, anna.user.reference, anna.user.email, anna.user.displayname],
    ['sso', 'campus:anna', 'anna@example.org', 'Name of anna'],
  )
  const names = async () => (await userOf('anna'))._groups.map((one: Json) => one.group.name)
  assert.ok((await names()).includes('Staff') && !(await names()).includes('Of LDAP'))
  assert.equal((await eventsOf(svc, 'USER_LOGIN')).at(-1)?.event.info.method, 'openid')
  // The token is bound to the browser, as after a password.
  assert.equal(await statusWith(svc, tokens.body.access_token), 401)
  provider.people.set('anna', {
    name: 'Anna',
    email: 'anna@example.org',
    email_verified: true,
    roles: ['b'],
    org: { town: 'Ulm' },
  })
  assert.equal((await signIn('anna')).status, 302)
  const now = await userOf('anna')
  assert.deepEqual([now.user._id, now.user.displayname, now.user.town], [anna.user._id, 'Anna', 'Ulm'])
  assert.ok(!(await names()).includes('Staff'))
})

test('an answer counts once, in the browser that asked for it, and as it was asked for', async () => {
  const visitor = new TestVisitor(svc)
  const returned = await signInThere(await leave(visitor), 'ben')
  // Another browser: whoever is sent such a link signs in as nobody.
  const stranger = await back(new TestVisitor(svc), returned)
  assert.equal(stranger.status, 400)
  assert.doesNotMatch(String(stranger.headers['set-cookie']), /browser-id|keep-login/)
  const forged = (change: (query: URLSearchParams) => void): URL => {
    const url = new URL(returned)
    change(url.searchParams)
    return url
  }
  assert.equal(
    (
      await back(
        visitor,
        forged((query) => query.set('state', 'x'.repeat(43))),
      )
    ).status,
    400,
  )
  assert.equal(
    (
      await back(
        visitor,
        forged((query) => query.append('state', 'x')),
      )
    ).status,
    400,
  )
  assert.equal((await back(visitor, returned)).status, 303)
  assert.equal((await back(visitor, returned)).status, 400)
  for (const change of [
    (query: URLSearchParams) => query.set('iss', other.issuer),
    (query: URLSearchParams) => query.set('code', 'guessed'),
    (query: URLSearchParams) => query.delete('code'),
  ]) {
    const again = new TestVisitor(svc)
    const url = await signInThere(await leave(again), 'ben')
    change(url.searchParams)
    const refused = await back(again, url)
    assert.deepEqual([refused.status, /proves nothing/.test(refused.body)], [403, true], refused.body)
    // It was of use once.
    assert.equal((await back(again, url)).status, 400)
  }
  const [error] = (await eventsOf(svc, 'OPENID_ERROR')).slice(-1)
  assert.doesNotMatch(JSON.stringify(error), /provider-s3cret/)
})

test('an id_token that its provider has not signed, or for others, is nobody, although it came by the right way', async () => {
  const decode = (part = ''): Json => JSON.parse(Buffer.from(part, 'base64url').toString())
  const encode = (value: Json): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const signedBy = (key: KeyObject, header: Json, payload: Json): string => {
    const content = `${encode(header)}.${encode(payload)}`
    return `${content}.${sign('sha256', Buffer.from(content), key).toString('base64url')}`
  }
  const forged: Record<string, (header: Json, payload: Json, signature: string) => string> = {
    'another person': (header, payload, signature) =>
      `${encode(header)}.${encode({ ...payload, sub: 'ben' })}.${signature}`,
    'another key': (header, payload) => signedBy(stranger, header, payload),
    'a key that is sent along': (header, payload) =>
      signedBy(stranger, { ...header, jwk: createPublicKey(stranger).export({ format: 'jwk' }) }, payload),
    'a key that is unknown': (header, payload) => signedBy(stranger, { ...header, kid: 'other' }, payload),
    'no signature': (header, payload) => `${encode(header)}.${encode(payload)}.`,
    'alg none': (_, payload) => `${encode({ alg: 'none' })}.${encode(payload)}.`,
    'the secret of the client': (header, payload) => {
      const content = `${encode({ ...header, alg: 'HS256' })}.${encode(payload)}`
      return `${content}.${createHmac('sha256', client.secret).update(content).digest('base64url')}`
    },
  }
  for (const [what, make] of Object.entries(forged)) {
    provider.change = (token) => {
      const [header, payload, signature = ''] = token.split('.')
      return make(decode(header), decode(payload), signature)
    }
    const answer = await signIn('anna')
    assert.deepEqual([answer.status, /proves nothing/.test(answer.body)], [403, true], what)
  }
  provider.change = null
  assert.equal((await signIn('anna')).status, 302)
})

test('an address that the provider has not made sure of finds nobody, and belongs to nobody, unless the provider is trusted', async () => {
  const byEmail = (more: Json = {}): Json => ({
    userupdatecolumn: 'email',
    usermapping: [
      { key: 'email', value: '%(email)s' },
      { key: 'displayname', value: '%(name)s' },
    ],
    ...more,
  })
  await configure(byEmail())
  const verified = { name: 'Vera', email: 'vera@example.org', email_verified: true }
  provider.people.set('vera', verified)
  assert.equal((await signIn('vera')).status, 302)
  const stored = async () =>
    (await root().get('/user', { type: 'sso' })).body.filter(({ user }: Json) => user.email === 'vera@example.org')
  const [{ user: vera }] = await stored()
  const says: [said: Json, trusted: Json, isIn: boolean][] = [
    [{ email_verified: false }, {}, false],
    [{ email_verified: 'false' }, {}, false],
    [{ email_verified: undefined }, {}, false],
    [{ email_verified: null }, {}, false],
    [{ email_verified: 1 }, {}, false],
    [{ email_verified: ['true'] }, {}, false],
    [{ email_verified: false }, { trust_email: true }, false],
    [{ email_verified: undefined }, { trust_email: true }, true],
    [{ email_verified: 'true' }, {}, true],
  ]
  for (const [said, trusted, isIn] of says) {
    await configure(byEmail(trusted))
    provider.people.set('mallory', { ...verified, name: 'Mallory', ...said })
    const answer = await signIn('mallory')
    assert.equal(answer.status, isIn ? 302 : 403, JSON.stringify([said, trusted]))
    const [{ user }] = await stored()
    assert.equal(user.displayname, isIn ? 'Mallory' : 'Vera')
    if (isIn) {
      provider.people.set('vera', verified)
      assert.equal((await signIn('vera')).status, 302)
    }
  }
  assert.equal((await stored())[0].user._id, vera._id)
  // As a login, by another name of the claim, or beside what finds the user it counts no more.
  provider.people.set('mallory', { name: 'Mallory', email: 'vera@example.org' })
  const by = (value: string): Json => ({ userupdatecolumn: 'login', usermapping: [{ key: 'login', value }] })
  for (const value of ['%(email)s', '%(EMAIL)s', 'x%(email)s', '%(sub)s%(email)s']) {
    await configure(by(value))
    assert.equal((await signIn('mallory')).status, 403, value)
  }
  await configure()
  assert.equal((await signIn('mallory')).status, 302)
  assert.equal((await userOf('mallory')).user.email, undefined)
  // Another claim is not what the provider has looked at.
  provider.people.set('nick', { name: 'nick@example.org', email: 'own@example.org', email_verified: true })
  await configure({ usermapping: [...configured().usermapping.slice(0, 2), { key: 'email', value: '%(name)s' }] })
  assert.equal((await signIn('nick')).status, 302)
  assert.equal((await userOf('nick')).user.email, undefined)
  await configure()
})

test('spellings of a subject are other people: another user, a conflict, or nobody, never the one who is there', async () => {
  await configure()
  provider.people.set('ada', { name: 'Ada', email: 'ada@example.org', email_verified: true })
  assert.equal((await signIn('ada')).status, 302)
  const { user: ada } = await userOf('ada')
  const spellings = [
    'ADA',
    'Ada',
    'ａda',
    'aⓓa',
    'ada ',
    ' ada',
    'ad\u0061\u0301',
    'ad\u00e1',
    'ada\u200b',
    'ada\t',
    'a'.repeat(600),
  ]
  for (const mapping of [
    configured()
      .usermapping.slice(0, 1)
      .concat([{ key: 'login', value: '%(sub)s' }]),
    [{ key: 'login', value: '%(sub)s' }],
  ]) {
    const userupdatecolumn = mapping.length === 1 ? 'login' : 'reference'
    if (userupdatecolumn === 'login') {
      await configure({ userupdatecolumn, usermapping: mapping })
      assert.equal((await signIn('ada')).status, 302)
    }
    for (const name of spellings) {
      provider.people.set(name, { name: 'Another' })
      await configure({ userupdatecolumn, usermapping: mapping })
      const answer = await signIn(name)
      const now = (await root().get(`/user/${ada._id}`)).body[0].user
      assert.deepEqual([now.login, now.reference, now.displayname], ['ada', 'campus:ada', 'Ada'], JSON.stringify(name))
      if (answer.status === 302) assert.notEqual((await userOf(name))?.user._id, ada._id, JSON.stringify(name))
      else assert.equal(answer.status, 403, JSON.stringify(name))
    }
  }
  // What is cut would be the same for many.
  for (const end of ['x', 'y']) {
    const long = 'l'.repeat(500) + end
    provider.people.set(long, { name: 'Long' })
    await configure({
      usermapping: [
        { key: 'reference', value: '%(sub)s' },
        { key: 'login', value: `long-${end}` },
      ],
    })
    assert.equal((await signIn(long)).status, 403)
  }
  await configure()
})

test('a code of one sign-in is of no use in another: PKCE and nonce', async () => {
  const [one, two] = [new TestVisitor(svc), new TestVisitor(svc)]
  const [first, second] = [await signInThere(await leave(one), 'anna'), await signInThere(await leave(two), 'ben')]
  second.searchParams.set('code', first.searchParams.get('code') ?? '')
  assert.equal((await back(two, second)).status, 403)
})

test('two providers do not stand in for each other', async () => {
  await configure(
    {},
    {
      name: 'other',
      issuer: other.issuer,
      usermapping: [
        { key: 'reference', value: 'other:%(sub)s' },
        { key: 'login', value: '%(sub)s' },
      ],
    },
  )
  const visitor = new TestVisitor(svc)
  // With several the page asks, unless one is named.
  assert.equal((await visitor.authorize({ auth_method: 'openid' })).status, 200)
  const url = await signInThere(await leave(visitor, { provider: 'other' }), 'anna')
  assert.equal(url.searchParams.get('iss'), other.issuer)
  // The login belongs to whom the first provider knows by it.
  const refused = await back(visitor, url)
  assert.deepEqual([refused.status, /belongs to another account here/.test(refused.body)], [403, true])
  await configure()
})

test('who is disabled here, or belongs to this instance, does not get in', async () => {
  assert.equal((await signIn('off')).status, 302)
  const off = await userOf('off')
  await root().post('/user', [{ user: { _id: off.user._id, _version: off.user._version, login_disabled: true } }])
  const refused = await signIn('off')
  assert.deepEqual([refused.status, /cannot be used now/.test(refused.body)], [403, true])
  await createUsers(svc, { user: { login: 'x', email: 'taken@example.org' } })
  const conflict = await signIn('taken')
  assert.deepEqual([conflict.status, /belongs to another account here/.test(conflict.body)], [403, true])
  assert.equal(await userOf('taken'), undefined)
})

test('signing out ends the session at the provider, too', async () => {
  const visitor = new TestVisitor(svc)
  const done = await signIn('ben', visitor)
  await visitor.redeem(done.location?.searchParams.get('code') ?? '')
  const out = await visitor.get('/logout')
  assert.equal(out.status, 303)
  assert.equal(out.location?.origin, provider.issuer)
  assert.match(out.location?.searchParams.get('id_token_hint') ?? '', /^eyJ/)
  assert.equal((await visitor.get('/logout')).status, 200)
})

test('a provider that does not answer is told so, on the page', async () => {
  await configure({ issuer: 'http://127.0.0.1:9' })
  const page = await new TestVisitor(svc).authorize({ auth_method: 'openid' })
  assert.deepEqual([page.status, /cannot be asked at the moment/.test(page.body)], [503, true])
  await root().post(`${path}/providers`, [])
  assert.equal((await new TestVisitor(svc).authorize({ auth_method: 'openid' })).status, 400)
})
