import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { InjectOptions } from 'fastify'
import { catalogue } from '../../../src/platform/catalogue.ts'
import { errorTable } from '../../../src/platform/errors-doc.ts'
import type { Json } from '../../support/client.ts'
import { startService, type TestService } from '../../support/service.ts'

/** Decision 12: what needs no token. */
/** Drives: the address says who may what. */
const driveRoutes = 'COPY DELETE GET HEAD LOCK MKCOL MOVE POST PROPFIND PROPPATCH PUT UNLOCK'
  .split(' ')
  .flatMap((method) => [
    `${method} /api/v1/WebDAV/:key`,
    `${method} /api/v1/WebDAV/:key/*`,
    `${method} /api/v1/hotfolder/:key`,
    `${method} /api/v1/hotfolder/:key/*`,
  ])

const publicRoutes = [
  'GET /.well-known/oauth-authorization-server',
  'GET /.well-known/openid-configuration',
  'GET /api/oauth2/auth',
  'GET /api/oauth2/logout',
  'GET /api/openid/callback',
  'GET /api/page/confirmEmail',
  'GET /api/page/forgotPassword',
  'GET /api/page/passkey',
  'GET /api/page/register',
  'GET /api/page/resetPassword',
  'GET /api/page/security',
  'GET /api/page/setPassword',
  'GET /api/page/showMessage',
  'GET /api/page/twoFactor',
  'GET /api/page/twoFactorChoose',
  'GET /api/page/twoFactorRecovery',
  'GET /api/page/twoFactorSetup',
  'GET /api/page/twoFactorSetupPasskey',
  'GET /api/saml/continue',
  'GET /api/saml/logout',
  'GET /api/saml/metadata',
  'GET /api/v1/export/:exportId/uuid/:uuid/file/*',
  'GET /api/v1/export/:exportId/uuid/:uuid/tar_gz/*',
  'GET /api/v1/export/:exportId/uuid/:uuid/zip/*',
  'HEAD /api/v1/export/:exportId/uuid/:uuid/file/*',
  'GET /api/v1/l10n/static/:lang.json',
  'GET /api/v1/plugin/bundle.css',
  'GET /api/v1/plugin/bundle.html',
  'GET /api/v1/plugin/bundle.js',
  'GET /api/v1/oai',
  'HEAD /api/v1/oai',
  'POST /api/v1/oai',
  'GET /api/v1/plugin/bundle/l10n/:lang.json',
  'GET /api/v1/plugin/static/:plugin/*',
  'GET /api/v1/settings',
  'GET /api/v1/system/share_link/:id',
  'GET /favicon.ico',
  'GET /favicon.svg',
  'GET /inspect/login/',
  'GET /logout',
  'GET /robots.txt',
  'GET /sitemap.xml',
  'HEAD /robots.txt',
  'HEAD /sitemap.xml',
  'GET /share/:id',
  'POST /api/oauth2/auth',
  'POST /api/oauth2/introspect',
  'POST /api/oauth2/logout',
  'POST /api/oauth2/refresh',
  'POST /api/oauth2/revoke',
  'POST /api/oauth2/token',
  'POST /api/page/confirmEmail',
  'POST /api/page/forgotPassword',
  'POST /api/page/passkey',
  'POST /api/page/register',
  'POST /api/page/resetPassword',
  'POST /api/page/security',
  'POST /api/page/setPassword',
  'POST /api/page/showMessage',
  'POST /api/page/twoFactor',
  'POST /api/page/twoFactorRecovery',
  'POST /api/page/twoFactorSetup',
  'POST /api/page/twoFactorSetupPasskey',
  'POST /api/saml/acs',
  'POST /inspect/logout/',
  'POST /logout',
  ...driveRoutes,
]

