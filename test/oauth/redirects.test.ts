import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { TestVisitor } from '../signin/sign-in-browser.ts'
import { startService, type TestService } from '../support/service.ts'

const registered = 'https://client.example/cb?x=1'
const good = ['http://localhost:8080/app/callback', registered, 'org.example.app:/cb', 'https://a.portal.example/x']

let svc: TestService
before(async () => {
  svc = await startService({
    loginAllowRedirects: ['https://client.example', 'https://*.portal.example', 'org.example.app:'],
    oauthClients: [
      { id: 'one', secret: null, redirectURIs: [registered, 'org.example.app:/cb'], scopes: null, pkce: 'optional' },
    ],
  })
  // Guests come in at once, so whatever is let through leads somewhere.
  assert.equal((await svc.as('root').post('/config/system/config/login/guest', true)).status, 200)
})
after(() => svc[Symbol.asyncDispose]())

/** Where a browser ends up: it repairs what is no address as the standard of addresses says. */
async function leadsTo(client_id: string, redirect_uri: string): Promise<string | null> {
  const parameters = new TestVisitor(svc).parameters({ client_id, redirect_uri, auth_method: 'anonymous' })
  const url = `/api/oauth2/auth?${new URLSearchParams(parameters)}`
  const answer = await svc.inject({ method: 'GET', url, headers: { host: 'localhost:8080' } })
  const { location } = answer.headers
  if (location === undefined) {
    assert.equal(answer.statusCode, 400, redirect_uri)
    return null
  }
  assert.equal(answer.statusCode, 302)
  assert.match(String(location), /^[\x21-\x7e]+$/)
  return String(location)
}

/** What must never be reached. */
function assertGood(client: string, uri: string, location: string): void {
  const { origin, protocol, hostname, username, hash } = new URL(location, 'http://localhost:8080/api/oauth2/auth')
  assert.deepEqual([username, hash], ['', ''], uri)
  if (client === 'one') {
    assert.ok(location.startsWith(`${registered}&code=`) || location.startsWith('org.example.app:/cb?code='), location)
    return
  }
  const allowed =
    origin === 'http://localhost:8080' ||
    origin === 'https://client.example' ||
    protocol === 'org.example.app:' ||
    (protocol === 'https:' && /^[a-z0-9-]+\.portal\.example$/.test(hostname))
  assert.ok(allowed, `${uri} leads to ${location}`)
}

test('known tricks lead nowhere', async () => {
  const tricks = [
    '//evil.example',
    '/\\evil.example',
    '/app/callback',
    'https:evil.example',
    'https:/evil.example',
    'https:\\\\evil.example',
    'http://localhost:8080@evil.example/',
    'http://localhost:8080%40evil.example/',
    'http://localhost:8080\\@evil.example/',
    'http://localhost:8080.evil.example/',
    'http://localhost:8080#@evil.example/',
    'http://evil.example#http://localhost:8080/',
    'http://evil.example?http://localhost:8080/',
    'http://evil.example\\.localhost:8080/',
    'http://evil。example/',
    'http://localhost:8080/\r\nLocation: https://evil.example',
    'http://local\thost:8080/',
    ' http://localhost:8080/',
    'http://user:pass@localhost:8080/',
    'javascript:alert(1)',
    'JavaScript://localhost:8080/%0aalert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:http://localhost:8080/x',
    'ftp://localhost:8080/',
    'ws://localhost:8080/',
    'http://2130706433:8080/',
    'http://127.0.0.1:8080/',
    'http://[::1]:8080/',
    'https://localhost:8080/',
    'http://localhost/',
    'http:///localhost:8080/',
    'http://localhost:8080/<script>',
    'http://localhost:8080/"onload=',
    `${registered}#x`,
    `${registered}&`,
    'https://client.example/cb',
    'https://client.example/cb?x=1&y=2',
    'https://portal.example/',
    'https://a.b.portal.example/',
    'https://a.portal.example.evil.example/',
    'org.example.app.evil:/cb',
    'org.example:/cb',
    'x'.repeat(5000),
  ]
  for (const uri of tricks) {
    for (const client of ['web-client', 'one']) {
      // Of an allowed origin; the client without registered addresses may name them.
      if (client === 'web-client' && uri.startsWith('https://client.example/cb') && !uri.includes('#')) continue
      assert.equal(await leadsTo(client, uri), null, `${client}: ${uri}`)
    }
  }
  for (const uri of good) assert.ok(await leadsTo('web-client', uri), uri)
  assert.ok(await leadsTo('one', registered))
})

test('the address that a request was sent to is the service only where it is loopback, or configured', async () => {
  const leads = async (host: string): Promise<boolean> => {
    const parameters = new TestVisitor(svc).parameters({
      client_id: 'web-client',
      redirect_uri: `http://${host}/cb`,
      auth_method: 'anonymous',
    })
    const url = `/api/oauth2/auth?${new URLSearchParams(parameters)}`
    const answer = await svc.inject({ method: 'GET', url, headers: { host } })
    return answer.statusCode < 400
  }
  for (const host of ['localhost:8080', 'localhost:3000', '127.0.0.1:8080', '127.1.2.3', '[::1]:9000'])
    assert.equal(await leads(host), true, host)
  for (const host of [
    'evil.example',
    'evil.example:8080',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '10.0.0.1',
    '[fe80::1]',
    '0.0.0.0:8080',
  ])
    assert.equal(await leads(host), false, host)
})

test('no changed address leads a browser anywhere but to where it may go', async () => {
  const pieces = [
    '/',
    '\\',
    '@',
    ':',
    '.',
    '#',
    '?',
    '%2f',
    '%5c',
    '%00',
    '\t',
    '\n',
    ' ',
    '*',
    '[',
    ']',
    'evil.example',
    '//',
    'é',
    '。',
    '../',
    ';',
    '&',
    'http:',
    'javascript:',
  ]
  const change = fc.record({
    at: fc.nat({ max: 60 }),
    remove: fc.nat({ max: 6 }),
    insert: fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 4 })),
  })
  const address = fc
    .tuple(fc.constantFrom(...good), fc.array(change, { minLength: 1, maxLength: 4 }))
    .map(([start, changes]) =>
      changes.reduce((uri, { at, remove, insert }) => uri.slice(0, at) + insert + uri.slice(at + remove), start),
    )
  let led = 0
  await fc.assert(
    fc.asyncProperty(address, fc.constantFrom('web-client', 'one'), async (uri, client) => {
      const location = await leadsTo(client, uri)
      if (location === null) return
      led++
      assertGood(client, uri, location)
    }),
    { numRuns: 1500 },
  )
  assert.ok(led > 20, `${led} led anywhere`)
})
