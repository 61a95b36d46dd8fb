import assert from 'node:assert/strict'
import { createVerify } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Json } from '../../support/client.ts'
import { attachService, startService, type TestService } from '../../support/service.ts'
import { type BrowserAnswer, TestVisitor, unescapeHtml } from '../sign-in-browser.ts'
import { createGroups, createUsers, eventsOf } from '../support.ts'
import { ofProvider, ofService, ofStranger } from './certificates.ts'
import {
  aboutName,
  assertion,
  encrypted,
  entityId,
  metadataOf,
  requestIn,
  response,
  type Said,
  signed,
  signedQuery,
  signOutMessage,
  signOutUrl,
  succeeded,
} from './identity-provider.ts'

const path = '/config/system/config/saml'
let svc: TestService
const root = () => svc.as('root')

before(async () => {
  svc = await startService()
  await configure()
})
after(() => svc[Symbol.asyncDispose]())

const configured = (more: Json = {}): Json => ({
  metadata: metadataOf({}),
  loginlink: { 'en-US': 'Sign in with SAML' },
  cert: ofService.cert,
  key: ofService.key,
  signrequest: 'sha256',
  usermapping: [
    { key: 'reference', value: '%(nameID)s' },
    { key: 'login', value: '%(nameID)s' },
    { key: 'email', value: '%(mail)s' },
  ],
  groupmapping: [{ group: '%(role)s' }],
  debug: true,
  ...more,
})

async function configure(more: Json = {}): Promise<void> {
  const { status, body } = await root().post('/config', { system: { config: { saml: configured(more) } } })
  assert.equal(status, 200, JSON.stringify(body))
}

interface Left {
  visitor: TestVisitor
  id: string
  relayState: string
  address: URL
}

async function leave(more: Record<string, string> = {}): Promise<Left> {
  const visitor = new TestVisitor(svc)
  const gone = await visitor.authorize({ auth_method: 'saml', ...more })
  assert.equal(gone.status, 302, gone.body)
  const address = gone.location ?? new URL('x:')
  const { id, relayState } = requestIn(address)
  return { visitor, id, relayState, address }
}

/** The form of the provider, as a browser sends it: from another site, without cookies. */
function bring(xml: string, relayState: string, service = svc): Promise<BrowserAnswer> {
  const form = { SAMLResponse: Buffer.from(xml).toString('base64'), RelayState: relayState }
  const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://idp.example.org' }
  return new TestVisitor(service).post('/api/saml/acs', form, headers)
}

const go = (visitor: TestVisitor, { location }: BrowserAnswer): Promise<BrowserAnswer> =>
  visitor.get(location?.pathname ?? '', Object.fromEntries(location?.searchParams ?? []))

const wholeOf = (said: Said): string => response(signed(assertion(said), 'Assertion'), said)

async function signInAs(
  name: string,
  make: (said: Said) => string | Promise<string> = wholeOf,
): Promise<BrowserAnswer> {
  const { visitor, id, relayState } = await leave()
  const brought = await bring(await make({ name, inResponseTo: id }), relayState)
  assert.equal(brought.status, 303, brought.body)
  const back = await go(visitor, brought)
  assert.equal(back.status, 303, back.body)
  const done = await go(visitor, back)
  assert.equal((await visitor.redeem(done.location?.searchParams.get('code') ?? '')).status, 200)
  return done
}

async function userOf(login: string): Promise<Json> {
  return (await root().get('/user', { type: 'sso' })).body.find(({ user }: Json) => user.login === login)
}

test('the key is never shown again, and what cannot work is refused with its place', async () => {
  assert.equal((await root().get(path)).body.key, '***')
  const wrong: [more: Json, place: string][] = [
    [{ signrequest: 'sha1' }, '/signrequest'],
    [{ key: ofStranger.key }, '/key'],
    [{ key: 'abc' }, '/key'],
    [{ cert: '' }, '/cert'],
    [{ metadata: '', url: 'http://idp.example.org' }, '/url'],
    [{ url: 'https://idp.example.org/metadata' }, '/url'],
    [{ usermapping: [] }, '/usermapping'],
    [{ entry_js: 'x' }, '/entry_js'],
    [
      { providers: [{ ...(({ usermapping, metadata }) => ({ usermapping, metadata }))(configured()), name: 'saml' }] },
      '/providers',
    ],
  ]
  for (const [more, place] of wrong) {
    const { status, body } = await root().post('/config', { system: { config: { saml: configured(more) } } })
    assert.deepEqual([status, body.parameters?.path], [400, `system/config/saml${place}`], JSON.stringify(body))
  }
})

