import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { deflateSync, gzipSync } from 'node:zlib'
import { bodyLimits, bodyLimitTable } from '../../../src/platform/http/body/limits.ts'
import { firstAnswer, sendRaw, statusOf } from '../../support/raw.ts'
import { startService, type TestService } from '../../support/service.ts'

/** Files are as large as they are: test/files/upload.test.ts has their limits. */
const takesFiles = (url: string): boolean =>
  /^\/api\/v1\/(eas\/(put|tus)|WebDAV\/|hotfolder\/|plugin\/extension\/)/.test(url)

/** Nothing of what follows is ever sent. */
const announced = 30_000_000

suite('bodies', () => {
  let svc: TestService
  let port: number
  let root: string
  before(async () => {
    svc = await startService({ bodyLimit: 32 * 1024 * 1024, corsOrigins: ['https://app.example'] })
    port = Number(new URL(await svc.listen()).port)
    root = `Bearer ${await svc.as('root').token()}`
  })
  after(() => svc[Symbol.asyncDispose]())

  /** The answer to a request of which only the head, or a little more, is sent. */
  async function early(method: string, path: string, headers: Record<string, string | number>, body = '') {
    const request = sendRaw({ port, method, path, headers: { 'content-type': 'application/json', ...headers }, body })
    const answer = await firstAnswer(request)
    request.socket.destroy()
    return { status: statusOf(answer), body: JSON.parse(answer.split('\r\n\r\n')[1] || '{}') }
  }

  const methods = ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'] as const

  test('an address that does not exist answers before any of the body, with and without a token', async () => {
    for (const method of methods) {
      for (const headers of [undefined, { authorization: root }]) {
        for (const [name, value] of [
          ['content-length', announced],
          ['transfer-encoding', 'chunked'],
        ] as const) {
          const answer = await early(method, '/api/v1/no/such/thing', { ...headers, [name]: value })
          assert.equal(answer.status, 400, method)
          assert.equal(answer.body.code, 'UnknownEndpointMethod')
        }
      }
    }
  })

  test('every endpoint that needs a user answers 401 before any of the body', async () => {
    const routes = svc.app.http.declaredRoutes.filter(
      ({ method, access }) => method !== 'HEAD' && (access === 'user' || access === 'session'),
    )
    assert.ok(routes.length > 30)
    for (const { method, url, access } of routes) {
      const path = url.replaceAll(/:\w+|\*/g, '1')
      const code = access === 'user' ? 'UserRequired' : 'InvalidToken'
      assert.equal((await early(method, path, { 'content-length': announced })).body.code, code, `${method} ${path}`)
      const chunked = { 'transfer-encoding': 'chunked', authorization: 'Bearer wrong' }
      assert.equal((await early(method, path, chunked)).body.code, 'InvalidToken', `${method} ${path}`)
    }
  })

  test('every endpoint refuses what is announced too large before any of it', async () => {
    for (const { method, url } of svc.app.http.declaredRoutes) {
      if (method === 'HEAD' || takesFiles(url)) continue
      const path = url.replaceAll(/:\w+|\*/g, '1')
      const answer = await early(method, path, { 'content-length': 2 ** 31, authorization: root })
      assert.equal(answer.status, 413, `${method} ${path}`)
      assert.equal(answer.body.code ?? answer.body.error, 'PayloadTooLarge', `${method} ${path}`)
    }
  })

  test('every endpoint that takes JSON refuses too many values, too deep, and no JSON, while it arrives', async () => {
    const routes = svc.app.http.declaredRoutes.filter(
      ({ method, url, access }) => method !== 'GET' && method !== 'HEAD' && access === 'user' && !takesFiles(url),
    )
    const values = '{},'.repeat(20_000)
    for (const { method, url } of routes) {
      const path = url.replaceAll(/:\w+|\*/g, '1')
      const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked', authorization: root }
      for (const [start, more, times, status] of [
        ['[', values, 60, 413],
        ['[', '['.repeat(200), 1, 400],
        ['[1 2', ' ', 1, 400],
        ['{"__proto__":1', ' ', 1, 400],
      ] as const) {
        const request = sendRaw({ port, method, path, headers, body: chunk(start) })
        const answer = firstAnswer(request)
        let open = true
        answer.then(() => {
          open = false
        })
        for (let n = 0; open && n < times; n++) {
          request.socket.write(chunk(more))
          await new Promise((resolve) => setImmediate(resolve))
        }
        const text = await answer
        request.socket.destroy()
        assert.equal(statusOf(text), status, `${method} ${path} ${start}${more.slice(0, 10)}: ${text}`)
        assert.match(text, /"code":"(PayloadTooLarge|ServerGeneric)"/)
      }
    }
  })

  test('a refused body that is sent all the same does not break the connection', async () => {
    const url = svc.app.http.listeningOrigin
    const body = Buffer.alloc(20_000_000, '{},')
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
    for (let round = 0; round < 3; round++) {
      assert.equal((await fetch(`${url}/api/v1/no/such/thing`, init)).status, 400)
      assert.equal((await fetch(`${url}/api/v1/db/artwork`, init)).status, 401)
      const headers = { ...init.headers, authorization: root }
      assert.equal((await fetch(`${url}/api/v1/event`, { ...init, headers })).status, 413)
    }
  })

  test('a body without a length is read to its end, in chunks of any size', async () => {
    const event = JSON.stringify({ event: { type: 'SEARCH', info: { text: 'ä'.repeat(1000) } } })
    const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked', authorization: root }
    const request = sendRaw({ port, path: '/api/v1/event', headers: { ...headers, connection: 'close' } })
    for (let at = 0; at < event.length; at += 97) request.socket.write(chunk(event.slice(at, at + 97)))
    request.socket.write('0\r\n\r\n')
    assert.match(await request.answer, /^HTTP\/1.1 200 .*ä{1000}/s)
  })

  test('packed bodies are unpacked, and counted as unpacked', async () => {
    const post = (payload: Buffer, encoding: string) =>
      svc.inject({
        method: 'POST',
        url: '/api/v1/event',
        payload,
        headers: { authorization: root, 'content-type': 'application/json', 'content-encoding': encoding },
      })
    const event = Buffer.from(JSON.stringify({ event: { type: 'SEARCH', info: { text: 'ä'.repeat(1000) } } }))
    assert.equal((await post(gzipSync(event), 'gzip')).statusCode, 200)
    assert.equal((await post(deflateSync(event), 'deflate')).statusCode, 200)
    assert.equal((await post(event, 'identity')).statusCode, 200)
    const bomb = gzipSync(Buffer.alloc(bodyLimits.one.bytes + 1, ' '))
    assert.ok(bomb.length < 10_000)
    assert.equal((await post(bomb, 'gzip')).statusCode, 413)
    assert.equal((await post(event, 'gzip')).statusCode, 400)
    assert.equal((await post(gzipSync(event).subarray(0, 30), 'gzip')).statusCode, 400)
    for (const encoding of ['br', 'gzip, gzip', 'nonsense']) {
      const refused = await post(event, encoding)
      assert.deepEqual([refused.statusCode, refused.json().code], [415, 'UnsupportedMediaType'], encoding)
    }
  })

  test('LIM-012 a body has at most as many bytes as is documented', async () => {
    const page = await readFile(join(import.meta.dirname, '..', '..', '..', 'docs', 'operations.md'), 'utf8')
    const MiB = 1024 * 1024
    for (const [row, path, most] of [
      ['| endpoints that read no body, and those of OAuth2 | 64 KiB |', '/api/oauth2/token', 65_536],
      ['| one thing: an event, a search, a password | 1 MiB |', '/api/v1/search', MiB],
      ['| lists and documents of administration: users, groups, pools', '/api/v1/user', 8 * MiB],
      ['| the datamodel and its masks | 16 MiB |', '/api/v1/schema/user/HEAD', 16 * MiB],
      ['| objects to save or delete | `SVC_BODY_LIMIT` |', '/api/v1/db/work', 32 * MiB],
    ] as const) {
      assert.ok(page.includes(row), row)
      const type = path.includes('oauth2') ? 'application/x-www-form-urlencoded' : 'application/json'
      const headers = { authorization: root, 'content-type': type }
      const tooLarge = await early('POST', path, { ...headers, 'content-length': most + 1 })
      assert.equal(tooLarge.status, 413, path)
      const payload = Buffer.alloc(most, ' ')
      const fits = await svc.inject({ method: 'POST', url: path, headers, payload })
      assert.equal(fits.statusCode, 400, `${path}: it is read, and it is nothing`)
    }
    assert.match(page, /\| lists and documents of administration: [^|]* \| 8 MiB \|/)
  })

  test('the limits stand in docs/operations.md', async () => {
    const page = await readFile(join(import.meta.dirname, '..', '..', '..', 'docs', 'operations.md'), 'utf8')
    assert.ok(page.includes(bodyLimitTable()), 'run: node scripts/docs.ts')
  })
})

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}
