import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { createS3Store } from '../../../src/files/blobs/s3.ts'
import { deliver } from '../../../src/mail/transport.ts'
import { openDownload } from '../../../src/platform/outgoing/download.ts'
import { createOutgoingFetch } from '../../../src/platform/outgoing/fetch.ts'
import { usualLimits } from '../../../src/platform/outgoing/limits.ts'
import { sendOutgoing } from '../../../src/platform/outgoing/request.ts'
import { createServers } from '../../../src/signin/directories/ldap/connection.ts'
import { createSteps, DirectoryUnavailable } from '../../../src/signin/directories/model.ts'
import { client, signInThere, startProvider } from '../../signin/directories/openid-provider.ts'
import { TestVisitor } from '../../signin/sign-in-browser.ts'
import { httpHead, startEndless } from '../../support/endless-server.ts'
import { startService } from '../../support/service.ts'

const MB = 1024 * 1024
/** Much less than is sent in the time that is left to an exchange, much more than lies in buffers on the way. */
const few = 100 * MB
const limits = { answer: MB, time: 60_000 }
const piece = Buffer.alloc(64 * 1024, 'x')

const webhook = (url: string) => ({
  url,
  method: 'POST' as const,
  headers: {},
  body: '{}',
  timeout: 60_000,
  maxResponse: MB,
  allowPrivate: true,
})

test('an answer without end is given up at its limit: of a provider, of the receiver of a webhook', async () => {
  await using server = await startEndless({ beginning: httpHead(), piece })
  const url = `http://127.0.0.1:${server.port}/`
  await assert.rejects(createOutgoingFetch(limits)(url), /longer than 1048576 bytes/)
  await assert.rejects(sendOutgoing(webhook(url)), /longer than 1048576 bytes/)
  assert.ok(server.sent() < few, `${server.sent()} bytes were taken`)
})

test('an answer is measured as it is unpacked', async () => {
  const packed = gzipSync(Buffer.alloc(50 * MB))
  const server = createServer((_, response) => response.setHeader('content-encoding', 'gzip').end(packed))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  await assert.rejects(createOutgoingFetch(limits)(url), /longer than/)
  server.closeAllConnections()
  server.close()
})

test('an answer that comes in drops is given up when its time is over', async () => {
  await using server = await startEndless({ beginning: httpHead(), piece: ' ', pause: 20 })
  const url = `http://127.0.0.1:${server.port}/`
  await assert.rejects(createOutgoingFetch({ answer: MB, time: 400 })(url), { name: 'TimeoutError' })
  await assert.rejects(sendOutgoing({ ...webhook(url), timeout: 400 }), /no answer within 400 ms/)
  const rules = { allowPrivate: true }
  const part = await openDownload({ url, rules, patience: 10_000, most: 400, pace: { grace: 60, leastRate: 1 } })
  await assert.rejects(Array.fromAsync(part.content()), /not done within 400 ms/)
})