test('the metadata name address, audience and certificate', async () => {
  const { status, body } = await new TestVisitor(svc).get('/api/saml/metadata')
  assert.equal(status, 200)
  assert.match(body, /entityID="http:\/\/localhost:8080\/api\/saml\/metadata"/)
  assert.match(body, /Location="http:\/\/localhost:8080\/api\/saml\/acs"/)
  assert.ok(body.replaceAll(/\s/g, '').includes(ofService.cert.split('\n').slice(1, -1).join('')))
  assert.doesNotMatch(body, /PRIVATE/)
})

test('CLIENT-026 requests are signed; the assertion is posted to /api/saml/acs; its user is made and put into groups', async () => {
  await createGroups(svc, {
    group: { name: 'Staff' },
    _auth_method_group_maps: { sso: [{ method: 'eq', value: 'staff' }] },
  })
  const page = await new TestVisitor(svc).authorize()
  assert.match(unescapeHtml(page.body), /auth_method=saml[^"]*">Sign in with SAML</)
  const { address } = await leave()
  assert.equal(address.origin + address.pathname, 'https://idp.example.org/sso')
  await createUsers(svc, { user: { login: 'local' } })
  const withCredentials = await leave({ login: 'local', password: 'local' })
  assert.equal(withCredentials.address.origin, 'https://idp.example.org', 'it takes no credentials')
  const [query = '', signature = ''] = address.search.slice(1).split('&Signature=')
  const verifier = createVerify('sha256').update(query)
  assert.ok(verifier.verify(ofService.cert, Buffer.from(decodeURIComponent(signature), 'base64')))
  await signInAs('anna')
  const anna = await userOf('anna')
  assert.deepEqual([anna.user.type, anna.user.reference, anna.user.email], ['sso', 'anna', 'anna@example.org'])
  assert.ok(anna._groups.some((one: Json) => one.group.name === 'Staff' && one._automatic_auth.type === 'sso'))
  const login = (await eventsOf(svc, 'USER_LOGIN')).at(-1)?.event.info
  assert.deepEqual([login.method, login.idp], ['saml', entityId])
  assert.match(JSON.stringify(await eventsOf(svc, 'SAML_DEBUG')), /attributes: nameID, mail, role/)
})

test('the response may be signed in place of the assertion, and the assertion may be encrypted', async () => {
  await signInAs('ben', (said) => signed(response(assertion(said), said), 'Response'))
  await signInAs('ben', async (said) => response(await encrypted(signed(assertion(said), 'Assertion')), said))
  await signInAs('ben', async (said) => signed(response(await encrypted(assertion(said)), said), 'Response'))
})

const dsig = 'http://www.w3.org/2000/09/xmldsig#'
const enc = 'http://www.w3.org/2001/04/xmlenc#'
const sha256 = { signature: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256', digest: `${enc}sha256` }

/** What older providers do, and the setting that takes it. */
const older: [setting: string, make: (said: Said) => string | Promise<string>][] = [
  [
    'sha1',
    (said) =>
      response(signed(assertion(said), 'Assertion', ofProvider, { ...sha256, signature: `${dsig}rsa-sha1` }), said),
  ],
  [
    'sha1',
    (said) => response(signed(assertion(said), 'Assertion', ofProvider, { ...sha256, digest: `${dsig}sha1` }), said),
  ],
  [
    'sha1',
    async (said) => {
      const inner = signed(assertion(said), 'Assertion', ofProvider, {
        signature: `${dsig}rsa-sha1`,
        digest: `${dsig}sha1`,
      })
      return response(await encrypted(inner), said)
    },
  ],
  [
    'rsa-1_5',
    async (said) => response(await encrypted(signed(assertion(said), 'Assertion'), { key: `${enc}rsa-1_5` }), said),
  ],
  ...['aes128-cbc', 'aes256-cbc'].map((content): (typeof older)[number] => [
    'cbc',
    async (said) =>
      response(await encrypted(signed(assertion(said), 'Assertion'), { content: `${enc}${content}` }), said),
  ]),
  [
    '3des',
    async (said) =>
      response(await encrypted(signed(assertion(said), 'Assertion'), { content: `${enc}tripledes-cbc` }), said),
  ],
]

test('older algorithms prove nothing, also within what is encrypted, unless each is allowed by its name', async () => {
  for (const [index, [setting, make]] of older.entries()) {
    const { id, relayState } = await leave()
    const refused = await bring(await make({ name: 'older', inResponseTo: id }), relayState)
    assert.equal(refused.status, 403, `${index} ${setting}`)
    const { info } = (await eventsOf(svc, 'SAML_ERROR')).at(-1)?.event ?? {}
    assert.match(JSON.stringify(info), new RegExp(`older_algorithms: ${setting}`), `${index}`)
  }
  assert.equal(await userOf('older'), undefined)
  for (const [setting, make] of older) {
    const others = ['sha1', 'rsa-1_5', 'cbc', '3des'].filter((one) => one !== setting)
    await configure({ older_algorithms: others })
    const { id, relayState } = await leave()
    assert.equal((await bring(await make({ name: 'older', inResponseTo: id }), relayState)).status, 403, setting)
    await configure({ older_algorithms: [setting] })
    await signInAs('older', make)
  }
  await configure()
})

test('a failure proves nobody, and neither does a session that has ended there', async () => {
  const code = (value: string, inner = '') =>
    `<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${value}">${inner}</samlp:StatusCode>`
  const status = (inner: string) => `<samlp:Status>${inner}</samlp:Status>`
  const at = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()
  const signedAs = (said: Said) => signed(assertion(said), 'Assertion')
  const bad: [what: string, make: (said: Said) => string][] = [
    ...['Responder', 'Requester', 'AuthnFailed', 'success', ''].map((value): (typeof bad)[number] => [
      value,
      (said) => signed(response(assertion(said), said, status(code(value))), 'Response'),
    ]),
    ['beside a success', (said) => response(signedAs(said), said, status(code('Success') + code('Responder')))],
    ['a success within', (said) => response(signedAs(said), said, status(code('Responder', code('Success'))))],
    ['no status', (said) => response(signedAs(said), said, '')],
    ['ended', (said) => wholeOf({ ...said, sessionEnds: at(-120) })],
    ['ended once', (said) => wholeOf({ ...said, sessionEnds: 'some time' })],
  ]
  for (const [what, make] of bad) {
    const { id, relayState } = await leave()
    assert.equal((await bring(make({ name: 'failed', inResponseTo: id }), relayState)).status, 403, what)
  }
  assert.equal(await userOf('failed'), undefined)
  await signInAs('ben', (said) => wholeOf({ ...said, sessionEnds: at(3600) }))
})

test('what is not signed, or not for this sign-in, proves nothing', async () => {
  const bad: [what: string, make: (said: Said) => string | Promise<string>][] = [
    ['unsigned', (said) => response(assertion(said), said)],
    ['of a stranger', (said) => response(signed(assertion(said), 'Assertion', ofStranger), said)],
    ['changed', (said) => wholeOf(said).replace('>eve<', '>anna<')],
    ['comment in the name', (said) => wholeOf(said).replace('>eve<', '>an<!---->na<')],
    ['for another request', (said) => wholeOf({ ...said, confirms: '_other' })],
    ['for no request', (said) => wholeOf({ ...said, confirms: null })],
    ['for another service', (said) => wholeOf({ ...said, audience: 'https://other.example.org' })],
    ['for whomever', (said) => wholeOf({ ...said, audience: null })],
    ['for another address', (said) => wholeOf({ ...said, recipient: 'https://other.example.org/acs' })],
    ['too late', (said) => wholeOf({ ...said, ends: -120_000 })],
    ['of another issuer', (said) => wholeOf({ ...said, issuer: 'https://other.example.org' })],
    [
      'two assertions',
      (said) => response(signed(assertion(said), 'Assertion') + assertion({ ...said, name: 'anna' }), said),
    ],
    ['encrypted and unsigned', async (said) => response(await encrypted(assertion(said)), said)],
    ['no XML', () => 'abc'],
    ['nothing', () => ''],
  ]
  for (const [what, make] of bad) {
    const { visitor, id, relayState } = await leave()
    const answer = await bring(await make({ name: 'eve', inResponseTo: id }), relayState)
    assert.deepEqual([answer.status, /proves nothing/.test(answer.body)], [403, true], what)
    assert.equal((await visitor.get('/api/saml/continue', { flow: relayState, proof: 'x' })).status, 400, what)
  }
  assert.equal(await userOf('eve'), undefined)
})

test('signature wrapping: whatever is put around the signed assertion, its own name counts or none', async () => {
  const wraps: ((evil: string, good: string) => string)[] = [
    // The signed one hidden in an extension, in an object of the signature, in the forged one; before and behind.
    (evil, good) => `<samlp:Extensions>${good}</samlp:Extensions>${evil}`,
    (evil, good) => evil.replace('</saml:Issuer>', `</saml:Issuer><x>${good}</x>`),
    (evil, good) => evil.replace('</saml:Assertion>', `<saml:Advice>${good}</saml:Advice></saml:Assertion>`),
    (evil, good) => {
      const [signature = ''] = /<(?:ds:)?Signature[\s\S]*?<\/(?:ds:)?Signature>/.exec(good) ?? []
      const bare = good.replace(signature, '')
      const holding = signature.replace(
        /<\/((?:ds:)?)Signature>/,
        (_, p: string) => `<${p}Object>${bare}</${p}Object></${p}Signature>`,
      )
      return evil.replace('</saml:Issuer>', `</saml:Issuer>${holding}`)
    },
    (evil, good) => evil + good,
    (evil, good) => good + evil,
  ]
  for (const [index, wrap] of wraps.entries()) {
    for (const sameId of [false, true]) {
      const { id, relayState } = await leave()
      const said = { name: 'mallory', inResponseTo: id, id: '_signed' }
      const good = signed(assertion(said), 'Assertion')
      const evil = assertion({ ...said, name: 'victim', id: sameId ? '_signed' : '_evil' })
      const answer = await bring(response(wrap(evil, good), said), relayState)
      assert.equal(answer.status, 403, `${index} ${sameId}`)
    }
  }
  assert.equal(await userOf('victim'), undefined)
})

test('entities, instructions, depth and size are refused before anything reads them', async () => {
  const long = 'x'.repeat(300_000)
  for (const make of [
    (xml: string) => `<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>${xml}`,
    (xml: string) => `<!DOCTYPE r SYSTEM "file:///etc/passwd">${xml}`,
    (xml: string) => `<?xml-stylesheet href="http://127.0.0.1:9/"?>${xml}`,
    (xml: string) => xml.replace('</samlp:Response>', `${'<a>'.repeat(5000)}${'</a>'.repeat(5000)}</samlp:Response>`),
    (xml: string) => xml.replace('</samlp:Response>', `<a>${long}</a></samlp:Response>`),
  ]) {
    const { id, relayState } = await leave()
    const answer = await bring(make(wholeOf({ name: 'eve', inResponseTo: id })), relayState)
    assert.equal(answer.status, 403, answer.body.slice(0, 200))
  }
})

test('an assertion counts once, in all processes, and only in the browser that began and brought it', async () => {
  await using other = await attachService(svc.dsn)
  const { visitor, id, relayState } = await leave()
  const xml = wholeOf({ name: 'cora', inResponseTo: id })
  const answers = await Promise.all([bring(xml, relayState), bring(xml, relayState, other)])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 403])
  const brought = answers.find(({ status }) => status === 303) ?? answers[0]
  assert.ok(brought)
  assert.equal((await bring(xml, relayState, other)).status, 400)
  // Who has the secret lacks the cookie, and who has the cookie lacks the secret.
  assert.equal((await go(new TestVisitor(svc), brought)).status, 400)
  assert.equal((await visitor.get('/api/saml/continue', { flow: relayState })).status, 400)
  assert.doesNotMatch(String(brought.headers['set-cookie']), /browser-id|keep-login/)
  assert.equal((await go(visitor, brought)).status, 303)
  assert.equal((await go(visitor, brought)).status, 400)
  // For another sign-in it is of no use either.
  const next = await leave()
  assert.equal((await bring(xml, next.relayState)).status, 403)
  assert.equal((await bring(xml, '')).status, 400)
})