/** These and what answers callers with and without a user, each in its own way. */
const tokenless = [
  ...publicRoutes,
  'GET /',
  'GET /docs',
  'GET /docs/',
  'GET /docs/:name',
  'GET /health',
  'GET /api/v1/collection/iiif/:collectionId',
  'HEAD /api/v1/collection/iiif/:collectionId',
  'GET /api/v1/eas',
  'GET /api/v1/eas/:fileId',
  'GET /api/v1/eas/:fileId/similar',
  'GET /api/v1/eas/download/:fileId/:hash/:version',
  'HEAD /api/v1/eas/download/:fileId/:hash/:version',
  'GET /api/v1/eas/download/:fileId/:hash/:version/*',
  'HEAD /api/v1/eas/download/:fileId/:hash/:version/*',
  'GET /api/v1/eas/iiif/*',
  'GET /api/v1/eas/iiif2/*',
  'HEAD /api/v1/eas/iiif/*',
  'HEAD /api/v1/eas/iiif2/*',
  'GET /api/v1/eas/zoom/*',
  'HEAD /api/v1/eas/zoom/*',
  'GET /api/v1/group',
  'GET /api/v1/message/mine',
  'GET /api/v1/objects/*',
  'HEAD /api/v1/objects/*',
  ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => `${method} /api/v1/plugin/extension/:plugin/*`),
  'GET /api/v1/plugin/manage',
  'PUT /api/v1/plugin/manage',
  'GET /api/v1/plugin/manage/:id',
  'POST /api/v1/plugin/manage/:id',
  'DELETE /api/v1/plugin/manage/:id',
  'GET /api/v1/suggest',
  'POST /api/v1/suggest',
  'GET /api/v1/system/openapi/',
  'GET /api/v1/system/openapi/spec.json',
]

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

  test('ERR-002 an unknown endpoint answers the whole envelope, and the request id that the log has', async () => {
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
    // Packages and parameters of the specification's examples.
    const root = svc.as('root')
    const named = { export: { type: 'export', name: 'one of its name', search: {} } }
    assert.equal((await root.post('/export', named)).status, 200)
    const { _id } = (await root.post('/group', [{ group: { name: 'versioned' } }])).body[0].group
    for (const [answer, code, from, parameters] of [
      [await root.post('/export', named), 'ExportDuplicateName', 'export', { name: named.export.name }],
      [
        await root.post('/group', [{ group: { _id, _version: 7 } }]),
        'VersionMismatch',
        'ferrors',
        { got: 7, expected: 1 },
      ],
      [
        await root.get('/user', { include_password: 'true' }),
        'UrlParameterNotSupported',
        'ferrors',
        { param: 'include_password' },
      ],
    ] as const) {
      assert.deepEqual([answer.body.code, answer.body.package, answer.body.statuscode], [code, from, answer.status])
      for (const [name, value] of Object.entries(parameters)) assert.equal(answer.body.parameters[name], value, name)
    }
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
    for (const path of ['/db/person', '/event', '/search', '/user', '/group', '/pool', '/tags', '/objecttype']) {
      const known = await svc.inject({ method: 'POST', url: `/api/v1${path}` })
      assert.equal(known.statusCode, 401, `${path} is known`)
      for (const url of [path, `/api${path}`]) {
        assert.equal((await svc.inject({ method: 'POST', url })).json().code, 'UnknownEndpointMethod', url)
      }
    }
  })

  test('SVC-001 the endpoints of OAuth2 stand under /api/oauth2, and not under /api/v1', async () => {
    for (const name of ['auth', 'token', 'refresh', 'revoke', 'introspect', 'userinfo']) {
      for (const method of ['GET', 'POST'] as const) {
        const elsewhere = await svc.inject({ method, url: `/api/v1/oauth2/${name}` })
        assert.deepEqual([elsewhere.statusCode, elsewhere.json().code], [400, 'UnknownEndpointMethod'], name)
      }
    }
    for (const [method, name] of [
      ['GET', 'auth'],
      ['POST', 'auth'],
      ['POST', 'token'],
      ['POST', 'refresh'],
      ['POST', 'revoke'],
      ['POST', 'introspect'],
      ['GET', 'userinfo'],
      ['POST', 'userinfo'],
    ] as const) {
      const here = await svc.inject({ method, url: `/api/oauth2/${name}` })
      assert.ok([400, 401].includes(here.statusCode), `${method} ${name} ${here.statusCode}`)
      assert.doesNotMatch(here.body, /UnknownEndpointMethod/, `${method} ${name}`)
    }
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const send = (url: string, payload: string) => svc.inject({ method: 'POST', url, headers: form, payload })
    const credentials = 'grant_type=password&client_id=web-client&username=root&password=root-test-password'
    const token = await send('/api/oauth2/token', credentials)
    assert.equal(token.statusCode, 200)
    const revoked = await send('/api/oauth2/revoke', `token=${token.json().access_token}`)
    assert.equal(revoked.statusCode, 200)
    for (const { url } of svc.app.http.declaredRoutes) {
      if (url.includes('oauth2')) assert.match(url, /^\/api\/oauth2\//)
    }
  })

  test('ERR-001 whatever is wrong, the answer is JSON with a code', async () => {
    let count = 0
    const refused = async (request: InjectOptions, least = 400) => {
      const answer = await svc.inject(request)
      const what = `${request.method} ${request.url} ${answer.statusCode}`
      assert.ok(answer.statusCode >= least && answer.statusCode < 600, what)
      assert.match(String(answer.headers['content-type']), /^application\/json/, what)
      if (request.method !== 'HEAD') assert.match(answer.json().code, /^[A-Z][A-Za-z]+$/, what)
      count++
    }
    const json = { 'content-type': 'application/json' }
    for (const { method, url, access } of svc.app.http.declaredRoutes) {
      const request = { method: method as 'POST', url: url.replaceAll(/:\w+|\*/g, '1') }
      if (access === 'user' || access === 'session') {
        await refused(request)
        await refused({ ...request, headers: { authorization: 'Bearer no-such-token' } })
      }
      if (method === 'GET' || method === 'HEAD') continue
      for (const payload of ['{', '[[[', '<xml/>']) {
        await refused({ ...request, headers: { ...json, authorization: root }, payload })
      }
      await refused({ ...request, headers: { 'content-type': 'text/plain', authorization: root }, payload: 'text' })
      await refused({ ...request, headers: { ...json, authorization: root }, payload: 'x'.repeat(5000) })
    }
    for (const url of ['/no/such/thing', '/api/v1/%zz', '/api/v1/db/nothing/_all_fields/1', '/api/v1/user/999999']) {
      await refused({ method: 'GET', url, headers: { authorization: root } })
    }
    await refused({ method: 'GET', url: '/api/v1/system/errortest', headers: { authorization: root } })
    assert.ok(count > 200, `${count}`)
  })

  test('ERR-007 bad JSON, a body of the wrong type, a missing one and bad filters are 400 and say what is wrong', async () => {
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
    for (const [query, name] of [
      [{ id: '1,x' }, 'id'],
      [{ id: '9-1' }, 'id'],
      [{ sort: 'type' }, 'sort'],
      [{ sort: 'type.UP' }, 'sort'],
      [{ sort: 'nothing.ASC' }, 'sort'],
      [{ format: 'xml' }, 'format'],
    ] as const) {
      const { status, body } = await svc.as('root').get('/event/list', query)
      assert.deepEqual([status, body.code], [400, 'ServerGeneric'], JSON.stringify(query))
      assert.match(body.message, new RegExp(name))
    }
  })

  test('a refused choice names all values that are possible', async () => {
    const formats = ['short', 'standard', 'standard_extended', 'long', 'long_inheritance', 'full', 'full_inheritance']
    for (const [query, name, choices] of [
      [{ format: 'fancy' }, 'format', formats],
      [
        { merge_linked_objects: 'some' },
        'merge_linked_objects',
        ['none', 'in_main_search', 'not_in_main_search', 'all'],
      ],
    ] as const) {
      const { status, body } = await svc.as('root').get('/db/work/_all_fields/1', query)
      assert.deepEqual([status, body.code, body.parameters.name], [400, 'ServerGeneric', `querystring/${name}`])
      for (const choice of choices) {
        assert.ok(body.parameters.allowedValues.includes(choice), choice)
        assert.ok(body.message.includes(choice), body.message)
      }
    }
    const { body } = await svc.as('root').get('/event/poll/0', { limit: 'many' })
    assert.equal('allowedValues' in body.parameters, false)
  })

  test('a body is not coerced, a query string is', async () => {
    const body = await post('/api/v1/event', '{"event":{"type":"SEARCH","object_id":"5"}}')
    assert.deepEqual([body.statusCode, body.json().code], [400, 'ServerGeneric'])
    const query = await svc.as('root').get('/event/poll/0', { limit: 'many' })
    assert.deepEqual([query.status, query.body.code], [400, 'ServerGeneric'])
    assert.match(query.body.message, /limit must be integer/)
    assert.equal((await svc.as('root').get('/event/poll/0', { limit: '5' })).status, 200)
  })

  test('whole numbers that JSON does not hold exactly are refused wherever one is taken', async () => {
    const root = svc.as('root')
    for (const wrong of [2 ** 53, -(2 ** 53), 1e308]) {
      const refused = [
        await root.post('/eas/produce', { eas_parent_id: wrong }),
        await root.post('/search', { sort: [{ field: '_created', number_groups: [wrong] }] }),
        await root.get('/event/poll/0', { limit: String(wrong) }),
        await root.post('/eas/rput/bulk', [{ url: 'https://example.org/a.png', id_parent: wrong }]),
      ]
      for (const { status, body } of refused) {
        assert.deepEqual([status, body.code], [400, 'ServerGeneric'], JSON.stringify(body))
        assert.match(body.message, /must be [<>]= -?\d+/)
      }
    }
  })

  test('a body above the limit is 413, whether its length is announced or not', async () => {
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

  test('JSON without a content type is JSON, and so is JSON under the type of forms (decision 86)', async () => {
    const text = JSON.stringify({ search: [], limit: 1 })
    const found = await post('/api/v1/search', text, 'application/json')
    for (const headers of [{}, { 'content-type': 'application/x-www-form-urlencoded' }]) {
      for (const payload of [text, `\n  ${text}`]) {
        const answer = await svc.inject({
          method: 'POST',
          url: '/api/v1/search',
          headers: { authorization: root, ...headers },
          payload: Buffer.from(payload),
        })
        assert.equal(answer.statusCode, 200, answer.body)
        assert.equal(answer.json().count, found.json().count)
      }
    }
    const list = await svc.inject({
      method: 'POST',
      url: '/api/v1/event',
      headers: { authorization: root },
      payload: Buffer.from('[{'),
    })
    assert.deepEqual([list.statusCode, list.json().code], [400, 'ServerGeneric'])
    const typeless = await svc.inject({
      method: 'POST',
      url: '/api/oauth2/token',
      payload: Buffer.from('grant_type=password'),
    })
    assert.deepEqual([typeless.statusCode, typeless.json().code], [415, 'UnsupportedMediaType'])
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
    const control = async (url: string, more: string) =>
      (await svc.inject({ url: `${url}?${more}`, headers: { authorization: root } })).headers['cache-control']
    const answered: string[] = []
    for (const { method, url } of svc.app.http.declaredRoutes) {
      // Pages for people are no part of the interface: they are never kept.
      if (method !== 'GET' || /^\/(api\/page|docs|health|favicon)\b/.test(url)) continue
      const path = url.replaceAll(/:(version|mask)/g, 'CURRENT').replaceAll(/:\w+|\*/g, '1')
      const more = path.endsWith('/search')
        ? `BODY=${encodeURIComponent('{}')}`
        : path.endsWith('/parse')
          ? 'query='
          : 'x'
      const { statusCode } = await svc.inject({ url: `${path}?${more}`, headers: { authorization: root } })
      if (statusCode !== 200) continue
      answered.push(path)
      assert.equal(await control(path, `${more}&cache_seconds=60`), 'max-age=60, private', path)
      const alone = await svc.inject({ url: `${path}?${more}&cache_seconds=60` })
      if (alone.statusCode === 200) assert.match(String(alone.headers['cache-control']), /^max-age=60, public$/, path)
      // Browsers keep these, and ask each time whether they have changed.
      const unasked = /plugin\/bundle\.(js|css|html)$/.test(path) ? 'public, no-cache' : 'no-store, no-cache'
      assert.equal(await control(path, more), unasked, path)
    }
    for (const path of [
      'settings',
      'search',
      'user',
      'user/session',
      'group',
      'pool',
      'tags',
      'event/list',
      'config',
    ]) {
      assert.ok(answered.includes(`/api/v1/${path}`), path)
    }
    assert.equal(await control('/api/v1/settings', 'cache_seconds=0'), 'no-store, no-cache')
    assert.equal(await control('/api/v1/settings', 'cache_seconds=-5'), 'no-store, no-cache')
    assert.equal(await control('/no/such/thing', 'cache_seconds=60'), 'no-store, no-cache')
  })

  test('what is made for a caller is never given to another by a shared cache', async () => {
    const token = root.replace(/^bearer /i, '')
    const url = '/api/v1/settings?cache_seconds=60'
    const ask = async (headers: Record<string, string>, more = '') => {
      const answer = await svc.inject({ url: `${url}${more}`, headers })
      return [answer.statusCode, answer.headers['cache-control'], answer.headers.vary?.toString() ?? '']
    }
    const carriers = ['authorization', 'x-svc-authorization', 'cookie']
    const open = await ask({})
    assert.deepEqual(open.slice(0, 2), [200, 'max-age=60, public'])
    const names = String(open[2]).toLowerCase().split(/, */)
    assert.deepEqual(
      carriers.filter((name) => !names.includes(name)),
      [],
    )
    assert.equal(new Set(names).size, names.length, 'each name stands there once')
    const packed = String((await ask({ 'accept-encoding': 'gzip', origin: 'https://app.example' }))[2]).toLowerCase()
    for (const name of [...carriers, 'origin']) assert.ok(packed.includes(name), packed)
    for (const headers of [
      { authorization: root },
      { 'x-svc-authorization': root },
      { cookie: 'some=thing' },
      { authorization: 'Basic Og==' },
    ] as Record<string, string>[]) {
      const [status, control] = await ask(headers)
      assert.deepEqual([status, control], [200, 'max-age=60, private'], JSON.stringify(headers))
    }
    assert.equal((await ask({}, `&access_token=${encodeURIComponent(token)}`))[1], 'max-age=60, private')
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

  test('a preflight names every method that the service has, and OPTIONS those of the address (decision 91)', async () => {
    const preflight = await svc.inject({
      method: 'OPTIONS',
      url: '/api/v1/plugin/none/such',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'PATCH' },
    })
    assert.deepEqual([preflight.statusCode, preflight.json().code], [400, 'UnknownEndpointMethod'])
    const known = await svc.inject({
      method: 'OPTIONS',
      url: '/api/v1/db/work',
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'PATCH',
        'access-control-request-headers': 'authorization',
      },
    })
    assert.equal(known.statusCode, 204)
    const named = String(known.headers['access-control-allow-methods']).split(', ')
    const existing = new Set(svc.app.http.declaredRoutes.map(({ method }) => method))
    assert.deepEqual(new Set(named), new Set([...existing, 'HEAD']))
    assert.ok(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].every((method) => named.includes(method)))
    assert.equal(known.headers['access-control-allow-headers'], 'authorization')

    const plain = await svc.inject({ method: 'OPTIONS', url: '/api/v1/pool/5' })
    assert.deepEqual([plain.statusCode, plain.body], [204, ''])
    assert.deepEqual(new Set(String(plain.headers.allow).split(', ')), new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']))
  })

  test('a wrong method keeps its code and says which methods there are (decision 91)', async () => {
    const wrong = await svc.inject({ method: 'PUT', url: '/api/v1/settings', headers: { authorization: root } })
    assert.deepEqual([wrong.statusCode, wrong.json().code], [400, 'UnknownEndpointMethod'])
    assert.equal(wrong.headers.allow, 'GET, OPTIONS')
    const nowhere = await svc.inject({ method: 'PUT', url: '/api/v1/nothing/here', headers: { authorization: root } })
    assert.equal(nowhere.headers.allow, undefined)
  })

  test('pages of any origin may read pictures of IIIF, and no others get credentials for them', async () => {
    for (const url of [
      '/api/v1/eas/iiif/1/x/original/info.json',
      '/api/v1/eas/zoom/1/x/original/zoom100/part0x0.jpg',
    ]) {
      const preflight = await svc.inject({
        method: 'OPTIONS',
        url,
        headers: {
          origin: 'https://viewer.example',
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'x-any',
        },
      })
      assert.equal(preflight.statusCode, 204)
      assert.equal(preflight.headers['access-control-allow-origin'], '*')
      assert.equal(preflight.headers['access-control-allow-headers'], 'x-any')
      const missing = await svc.inject({ url, headers: { origin: 'https://app.example' } })
      assert.ok(missing.statusCode >= 400)
      assert.equal(missing.headers['access-control-allow-origin'], '*')
      assert.equal(missing.headers['access-control-allow-credentials'], undefined)
    }
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
    assert.deepEqual(open.sort(), publicRoutes.toSorted())
  })

  test('SVC-019 READ-001 ERR-004 ERR-005 without a token UserRequired, with a rejected one InvalidToken', async () => {
    let count = 0
    for (const { method, url } of svc.app.http.declaredRoutes) {
      if (tokenless.includes(`${method} ${url}`)) continue
      const request = { method: method as 'GET', url: url.replaceAll(/:\w+|\*/g, '1') }
      const without = await svc.inject(request)
      // It has no body that could say more.
      if (method === 'HEAD') {
        assert.equal(without.statusCode, 401, url)
        continue
      }
      // The specification says so of the session, and of who it is.
      const code = ['/api/v1/user/session', '/api/oauth2/userinfo'].includes(url) ? 'InvalidToken' : 'UserRequired'
      assert.deepEqual([without.statusCode, without.json().code], [401, code], `${method} ${url}`)
      const rejected = await svc.inject({ ...request, headers: { authorization: 'Bearer no-such-token' } })
      assert.deepEqual([rejected.statusCode, rejected.json().code], [401, 'InvalidToken'], `${method} ${url}`)
      count++
    }
    assert.ok(count > 50, `${count}`)
  })

  test('the schemas of all routes compile', () => svc.app.http.compileSchemas())

  test('ERR-028 ERR-029 further codes and fields of an error stand in docs/errors.md, as they are answered', async () => {
    const page = await readFile(join(import.meta.dirname, '..', '..', '..', 'docs', 'errors.md'), 'utf8')
    assert.ok(page.includes(errorTable()), 'run: node scripts/docs.ts')
    const [fields = '', codes = ''] = page.split('\n## Codes')
    const named = [...fields.matchAll(/^\| ([`a-z_, ]+) \|/gm)].flatMap(
      ([, names = '']) => names.match(/[a-z_]+/g) ?? [],
    )
    const answers = [
      await svc.as(null).get('/no/such/thing'),
      await svc.as('root').get('/event/999999'),
      await svc.as('root').post('/search', { objecttypes: ['nothing'] }),
      await svc.as('root').post('/user', [{ user: {} }], { unknown: 1 }),
    ]
    assert.deepEqual(
      answers.map(({ body }) => body.code),
      ['UnknownEndpointMethod', 'EventNotFound', 'UnknownObjecttype', 'UrlParameterNotSupported'],
    )
    for (const { status, body } of answers) {
      assert.deepEqual(Object.keys(body).toSorted(), named.toSorted())
      assert.ok(codes.includes(`| \`${body.code}\` | ${status} | \`${body.package}\` |`), body.code)
    }
    // The list of the specification, with its statuses; what is more than these is ours.
    const specified = {
      400: 'ReadOnlyMode ServerGeneric EventTypeNotAllowed VersionMismatch ObjecttypeNeedsStandardMask UrlParameterNotSupported UnknownField UnsupportedFieldType ExportDuplicateName DeepLinkAccessDisabled TypeChangeUnsupported DbPreSaveFailed',
      401: 'UserRequired InvalidToken',
      403: 'ObjectInsufficientRights ObjectInsufficientAssetDownloadRight InsufficientRights',
      423: 'DatabaseLockError',
      503: 'WebdavNotEnabled',
    }
    for (const [status, list] of Object.entries(specified)) {
      for (const code of list.split(' ')) assert.ok(codes.includes(`| \`${code}\` | ${status} |`), code)
    }
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
