import assert from 'node:assert/strict'
import { createVerify } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Json } from '../../support/client.ts'
import { attachService, startService, type TestService } from '../../support/service.ts'
import { type BrowserAnswer, TestVisitor, unescapeHtml } from '../sign-in-browser.ts'
import { createGroups, createUsers, eventsOf } from '../support.ts'
import { ofProvider, ofService, ofStranger } from './certificates.ts'
import {
  assertion,
  encrypted,
  entityId,
  metadataOf,
  requestIn,
  response,
  type Said,
  signed,
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
  const [query = '', signature = ''] = address.search.slice(1).split('&Signature=')
  const verifier = createVerify('sha256').update(query)
  assert.ok(verifier.verify(ofService.cert, Buffer.from(decodeURIComponent(signature), 'base64')))
  await signInAs('anna')
  const anna = await userOf('anna')
  assert.deepEqual([anna.user.type, anna.user.reference, anna.user.email], ['sso', 'anna', 'anna@example.org'])
  assert.ok(anna._groups.some((one: Json) => one.group.name === 'Staff' && one._automatic_auth.type === 'sso'))
  assert.equal((await eventsOf(svc, 'USER_LOGIN')).at(-1)?.event.info.method, 'saml')
  assert.match(JSON.stringify(await eventsOf(svc, 'SAML_DEBUG')), /attributes: nameID, mail, role/)
})

test('the response may be signed in place of the assertion, and the assertion may be encrypted', async () => {
  await signInAs('ben', (said) => signed(response(assertion(said), said), 'Response'))
  await signInAs('ben', async (said) => response(await encrypted(signed(assertion(said), 'Assertion')), said))
  await signInAs('ben', async (said) => signed(response(await encrypted(assertion(said)), said), 'Response'))
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