/** Signs in on a page for an address of this service: what the browser then has. */
async function sessionOf(name: string): Promise<{ visitor: TestVisitor; headers: Record<string, string> }> {
  const { visitor, id, relayState } = await leave()
  const back = await go(visitor, await bring(wholeOf({ name, inResponseTo: id }), relayState))
  const done = await go(visitor, back)
  const { body } = await visitor.redeem(done.location?.searchParams.get('code') ?? '')
  const cookie = [...visitor.cookies].map(([key, value]) => `${key}=${value}`).join('; ')
  return { visitor, headers: { authorization: `Bearer ${body.access_token}`, cookie } }
}
const isOpen = async ({ headers }: { headers: Record<string, string> }): Promise<boolean> =>
  (await svc.inject({ url: '/api/v1/user/session', headers })).statusCode === 200
const fromProvider = (query: string): Promise<BrowserAnswer> =>
  new TestVisitor(svc).get(`/api/saml/logout?${query}`, {}, { 'sec-fetch-site': 'cross-site' })

test('signing out here leads to the provider, with a signed request; its answer is checked', async () => {
  const session = await sessionOf('gina')
  const gone = await session.visitor.get('/logout')
  assert.equal(gone.status, 303, gone.body)
  assert.equal(await isOpen(session), false)
  const address = gone.location ?? new URL('x:')
  assert.equal(address.origin + address.pathname, 'https://idp.example.org/slo')
  const [query = '', signature = ''] = address.search.slice(1).split('&Signature=')
  const verifier = createVerify('sha256').update(query)
  assert.ok(verifier.verify(ofService.cert, Buffer.from(decodeURIComponent(signature), 'base64')))
  const { xml, id } = requestIn(address)
  assert.match(xml, /<saml:NameID [^>]*>gina<[\s\S]*SessionIndex[^>]*>_s</)
  assert.match(xml, /Destination="https:\/\/idp\.example\.org\/slo"/)
  const answer = signOutMessage('Response', succeeded, { id: `_answer${id}` })
  assert.match((await fromProvider(signedQuery('SAMLResponse', answer))).body, /<h1>Signed out<\/h1>/)
  assert.equal((await fromProvider(signedQuery('SAMLResponse', answer, { by: ofStranger }))).status, 400)
  const { body } = await new TestVisitor(svc).get('/api/saml/metadata')
  assert.match(
    body,
    /SingleLogoutService Binding="[^"]*HTTP-Redirect" Location="http:\/\/localhost:8080\/api\/saml\/logout"/,
  )
})

