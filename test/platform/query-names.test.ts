import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { OpenApiDocument } from '../../src/system/openapi/model.ts'
import { startService, type TestService } from '../support/service.ts'

interface Operation {
  name: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The path with every parameter filled in. */
  url: string
  query: string[]
}

/** Requests other than GET that change nothing: what they do not know is named, not refused (decision 26; RFC 6749, 3.2). */
const readsByPost = [
  'POST /api/v1/db_info/create',
  'POST /api/v1/db_info/update',
  'POST /api/v1/search',
  ...['auth', 'introspect', 'logout', 'refresh', 'revoke', 'token', 'userinfo'].map(
    (name) => `POST /api/oauth2/${name}`,
  ),
  'POST /logout',
]

suite('query parameters that nobody knows', () => {
  let svc: TestService
  let operations: Operation[]
  let authorization: string
  before(async () => {
    svc = await startService()
    authorization = `Bearer ${await svc.as('root').token()}`
    const document: OpenApiDocument = (await svc.as(null).get('/system/openapi/spec.json')).body
    operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { parameters = [] }]) => ({
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase() as Operation['method'],
        url: path.replaceAll(/\{[^}]+\}/g, '1'),
        query: parameters.filter((parameter) => parameter.in === 'query').map((parameter) => parameter.name),
      })),
    )
  })
  after(() => svc[Symbol.asyncDispose]())

  const send = ({ method, url }: Operation, query: string) =>
    svc.inject({ method, url: `${url}?${query}`, headers: { authorization } })
  const refuses = ({ name, method }: Operation) => method !== 'GET' && !readsByPost.includes(name)

  test('every route takes strict and pretty, every GET cache_seconds', () => {
    assert.ok(operations.length > 50)
    for (const { name, method, query } of operations) {
      assert.ok(query.includes('strict') && query.includes('pretty'), name)
      assert.equal(query.includes('cache_seconds'), method === 'GET', name)
    }
  })

  test('a request that writes is refused and told the parameter; one that reads is answered with its name', async () => {
    for (const operation of operations) {
      const answer = await send(operation, 'no_such_parameter=1')
      if (refuses(operation)) {
        const { code, parameters } = answer.json()
        assert.deepEqual(
          [answer.statusCode, code, parameters],
          [400, 'UrlParameterNotSupported', { param: 'no_such_parameter' }],
          operation.name,
        )
      } else {
        assert.equal(answer.headers['x-svc-ignored'], 'no_such_parameter', operation.name)
      }
      const strict = await send(operation, 'no_such_parameter=1&strict=1')
      assert.equal(strict.statusCode, 400, operation.name)
      assert.match(strict.body, /no_such_parameter/, operation.name)
    }
  })

  test('pretty indents the JSON of every endpoint, refusals too; cache_seconds lets caches keep the answer of every GET', async () => {
    for (const operation of operations) {
      const plain = await send(operation, 'no_such_parameter=1')
      const pretty = await send(operation, 'no_such_parameter=1&pretty=1')
      // Events are indented unless it is said otherwise.
      const compact = operation.url.startsWith('/api/v1/event/list') ? '&pretty=0' : ''
      const other = compact === '' ? plain : await send(operation, `no_such_parameter=1${compact}`)
      if (String(pretty.headers['content-type']).includes('json') && pretty.body.length > 2) {
        assert.equal(pretty.body, JSON.stringify(pretty.json(), null, 2), operation.name)
        if (other.statusCode === 200 || compact === '') assert.doesNotMatch(other.body, /\n {2}/, operation.name)
      }
      if (operation.method !== 'GET' || plain.statusCode !== 200) continue
      const kept = await send(operation, 'cache_seconds=7')
      assert.equal(kept.headers['cache-control'], 'max-age=7, public', operation.name)
      assert.notEqual(plain.headers['cache-control'], 'max-age=7, public', operation.name)
    }
  })

  test('a misspelled parameter is answered with the one that was meant', async () => {
    for (const operation of operations.filter(refuses)) {
      for (const known of operation.query) {
        if (known.length < 6) continue
        const typo = `${known[1]}${known[0]}${known.slice(2)}`
        const { statusCode, body } = await send(operation, `${encodeURIComponent(typo)}=1`)
        assert.equal(statusCode, 400, `${operation.name} ${typo}`)
        assert.ok(JSON.parse(body).message.endsWith(`; did you mean ${known}?`), `${operation.name}: ${body}`)
      }
    }
  })

  test('parameters that a route knows are never reported, wherever the token stands', async () => {
    const token = authorization.slice('Bearer '.length)
    const url = `/api/v1/pool?access_token=${token}&pretty=1&cache_seconds=5&strict=1&limit=10`
    const { statusCode, headers, body } = await svc.inject({ method: 'GET', url })
    assert.deepEqual([statusCode, headers['x-svc-ignored']], [200, undefined])
    assert.match(body, /^\[\n {2}\{\n/)
    const search = { method: 'POST', url: '/api/v1/search?pretty=1', headers: { authorization }, payload: {} } as const
    assert.match((await svc.inject(search)).body, /^\{\n {2}"/)
  })

  test('parameters whose effect does not exist are refused by every route that knows them, with the reason', async () => {
    const document: OpenApiDocument = (await svc.as(null).get('/system/openapi/spec.json')).body
    const refused = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { parameters = [] }]) =>
        parameters
          .filter((one) => one.in === 'query' && one.description?.startsWith('Refused: '))
          .map(({ name }) => ({
            method: method.toUpperCase() as 'GET',
            url: path.replaceAll(/\{[^}]+\}/g, '1'),
            name,
          })),
      ),
    )
    assert.ok(refused.length >= 10, `${refused.length}`)
    for (const { method, url, name } of refused) {
      const answer = await svc.inject({ method, url: `${url}?${name}=1`, headers: { authorization } })
      const { code, parameters, message } = answer.json()
      assert.deepEqual([answer.statusCode, code, parameters], [400, 'UrlParameterNotSupported', { param: name }], url)
      assert.ok(message.startsWith(`${name}: `), message)
    }
  })

  test('names of any letters and any number fit into one header', async () => {
    const root = svc.as('root')
    const odd = await root.get('/pool', { 'größe, Maß+1': 1, 'lookup:_id': 1, __proto__x: 1 })
    assert.equal(odd.headers['x-svc-ignored'], 'gr%C3%B6%C3%9Fe%2C%20Ma%C3%9F%2B1, lookup:_id, __proto__x')
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`a${index}`, 1]))
    const { headers } = await root.get('/pool', many)
    assert.match(String(headers['x-svc-ignored']), /^a0, a1, .*a19, \+480$/)
    const long = await root.get('/pool', { ['x'.repeat(5000)]: 1 })
    assert.equal(long.headers['x-svc-ignored'], `${'x'.repeat(200)}${encodeURIComponent('…')}`)
  })
})