test('redirects without end are followed by nobody, or a few times', async () => {
  let asked = 0
  const server = createServer((_, response) => {
    asked++
    response.writeHead(302, { location: '/again' }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  await assert.rejects(createOutgoingFetch(limits)(url))
  await assert.rejects(createOutgoingFetch(limits)(url, { redirect: 'follow' }))
  assert.equal((await createOutgoingFetch(limits)(url, { redirect: 'manual' })).status, 302)
  assert.equal((await sendOutgoing(webhook(url))).status, 302)
  assert.equal(asked, 4)
  const pace = { grace: 10, leastRate: 0 }
  const download = { url, rules: { allowPrivate: true }, patience: 10_000, most: 10_000, pace }
  await assert.rejects(openDownload(download), /more than 5 redirects/)
  assert.equal(asked, 10)
  server.closeAllConnections()
  server.close()
})

test('whole answers reach whoever asked, with status and headers', async () => {
  const server = createServer((request, response) =>
    request.method === 'HEAD'
      ? response.writeHead(204).end()
      : response.writeHead(201, { 'content-type': 'text/plain' }).end('é'.repeat(1000)),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const answer = await createOutgoingFetch({ answer: 2000, time: 10_000 })(url, { method: 'POST', body: 'a' })
  assert.deepEqual(
    [answer.status, answer.headers.get('content-type'), await answer.text()],
    [201, 'text/plain', 'é'.repeat(1000)],
  )
  assert.equal((await createOutgoingFetch(limits)(url, { method: 'HEAD' })).status, 204)
  await assert.rejects(createOutgoingFetch({ answer: 1999, time: 10_000 })(url), /longer than 1999 bytes/)
  server.closeAllConnections()
  server.close()
})

test('a directory (LDAP) that answers without end is given up at the limit', async () => {
  // One message of two gigabytes, of which the length is true as far as anybody reads.
  await using server = await startEndless({ beginning: Buffer.from([0x30, 0x84, 0x7f, 0xff, 0xff, 0xff]), piece })
  const config = {
    connections: [{ url: `ldap://127.0.0.1:${server.port}`, tls_insecure: true, tls_start: false, tls_ca_cert: '' }],
    bindusername: 'cn=a',
    bindpassword: 'b',
  } as unknown as Parameters<ReturnType<typeof createServers>['use']>[0]
  const steps = createSteps()
  const asked = createServers({ limits }).use(config, steps, async () => 'an answer')
  await assert.rejects(asked, DirectoryUnavailable)
  assert.match(steps.all.join('\n'), /longer than 1048576 bytes|connection/i)
  assert.ok(server.sent() < few, `${server.sent()} bytes were taken`)
})

test('a mail server that answers without end, or in drops, is given up', async () => {
  const message = {
    from: 'a@b.c',
    to: ['d@e.f'],
    cc: [],
    bcc: [],
    subject: '',
    text: '',
    html: undefined,
    messageId: '',
  }
  const login = { username: '', password: '' }
  const to = (port: number) =>
    ({
      server_addr: `127.0.0.1:${port}`,
      type: 'off',
      insecure_skip_verify: false,
      helo_domain: '',
      plain_auth: { ...login, identity: '' },
      login_auth: login,
      cram_md5_auth: login,
    }) as unknown as Parameters<typeof deliver>[0]
  await using endless = await startEndless({
    beginning: '220-a\r\n',
    piece: `220-${'x'.repeat(1000)}\r\n`,
    atOnce: true,
  })
  await assert.rejects(deliver(to(endless.port), message, limits))
  assert.ok(endless.sent() < few, `${endless.sent()} bytes were taken`)
  await using slow = await startEndless({ beginning: '220 a\r\n', piece: '250-a\r\n', pause: 50, atOnce: true })
  await assert.rejects(deliver(to(slow.port), message, { answer: MB, time: 500 }), /more than 500 ms|closed/i)
})

test('a store (S3) that lists without end is given up at the limit', async () => {
  const beginning = `${httpHead().replace('json', 'xml')}<ListBucketResult>`
  await using server = await startEndless({ beginning, piece: '<Contents><Key>a</Key></Contents>'.repeat(1000) })
  const endpoint = `127.0.0.1:${server.port}`
  const config = { bucket: 'abc', endpoint, accesskey: 'a', secretkey: 'b', region: '', ssl: false }
  const store = createS3Store(config, '')
  await assert.rejects(store.probe({ readOnly: true }), /longer than/)
  // It may be asked again, but not without end.
  assert.ok(server.connections() <= 3)
  assert.ok(server.sent() < 3 * (usualLimits.answer + few), `${server.sent()} bytes were taken`)
  await store.close?.()
})

test('userinfo of any length ends a sign-in by OpenID Connect, not the service', async () => {
  const callback = 'http://localhost:8080/api/openid/callback'
  await using provider = await startProvider(callback)
  await using svc = await startService({ outgoingAnswerLimit: 64 * 1024 })
  provider.people.set('anna', { name: 'x'.repeat(200_000), email: 'anna@example.org', email_verified: true })
  provider.people.set('ben', { name: 'Ben', email: 'ben@example.org', email_verified: true })
  const offer = {
    name: 'campus',
    issuer: provider.issuer,
    client_id: client.id,
    client_secret: client.secret,
    loginlink: { 'en-US': 'x' },
    usermapping: [
      { key: 'reference', value: '%(sub)s' },
      { key: 'login', value: '%(sub)s' },
    ],
  }
  const { status } = await svc.as('root').post('/config/system/config/openid_connect', { providers: [offer] })
  assert.equal(status, 200)
  const signIn = async (name: string) => {
    const visitor = new TestVisitor(svc)
    const gone = await visitor.authorize({ auth_method: 'openid' })
    const there = await signInThere(gone.location ?? new URL('x:'), name)
    return visitor.get(there.pathname + there.search, {}, { 'sec-fetch-site': 'cross-site' })
  }
  assert.equal((await signIn('ben')).status, 303)
  const refused = await signIn('anna')
  assert.equal(refused.status, 403, refused.body)
  const { rows } = await svc.db.query<{ info: { log: string[] } }>(
    "select info from event where type = 'OPENID_ERROR' order by id desc limit 1",
  )
  assert.match(JSON.stringify(rows), /longer than 65536 bytes/)
})