test('a provider signs people out, in all their browsers; the answer goes back signed', async () => {
  const [one, two, other] = [await sessionOf('hugo'), await sessionOf('hugo'), await sessionOf('ida')]
  // A code that is not used yet goes with them.
  const { visitor, id, relayState } = await leave()
  const back = await go(visitor, await bring(wholeOf({ name: 'hugo', inResponseTo: id }), relayState))
  const code = (await go(visitor, back)).location?.searchParams.get('code') ?? ''
  const elsewhere = signOutMessage('Request', aboutName('hugo', '_another'))
  assert.equal((await fromProvider(signedQuery('SAMLRequest', elsewhere))).status, 303)
  assert.equal(await isOpen(one), true, 'of another session there')
  const query = signedQuery('SAMLRequest', signOutMessage('Request', aboutName('hugo'), { id: '_out' }), {
    relayState: 'theirs & (more)!',
    hash: 'sha512',
  })
  const answer = await fromProvider(query)
  assert.equal(answer.status, 303, answer.body)
  const { location } = answer
  assert.equal((location?.origin ?? '') + location?.pathname, 'https://idp.example.org/slo-done')
  assert.equal(location?.searchParams.get('RelayState'), 'theirs & (more)!')
  const [signedPart = '', signature = ''] = (location?.search ?? '').slice(1).split('&Signature=')
  const verifier = createVerify('sha256').update(signedPart)
  assert.ok(verifier.verify(ofService.cert, Buffer.from(decodeURIComponent(signature), 'base64')))
  assert.deepEqual([await isOpen(one), await isOpen(two), await isOpen(other)], [false, false, true])
  assert.equal((await visitor.redeem(code)).body.error, 'invalid_grant')
  assert.equal((await fromProvider(query)).status, 400, 'it counts once')
  assert.equal((await eventsOf(svc, 'USER_LOGOUT')).at(-1)?.event.info.reason, 'signed_out')
})

