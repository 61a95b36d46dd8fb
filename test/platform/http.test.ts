import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { catalogue } from '../../src/platform/catalogue.ts'
import { errorTable } from '../../src/platform/errors-doc.ts'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'

/** Decision 12: what needs no token. */
const publicRoutes = ['GET /api/v1/settings', 'POST /api/oauth2/revoke', 'POST /api/oauth2/token']

suite('HTTP', () => {
  let svc: TestService
  let root: string
  before(async () => {
    svc = await startService({ bodyLimit: 4096, corsOrigins: ['https://app.example'] })
    root = `Bearer ${await svc.as('root').token()}`
  })
  after(() => svc[Symbol.asyncDispose]())

  const post = (url: string, payload: string, type = 'application/json') =>
    svc.inject({ method: 'POST', url, payload, headers: { authorization: root, 'content-type': type } })

  test('ERR-001 ERR-002 an unknown endpoint answers the whole envelope, and the request id that the log has', async () => {
    const { status, body, headers } = await svc.as(null).get('/no/such/thing', { access_token: 'secret' })
    assert.equal(status, 400)
    assert.deepEqual(body, {
      code: 'UnknownEndpointMethod',
      package: 'api',
      realm: 'api',
      statuscode: 400,
      error: body.error,
      message: body.error,
      parameters: { method: 'GET', path: '/api/v1/no/such/thing' },
      request_id: headers['x-request-id'],
    })
    assert.ok(body.error.length > 10)
  })

  test('SVC-002 endpoints stand under their own prefix only', async () => {
    for (const [method, url] of [
      ['POST', '/api/v1/oauth2/token'],
      ['POST', '/oauth2/token'],
      ['GET', '/settings'],
      ['GET', '/api/settings'],
      ['DELETE', '/api/v1/settings'],
    ] as const) {
      const answer = await svc.inject({ method, url })
      assert.deepEqual([answer.statusCode, answer.json().code], [400, 'UnknownEndpointMethod'], `${method} ${url}`)
    }
    for (const [method, url] of [
      ['POST', '/api/v1/db/person'],
      ['POST', '/api/v1/event'],
      ['POST', '/api/v1/search'],
    ] as const) {
      assert.equal((await svc.inject({ method, url })).statusCode, 401, `${method} ${url} is known`)
    }
  })

  test('ERR-007 bad JSON, a body of the wrong type and a missing body are 400 and say what is wrong', async () => {
    const cases: [string, RegExp][] = [
      ['{"type":', /JSON/],
      ['', /body must be/],
      ['"text"', /body must be object/],
      ['{"event":5}', /body.event must be an object/],
      ['{}', /body.event must be an object/],
    ]
    for (const [payload, message] of cases) {
      const answer = await post('/api/v1/event', payload)
      const body: Json = answer.json()
      assert.deepEqual([answer.statusCode, body.code], [400, 'ServerGeneric'], payload)
      assert.match(body.message, message)
    }
  })

  test('a body is not coerced, a query string is', async () => {
    const body = await post('/api/v1/event', '{"event":{"type":"SEARCH","object_id":"5"}}')
    assert.deepEqual([body.statusCode, body.json().code], [400, 'ServerGeneric'])
    const query = await svc.as('root').get('/event/poll/0', { limit: 'many' })
    assert.deepEqual([query.status, query.body.code], [400, 'ServerGeneric'])
    assert.match(query.body.message, /limit must be integer/)
    assert.equal((await svc.as('root').get('/event/poll/0', { limit: '5' })).status, 200)
  })

  test('LIM-012 a body above the limit is 413, whether its length is announced or not', async () => {
    const large = JSON.stringify({ event: { type: 'SEARCH', info: { text: 'x'.repeat(5000) } } })
    const announced = await post('/api/v1/event', large)
    assert.deepEqual([announced.statusCode, announced.json().code], [413, 'PayloadTooLarge'])
    const url = await svc.listen()
    const streamed = await fetch(`${url}/api/v1/event`, {
      method: 'POST',
      headers: { authorization: root, 'content-type': 'application/json' },
      body: new Blob([large]).stream(),
      duplex: 'half',
    })
    assert.equal(streamed.status, 413)
    assert.equal(((await streamed.json()) as Json).code, 'PayloadTooLarge')
  })

  test('a content type without a body is no body', async () => {
    const answer = await svc.inject({
      method: 'DELETE',
      url: '/api/v1/event/list?type=SEARCH',
      headers: { authorization: root, 'content-type': 'application/json' },
    })
    assert.equal(answer.statusCode, 200)
  })

  test('a content type that no endpoint reads is 415', async () => {
    const answer = await post('/api/v1/event', '<event/>', 'application/xml')
    assert.deepEqual([answer.statusCode, answer.json().code], [415, 'UnsupportedMediaType'])
  })

  test('an address with wrong escapes, and what is not HTTP at all, get the envelope too', async () => {
    const escaped = await svc.inject({ url: '/api/v1/%zz' })
    assert.equal(escaped.statusCode, 400)
    assert.equal(escaped.json().code, 'ServerGeneric')
    const port = Number(new URL(svc.app.http.listeningOrigin).port)
    const socket = connect(port, '127.0.0.1')
    socket.end('this is not HTTP\r\n\r\n')
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    await once(socket, 'close')
    const answer = Buffer.concat(chunks).toString()
    assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/)
    assert.equal(JSON.parse(answer.split('\r\n\r\n')[1] ?? '').code, 'ServerGeneric')
  })

  test('a request id of the caller is taken over when it is harmless, else replaced', async () => {
    const given = async (id: string) =>
      (await svc.inject({ url: '/api/v1/settings', headers: { 'x-request-id': id } })).headers['x-request-id']
    assert.equal(await given('trace-1.a_B'), 'trace-1.a_B')
    for (const id of ['with space', '"quote"', 'x'.repeat(65), 'ä'])
      assert.match(String(await given(id)), /^[0-9a-f-]{36}$/)
  })

  test('every answer has security headers and is not for caches', async () => {
    const { headers } = await svc.as(null).get('/settings')
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['x-frame-options'], 'SAMEORIGIN')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.match(String(headers['content-security-policy']), /default-src 'self'/)
    assert.equal(headers['cache-control'], 'no-store, no-cache')
    assert.equal(headers['x-powered-by'], undefined)
  })

  test('SEARCH-006 cache_seconds above 0 allows caches on any GET, but not for errors', async () => {
    const control = async (path: string, seconds: number) =>
      (await svc.as(null).get(path, { cache_seconds: seconds })).headers['cache-control']
    assert.equal(await control('/settings', 60), 'max-age=60, public')
    assert.equal(await control('/settings', 0), 'no-store, no-cache')
    assert.equal(await control('/settings', -5), 'no-store, no-cache')
    assert.equal(await control('/no/such/thing', 60), 'no-store, no-cache')
  })

  test('CORS answers the configured origins only', async () => {
    const allowed = async (origin: string) =>
      (await svc.inject({ url: '/api/v1/settings', headers: { origin } })).headers['access-control-allow-origin']
    assert.equal(await allowed('https://app.example'), 'https://app.example')
    assert.equal(await allowed('https://evil.example'), undefined)
    const preflight = await svc.inject({
      method: 'OPTIONS',
      url: '/api/v1/event',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    })
    assert.equal(preflight.statusCode, 204)
  })

  test('large answers are compressed for clients that ask', async () => {
    const url = '/api/v1/system/openapi/spec.json'
    const plain = await svc.inject({ url })
    const packed = await svc.inject({ url, headers: { 'accept-encoding': 'gzip' } })
    assert.equal(packed.headers['content-encoding'], 'gzip')
    assert.equal(gunzipSync(Buffer.from(packed.rawPayload)).toString(), plain.payload)
  })

  test('every route declares who may call it and whether it writes; public ones are a short list', () => {
    const routes = svc.app.http.declaredRoutes
    assert.ok(routes.length > 30)
    for (const { method, url, writes } of routes) {
      if (method === 'GET') assert.equal(writes, false, `GET ${url} says that it writes`)
    }
    const open = routes.filter(({ access }) => access === 'public').map(({ method, url }) => `${method} ${url}`)
    assert.deepEqual(open.sort(), publicRoutes)
  })

  test('SVC-019 ERR-004 ERR-005 without a token UserRequired, with a rejected one InvalidToken', async () => {
    const routes = svc.app.http.declaredRoutes.filter(({ access }) => access === 'user' || access === 'session')
    for (const { method, url, access } of routes) {
      const request = { method: method as 'GET', url: url.replaceAll(/:\w+/g, '1') }
      const without = await svc.inject(request)
      assert.deepEqual(
        [without.statusCode, without.json().code],
        [401, access === 'user' ? 'UserRequired' : 'InvalidToken'],
        `${method} ${url}`,
      )
      const rejected = await svc.inject({ ...request, headers: { authorization: 'Bearer no-such-token' } })
      assert.deepEqual([rejected.statusCode, rejected.json().code], [401, 'InvalidToken'], `${method} ${url}`)
    }
  })

  test('the schemas of all routes compile', () => svc.app.http.compileSchemas())

  test('ERR-028 ERR-029 each error stands in docs/errors.md', async () => {
    const page = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'errors.md'), 'utf8')
    assert.ok(page.includes(errorTable()), 'run: node scripts/docs.ts')
  })

  test('every error of the catalogue has a 4xx or 5xx status and a sentence', () => {
    for (const [code, { status, text, package: name }] of Object.entries(catalogue)) {
      assert.ok(status >= 400 && status < 600, code)
      assert.match(text, /^[A-Z].*\.$/, code)
      assert.ok(name, code)
    }
    assert.deepEqual(Object.keys(catalogue), Object.keys(catalogue).sort(), 'the catalogue is sorted')
  })
})
