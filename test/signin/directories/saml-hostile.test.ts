import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { after, before, test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import { assertHarmlessXml, messageLimits, type XmlLimits } from '../../../src/signin/directories/saml/harmless-xml.ts'
import { createSamlReader } from '../../../src/signin/directories/saml/reader.ts'
import { startService, type TestService } from '../../support/service.ts'
import { type BrowserAnswer, TestVisitor } from '../sign-in-browser.ts'
import { ofService } from './certificates.ts'
import { metadataOf, requestIn, succeeded } from './identity-provider.ts'

let svc: TestService
before(async () => {
  svc = await startService()
  const saml = {
    metadata: metadataOf({}),
    loginlink: { 'en-US': 'Sign in with SAML' },
    cert: ofService.cert,
    key: ofService.key,
    idp_initiated: 'https://app.example.org/',
    usermapping: [
      { key: 'reference', value: '%(nameID)s' },
      { key: 'login', value: '%(nameID)s' },
    ],
  }
  const { status, body } = await svc.as('root').post('/config', { system: { config: { saml } } })
  assert.equal(status, 200, JSON.stringify(body))
})
after(() => svc[Symbol.asyncDispose]())

const space = 'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"'
const responseWith = (inner: string, more = ''): string =>
  `<samlp:Response ${space} ID="_1"${more}>${succeeded}${inner}</samlp:Response>`

const namespaces = Array.from({ length: 45 }, (_, at) => `xmlns:n${at}="urn:${at}"`)

/** What took seconds or minutes, or went past a limit. */
const hostile: [what: string, xml: string, reason: RegExp][] = [
  ['beginnings of elements', '<'.repeat(190_000), /well-formed/],
  ['elements in each other', '<a>'.repeat(60_000), /too deep/],
  ['elements that seem to end in a value', `${'<a b="/>">'.repeat(50)}${'</a>'.repeat(50)}`, /too deep/],
  ['comments that do not end', '<!--'.repeat(40_000), /well-formed/],
  ['comments', responseWith('<!---->'.repeat(20_000)), /too many elements/],
  ['empty elements', responseWith('<a/>'.repeat(20_000)), /too many elements/],
  ['quotes', `<a b="${'"c="'.repeat(40_000)}`, /well-formed|too many/],
  ['attributes', `<a ${Array.from({ length: 10_000 }, (_, at) => `a${at}=""`).join(' ')}/>`, /too many attributes/],
  ['namespaces', responseWith(`<a ${namespaces.slice(0, 39).join(' ')}>${'<b/>'.repeat(9000)}</a>`), /namespaces/],
  [
    'namespaces below each other',
    responseWith(`<a ${namespaces.slice(0, 20).join(' ')}><b ${namespaces.slice(20).join(' ')}/></a>`),
    /namespaces/,
  ],
  ['a long name', `<${'a'.repeat(100_000)}/>`, /name that is too long/],
  ['a document type behind a comment', `<!-- > --><!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>`, /document type/],
  ['a document type in the middle', `<a><!DOCTYPE b></a>`, /document type/],
  ['an instruction', `<a><?xml version="1.0"?></a>`, /instructions/],
]

const well: string[] = [
  responseWith('<saml:Assertion a=\'">"\' b="/>"><!-- <a> --><![CDATA[<a><a><a>]]>&lt;</saml:Assertion >'),
  `\ufeff<?xml version="1.0" encoding="UTF-8"?>\n<a xmlns="x"\n b = "c"/>\n`,
  '<a><b></b><b/></a><!-- end -->',
]

const wrong = [
  '',
  'a',
  '<a>',
  '<a></b>',
  '<a/><a/>',
  '<a/>x',
  '<a b></a>',
  '<a b=c/>',
  '<a b="<"/>',
  '<a b="1" b="2"/>',
  '<a b="1"c="2"/>',
  '<a / >',
  '</a>',
  '<a><b></a></b>',
  '<![CDATA[a]]><a/>',
  '< a/>',
  '<a',
]

test('one walk finds what is no message, by quotes, comments and CDATA as a parser has them', () => {
  for (const xml of well) assertHarmlessXml(xml, messageLimits)
  for (const xml of wrong)
    assert.throws(() => assertHarmlessXml(xml, messageLimits), /well-formed|twice|document type/, xml)
  for (const [what, xml, reason] of hostile) assert.throws(() => assertHarmlessXml(xml, messageLimits), reason, what)
})

interface Element {
  readonly name: string
  readonly attributes: Record<string, string>
  readonly children: readonly (Element | string)[]
}
const name = fc.constantFrom('a', 'b:c', 'é', '_d-1')
const element: fc.Arbitrary<Element> = fc.letrec<{ it: Element }>((tie) => ({
  it: fc.record({
    name,
    attributes: fc.dictionary(fc.constantFrom('x', 'y:z', 'xmlns', 'xmlns:q'), fc.constantFrom('', '/>', "it's >")),
    children: fc.array(
      fc.oneof(
        { maxDepth: 4, depthSize: 'small' },
        fc.constantFrom('t', '&amp;', '<!-- </a> <b> -->', '<![CDATA[</a>]]>'),
        tie('it'),
      ),
      { maxLength: 3 },
    ),
  }),
})).it
const written = ({ name, attributes, children }: Element): string =>
  `<${name}${Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${value}"`)
    .join('')}>${children.map((child) => (typeof child === 'string' ? child : written(child))).join('')}</${name}>`
const elementsIn = (one: Element): Element[] => [
  one,
  ...one.children.flatMap((child) => (typeof child === 'string' ? [] : elementsIn(child))),
]
const depthOf = (one: Element): number =>
  1 + Math.max(0, ...one.children.map((child) => (typeof child === 'string' ? 0 : depthOf(child))))

test('what is counted is what there is: any document is taken at its own numbers and refused below them', () => {
  fc.assert(
    fc.property(element, (root) => {
      const xml = written(root)
      const all = elementsIn(root)
      const declared = (one: Element): number =>
        Object.keys(one.attributes).filter((key) => key.startsWith('xmlns')).length
      const tags = xml.replaceAll(/<!--.*?-->|<!\[CDATA\[.*?\]\]>/g, '!').match(/<|!/g)?.length ?? 0
      const own: XmlLimits = {
        characters: xml.length,
        pieces: tags,
        attributes: all.reduce((sum, one) => sum + Object.keys(one.attributes).length, 0),
        namespaces: all.reduce((sum, one) => sum + declared(one), 0),
        namespacesInScope: 1000,
        depth: depthOf(root),
      }
      // Quotes of the values are escaped by none here, so that one may hold the end of a tag.
      assertHarmlessXml(xml, own)
      for (const key of ['characters', 'pieces', 'attributes', 'namespaces', 'depth'] as const) {
        if (own[key] > 0) assert.throws(() => assertHarmlessXml(xml, { ...own, [key]: own[key] - 1 }), key)
      }
    }),
    { numRuns: 300 },
  )
})

function bring(xml: string, relayState: string): Promise<BrowserAnswer> {
  const form = { SAMLResponse: Buffer.from(xml).toString('base64'), RelayState: relayState }
  const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://idp.example.org' }
  return new TestVisitor(svc).post('/api/saml/acs', form, headers)
}

async function relayState(): Promise<string> {
  const gone = await new TestVisitor(svc).authorize({ auth_method: 'saml' })
  assert.equal(gone.status, 302, gone.body)
  return requestIn(gone.location ?? new URL('x:')).relayState
}

/** Milliseconds for which others had to wait at most. */
async function longestWait(work: () => Promise<void>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  await work()
  delay.disable()
  return delay.max / 1e6
}

test('hostile messages are refused at once, with a page that says so, in a sign-in and outside of one', async () => {
  const waited = await longestWait(async () => {
    for (const [what, xml] of hostile) {
      const known = await bring(xml, await relayState())
      assert.deepEqual([known.status, /proves nothing/.test(known.body)], [403, true], what)
      const unknown = await bring(xml, 'x')
      assert.ok([400, 401, 403].includes(unknown.status), `${what}: ${unknown.status}`)
      const query = new URLSearchParams({ SAMLRequest: deflateRawSync(xml).toString('base64') })
      const out = await new TestVisitor(svc).get(`/api/saml/logout?${query}`, {}, { 'sec-fetch-site': 'cross-site' })
      assert.equal(out.status, 400, `${what}: ${out.body}`)
      assert.match(out.body, /message of the identity provider was not accepted/)
    }
  })
  // Each of them alone took 3 to 38 seconds.
  assert.ok(waited < 2500, `others waited for ${waited} ms`)
})

test('a message within the limits is read beside the event loop, and others go on meanwhile', async () => {
  const xml = responseWith(`<saml:Assertion>${'<a b="c"/>'.repeat(2900)}</saml:Assertion>`)
  assertHarmlessXml(xml, messageLimits)
  const relays = await Promise.all([relayState(), relayState(), relayState()])
  const waited = await longestWait(async () => {
    const answers = await Promise.all(relays.map((relay) => bring(xml, relay)))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [403, 403, 403],
    )
  })
  assert.ok(waited < 2500, `others waited for ${waited} ms`)
})

test('what takes too long is given up, and the next message is read', async () => {
  const xml = metadataOf({})
  const hasty = createSamlReader({ patience: 1 })
  await assert.rejects(hasty('metadata', { xml, entityId: '' }), /not read within 1 ms/)
  const read = createSamlReader({ waiting: 2 })
  const [first, second, third] = await Promise.allSettled([1, 2, 3].map(() => read('metadata', { xml, entityId: '' })))
  assert.equal(first?.status, 'fulfilled')
  assert.equal(second?.status, 'fulfilled')
  assert.match(String((third as PromiseRejectedResult).reason), /too many messages/)
  await assert.rejects(read('issuer', { xml: '<a>' }), /well-formed/)
  assert.equal((await read('metadata', { xml, entityId: '' })).signOnUrl, 'https://idp.example.org/sso')
})