test('a request to sign out that is not signed, not for this service or not of now ends nothing', async () => {
  const session = await sessionOf('jane')
  const about = aboutName('jane')
  const request = (more: Parameters<typeof signOutMessage>[2] = {}) => signOutMessage('Request', about, more)
  const good = signedQuery('SAMLRequest', request())
  const huge = request().replace('</samlp:LogoutRequest>', `${' '.repeat(200_000)}</samlp:LogoutRequest>`)
  const bad: [what: string, query: string][] = [
    ['unsigned', good.replace(/&Signature=.*/, '')],
    ['signed by nobody', good.replace(/&Signature=.*/, '&Signature=')],
    ['of a stranger', signedQuery('SAMLRequest', request(), { by: ofStranger })],
    ['with sha1', signedQuery('SAMLRequest', request(), { hash: 'sha1' })],
    ['changed', good.replace('SAMLRequest=', 'RelayState=x&SAMLRequest=')],
    ['twice', `${signedQuery('SAMLRequest', request())}&SAMLRequest=x`],
    ['both', `${signedQuery('SAMLRequest', request())}&SAMLResponse=x`],
    ['another service', signedQuery('SAMLRequest', request({ destination: 'https://other.example.org/' }))],
    ['another issuer', signedQuery('SAMLRequest', request({ issuer: 'https://other.example.org' }))],
    ['too late', signedQuery('SAMLRequest', request({ ends: -120_000 }))],
    ['too early', signedQuery('SAMLRequest', request({ issued: 120_000 }))],
    ['about nobody', signedQuery('SAMLRequest', signOutMessage('Request', ''))],
    ['a document type', signedQuery('SAMLRequest', `<!DOCTYPE r [<!ENTITY a "a">]>${request()}`)],
    ['large once unpacked', signedQuery('SAMLRequest', huge)],
    ['another message', signedQuery('SAMLRequest', wholeOf({ name: 'jane', inResponseTo: '_x' }))],
    ['no XML', signedQuery('SAMLRequest', 'abc')],
    ['nothing', ''],
  ]
  for (const [what, query] of bad) {
    const answer = await fromProvider(query)
    assert.equal(answer.status, 400, what)
  }
  assert.equal(await isOpen(session), true)
  assert.equal((await fromProvider(good)).status, 303, signOutUrl)
  assert.equal(await isOpen(session), false)
})

test('who begins at the provider is refused, or led there again where the provider may begin; an assertion counts once', async () => {
  const unasked = () => wholeOf({ name: 'kira', inResponseTo: '', confirms: null })
  assert.equal((await bring(unasked(), '')).status, 400, 'off from the start')
  await configure({ idp_initiated: 'https://assets.example.org/' })
  try {
    const xml = unasked()
    const first = await bring(xml, 'whatever they say')
    assert.deepEqual([first.status, first.location?.href], [303, 'https://assets.example.org/'])
    assert.equal(await userOf('kira'), undefined, 'nobody is signed in by it')
    assert.equal((await bring(xml, '')).status, 400, 'used before')
    for (const make of [
      () =>
        response(signed(assertion({ name: 'kira', inResponseTo: '', confirms: null }), 'Assertion', ofStranger), {
          inResponseTo: '',
        }),
      () => wholeOf({ name: 'kira', inResponseTo: '_of another sign-in' }),
      () => wholeOf({ name: 'kira', inResponseTo: '', confirms: null, audience: 'https://other.example.org' }),
      () => 'abc',
    ]) {
      assert.equal((await bring(make(), '')).status, 400)
    }
    // The same browser begins its sign-in: it goes to the provider by itself, once.
    const visitor = new TestVisitor(svc)
    visitor.cookies.set('svc-provider', /svc-provider=([^;]+)/.exec(String(first.headers['set-cookie']))?.[1] ?? '')
    const led = await visitor.authorize()
    assert.deepEqual([led.status, led.location?.host], [302, 'idp.example.org'])
    assert.equal((await visitor.authorize()).status, 200)
    visitor.cookies.set('svc-provider', 'nobody')
    assert.equal((await visitor.authorize()).status, 200)
  } finally {
    await configure()
  }
})

test('the test of a provider says what its metadata have, and the status which certificates there are', async () => {
  const check = (body: Json, as = root()) => as.post('/system/directory/test', body)
  const { status, body } = await check({ kind: 'saml' })
  assert.deepEqual([status, body.ok], [200, true], JSON.stringify(body))
  assert.match(
    body.steps.join('\n'),
    /identity provider https:\/\/idp\.example\.org\/entity[\s\S]*signing out goes to[\s\S]*valid to 2126/,
  )
  assert.doesNotMatch(JSON.stringify(body), /PRIVATE/)
  for (const [wrong, path] of [
    [{ kind: 'saml', provider: 'nobody' }, 'provider'],
    [{ kind: 'saml', login: 'anna' }, 'login'],
    [{ kind: 'ldap', provider: 'saml' }, 'provider'],
    [{ kind: 'ldap', password: 'x' }, 'login'],
  ] as const) {
    const answer = await check(wrong)
    assert.deepEqual([answer.status, answer.body.parameters?.path], [400, path], JSON.stringify(wrong))
  }
  for (const kind of ['openid', 'ldap']) {
    const none = await check({ kind })
    assert.deepEqual([none.status, none.body.ok, none.body.steps.length], [200, false, 1], kind)
  }
  await createUsers(svc, { user: { login: 'plain' } })
  assert.equal((await check({ kind: 'saml' }, await svc.as('plain'))).status, 403)
  const { certificates } = (await root().get('/system/status')).body
  assert.deepEqual(
    certificates.map((one: Json) => [one.of, one.expiring]),
    [
      ['saml.cert', false],
      ['saml provider saml', false],
    ],
  )
  await configure({ metadata: metadataOf({ cert: 'abc' }) })
  const unreadable = await check({ kind: 'saml' })
  assert.match(unreadable.body.steps.join(), /that cannot be read/)
  await configure({ metadata: '<a/>' })
  const broken = await check({ kind: 'saml' })
  assert.deepEqual([broken.status, broken.body.ok], [200, false])
  assert.match(broken.body.steps.at(-1), /no identity provider/)
  await configure()
})

test('several identity providers: each signs for itself', async () => {
  const second = { id: 'https://second.example.org', cert: ofStranger.cert, location: 'https://second.example.org/sso' }
  const { usermapping } = configured()
  const federation = metadataOf({}, second)
  await configure({
    metadata: federation,
    idp_entity_id: entityId,
    providers: [{ name: 'second', metadata: federation, idp_entity_id: second.id, usermapping }],
  })
  assert.equal((await new TestVisitor(svc).authorize({ auth_method: 'saml' })).status, 200)
  const left = await leave({ provider: 'second' })
  assert.equal(left.address.origin, 'https://second.example.org')
  const said = { name: 'dora', inResponseTo: left.id, issuer: second.id }
  const forged = response(signed(assertion(said), 'Assertion', ofProvider), said)
  assert.equal((await bring(forged, left.relayState)).status, 403)
  const own = response(signed(assertion(said), 'Assertion', ofStranger), said)
  assert.equal((await bring(own, left.relayState)).status, 303)
  await configure()
})

test('an assertion with another spelling of a name is another person, or a conflict; one without the name is nobody', async () => {
  await configure()
  const attributes = (mail: string) => ({ mail: [mail], role: ['staff'] })
  await signInAs('lovelace', (said) => wholeOf({ ...said, attributes: attributes('lovelace@example.org') }))
  const { user: stored } = await userOf('lovelace')
  const attempt = async (name: string, more: Json, mail = 'other@example.org', extra: Json = {}) => {
    await configure(more)
    const { visitor, id, relayState } = await leave()
    const xml = wholeOf({ name, inResponseTo: id, attributes: { ...attributes(mail), ...extra } })
    const brought = await bring(xml, relayState)
    if (brought.status === 303) assert.equal((await go(visitor, brought)).status, 303)
    const [{ user: now }] = (await root().get(`/user/${stored._id}`)).body
    assert.deepEqual([now.login, now.email, now.reference], [stored.login, stored.email, stored.reference], name)
    return brought.status
  }
  const login = { userupdatecolumn: 'login', usermapping: [{ key: 'login', value: '%(nameID)s' }] }
  const email = { userupdatecolumn: 'email', usermapping: [{ key: 'email', value: '%(mail)s' }] }
  for (const name of ['LOVELACE', 'ｌovelace', 'ⓛovelace', 'lovelace ', 'love\tlace\u00a0']) {
    assert.equal(await attempt(name, {}), 403, name)
    assert.equal(await attempt(name, login), 403, name)
  }
  for (const mail of [
    'Lovelace@example.org',
    'LOVELACE@EXAMPLE.ORG',
    'lovelace@ｅxample.org',
    ' lovelace@example.org',
  ]) {
    assert.equal(await attempt('someone', email, mail), 403, mail)
  }
  assert.equal(await attempt('someone', email, 'lovelace@example.org', { email_verified: ['false'] }), 403)
  const missing = {
    usermapping: [
      { key: 'reference', value: 'idp:%(employeeNumber)s' },
      { key: 'login', value: '%(nameID)s' },
    ],
  }
  assert.equal(await attempt('first', missing), 403, 'what is written around a name is no name')
  assert.equal(
    await attempt('first', {
      usermapping: [
        { key: 'reference', value: 'all' },
        { key: 'login', value: '%(nameID)s' },
      ],
    }),
    403,
  )
  assert.match(JSON.stringify((await eventsOf(svc, 'SAML_ERROR')).at(-1)?.event.info), /no value for reference/)
  await configure()
})

test('who is disabled, or belongs to this instance, does not get in; an unreadable provider is told so', async () => {
  await createUsers(svc, { user: { login: 'here', email: 'here@example.org' } })
  const { id, relayState } = await leave()
  const conflict = await bring(wholeOf({ name: 'here', inResponseTo: id }), relayState)
  assert.deepEqual([conflict.status, /belongs to another account here/.test(conflict.body)], [403, true])
  await signInAs('off')
  const off = await userOf('off')
  await root().post('/user', [{ user: { _id: off.user._id, _version: off.user._version, login_disabled: true } }])
  const left = await leave()
  assert.equal((await bring(wholeOf({ name: 'off', inResponseTo: left.id }), left.relayState)).status, 403)
  await configure({ metadata: '<a/>' })
  assert.equal((await new TestVisitor(svc).authorize({ auth_method: 'saml' })).status, 503)
  await configure({ metadata: '', url: '' })
  assert.equal((await new TestVisitor(svc).authorize({ auth_method: 'saml' })).status, 400)
  assert.equal((await new TestVisitor(svc).get('/api/saml/metadata', {}, { accept: 'application/json' })).status, 404)
})

test('the button of the provider stands first, and the own form has a name, when that is configured', async () => {
  await configure()
  const page = async () => (await new TestVisitor(svc).authorize({ auth_method: 'auto,native' })).body
  const order = (body: string) => [/class="way"/, /<form /, /Accounts of the museum/].map((part) => body.search(part))
  const [button, form] = order(await page()) as [number, number]
  assert.ok(form > 0 && button > form)
  await configure({ loginpreferred: true, loginlink_internal: { 'en-US': 'Accounts of the museum' } })
  const preferred = await page()
  const [first, own, heading] = order(preferred) as [number, number, number]
  assert.ok(first > 0 && first < heading && heading < own, preferred)
  assert.equal(preferred.split('class="way"').length, 2)
  await configure()
})

test('people are sent to the provider at once, when that is configured, unless their client asks for another way', async () => {
  await configure({ loginredirect: true })
  const gone = await new TestVisitor(svc).authorize()
  assert.deepEqual([gone.status, gone.location?.host], [302, 'idp.example.org'], gone.body)
  for (const more of [{ auth_method: 'native' }, { again: '1' }, { auth_method: 'native,ldap' }]) {
    const page = await new TestVisitor(svc).authorize(more)
    assert.deepEqual([page.status, page.body.includes('name="password"')], [200, true], JSON.stringify(more))
  }
  const typed = await new TestVisitor(svc).authorize({ login: 'root', password: 'wrong' })
  assert.equal(typed.status, 200)
  // Without a provider there is nowhere to go.
  await configure({ loginredirect: true, metadata: '', providers: [] })
  assert.equal((await new TestVisitor(svc).authorize()).status, 200)
  await configure()
})
