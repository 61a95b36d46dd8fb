import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { AppError } from '../../../src/platform/errors.ts'
import { apiSurface } from '../../../src/platform/http/api-surface.ts'
import type { DeclaredRoute } from '../../../src/platform/http/declared-routes.ts'
import { onSurface, type Surface } from '../../../src/platform/http/surface.ts'
import { consoleCookie } from '../../inspect/support.ts'
import { bareHttp } from '../../support/bare-http.ts'
import type { InjectResponse } from '../../support/client.ts'
import { startService, type TestService } from '../../support/service.ts'

type Form = 'envelope' | 'oauth' | 'page'

/** What programs and people get as an error, and what happens to a parameter that nobody knows when it is to be refused. */
const surfaces: Record<string, { programs: Form; people: Form; unknownParameter: 'refused' | 'nothing' }> = {
  api: { programs: 'envelope', people: 'envelope', unknownParameter: 'refused' },
  images: { programs: 'envelope', people: 'envelope', unknownParameter: 'refused' },
  'deep-links': { programs: 'envelope', people: 'envelope', unknownParameter: 'refused' },
  oai: { programs: 'envelope', people: 'envelope', unknownParameter: 'nothing' },
  tus: { programs: 'envelope', people: 'envelope', unknownParameter: 'refused' },
  oauth: { programs: 'oauth', people: 'oauth', unknownParameter: 'refused' },
  'sign-in': { programs: 'oauth', people: 'page', unknownParameter: 'refused' },
  'sign-out': { programs: 'envelope', people: 'page', unknownParameter: 'refused' },
  inspect: { programs: 'envelope', people: 'page', unknownParameter: 'refused' },
  page: { programs: 'envelope', people: 'page', unknownParameter: 'refused' },
  extension: { programs: 'envelope', people: 'envelope', unknownParameter: 'nothing' },
  dav: { programs: 'envelope', people: 'envelope', unknownParameter: 'nothing' },
  static: { programs: 'envelope', people: 'page', unknownParameter: 'nothing' },
}

/** Those of the routes that do not stand on the surface of the interface. */
function surfaceByAddress(url: string): string {
  if (/^\/api\/oauth2\/(token|revoke|introspect)$/.test(url)) return 'oauth'
  if (url === '/api/oauth2/auth') return 'sign-in'
  if (/^(\/api\/oauth2)?\/logout$/.test(url)) return 'sign-out'
  if (/^\/api\/v1\/eas\/(iiif2?|zoom)\//.test(url)) return 'images'
  if (/^\/api\/v1\/(objects|collection\/iiif)\/|^\/(robots\.txt|sitemap\.xml)$/.test(url)) return 'deep-links'
  if (url === '/api/v1/oai') return 'oai'
  if (/^\/api\/v1\/eas\/tus/.test(url)) return 'tus'
  if (/^\/api\/v1\/(WebDAV|hotfolder)\//.test(url)) return 'dav'
  if (url.startsWith('/api/v1/plugin/extension/')) return 'extension'
  if (url.startsWith('/inspect')) return 'inspect'
  if (url.startsWith('/share/')) return 'page'
  if (/^\/favicon\.(ico|svg)$/.test(url)) return 'static'
  if (/^\/$|^\/(health|docs)\b|^\/api\/(page|saml|openid)\//.test(url)) return 'page'
  return 'api'
}

function formOf({ headers, body }: InjectResponse): Form {
  if (String(headers['content-type']).startsWith('text/html')) return 'page'
  const { error, error_description, realm, statuscode } = JSON.parse(body)
  if (realm === 'api' && typeof statuscode === 'number') return 'envelope'
  assert.ok(typeof error === 'string' && typeof error_description === 'string', body)
  return 'oauth'
}

suite('surfaces of the HTTP interface', () => {
  let svc: TestService
  let authorization: string
  let cookie: string
  before(async () => {
    svc = await startService({ bodyLimit: 4096 })
    authorization = `Bearer ${await svc.as('root').token()}`
    cookie = await consoleCookie(svc)
  })
  after(() => svc[Symbol.asyncDispose]())

  const address = ({ url }: DeclaredRoute): string =>
    url.replaceAll(/:(version|mask)/g, 'CURRENT').replaceAll(/:\w+|\*/g, '1')

  /** The forms of the answers that programs and people get. */
  async function forms(request: InjectOptions, status: number): Promise<{ programs: Form; people: Form }> {
    const told = async (accept: string): Promise<Form> => {
      const answer = await svc.inject({ ...request, headers: { ...request.headers, accept } })
      assert.equal(answer.statusCode, status, `${request.method} ${request.url}: ${answer.body.slice(0, 500)}`)
      assert.match(String(answer.headers['x-request-id']), /./)
      return formOf(answer)
    }
    return { programs: await told('application/json'), people: await told('text/html,*/*;q=0.8') }
  }

  test('every route stands on one, and each of them has routes', () => {
    const used = new Set<string>()
    for (const { method, url, surface } of svc.app.http.declaredRoutes) {
      assert.equal(surface.name, surfaceByAddress(url), `${method} ${url}`)
      used.add(surface.name)
    }
    assert.deepEqual([...used].sort(), Object.keys(surfaces).sort())
  })

  test('a parameter that nobody knows is refused in the form of the surface; static files have no such rules', async () => {
    for (const route of svc.app.http.declaredRoutes) {
      if (route.method === 'HEAD') continue
      const { unknownParameter, ...expected } = surfaces[route.surface.name] ?? assert.fail(route.surface.name)
      const request = { method: route.method as 'GET', headers: { authorization, cookie } }
      const url = `${address(route)}?strict=1&pretty=1&no_such_parameter=1`
      if (unknownParameter === 'refused') {
        assert.deepEqual(await forms({ ...request, url }, 400), expected, `${route.method} ${url}`)
        continue
      }
      const answer = await svc.inject({ ...request, url, headers: { authorization: 'Bearer no-such-token' } })
      // Drives and harvests are switched off, and there is no such plugin.
      const status = { dav: 503, extension: 404, oai: 400 }[route.surface.name] ?? 200
      assert.deepEqual([answer.statusCode, answer.headers['x-svc-ignored']], [status, undefined], url)
      if (status !== 200) continue
      const kept = (await svc.inject({ ...request, url: `${address(route)}?cache_seconds=5` })).headers['cache-control']
      assert.equal(kept, 'max-age=604800, public')
    }
  })

  test('a body that is too large is 413 in the form of the surface', async () => {
    for (const route of svc.app.http.declaredRoutes) {
      // Files have limits of their own, and programs of plugins take what comes.
      if (route.method === 'HEAD' || /\/eas\/(put|tus)|\/(WebDAV|hotfolder)\/|\/plugin\/extension\//.test(route.url))
        continue
      const { programs, people } = surfaces[route.surface.name] ?? assert.fail(route.surface.name)
      const request = { method: route.method as 'POST', url: address(route), payload: 'x'.repeat(5000) }
      const headers = { authorization, cookie, 'content-type': 'application/json' }
      assert.deepEqual(await forms({ ...request, headers }, 413), { programs, people }, `${route.method} ${route.url}`)
    }
  })

  test('who calls is asked for in the words of the surface, and by none of them where it takes no tokens', async () => {
    let asked = 0
    for (const route of svc.app.http.declaredRoutes) {
      if (route.access !== 'user' && route.access !== 'session') {
        // A route may look for itself; what it then answers is not the challenge of bearer tokens.
        const { headers } = await svc.inject({ method: route.method as 'GET', url: address(route) })
        if (route.surface.name !== 'api')
          assert.doesNotMatch(String(headers['www-authenticate'] ?? ''), /Bearer/, route.url)
        continue
      }
      const { challenge, name } = route.surface
      assert.ok(['api', 'inspect', 'tus'].includes(name), `${route.url} is for users`)
      const request = { method: route.method as 'GET', url: address(route) }
      const without = await svc.inject(request)
      const rejected = await svc.inject({ ...request, headers: { authorization: 'Bearer no-such-token' } })
      const code = route.access === 'user' ? 'UserRequired' : 'InvalidToken'
      assert.deepEqual([without.statusCode, without.headers['www-authenticate']], [401, challenge[code]], route.url)
      assert.equal(rejected.headers['www-authenticate'], challenge.InvalidToken, route.url)
      asked++
    }
    assert.ok(asked > 50)
  })

  test('addresses that nothing has, and methods that an address does not have, are pages for people', async () => {
    const expected = { programs: 'envelope', people: 'page' }
    assert.deepEqual(await forms({ method: 'GET', url: '/no/such/address' }, 400), expected)
    const methods = Map.groupBy(svc.app.http.declaredRoutes, ({ surface }) => surface.name)
    for (const [name, [route]] of methods) {
      if (!route) continue
      const url = address(route)
      // No route has this one.
      const answer = await svc.inject({ method: 'REPORT' as 'GET', url })
      assert.deepEqual([answer.statusCode, answer.json().code], [400, 'UnknownEndpointMethod'], name)
      assert.ok(String(answer.headers.allow).split(', ').includes(route.method), `${name}: ${answer.headers.allow}`)
      assert.deepEqual(await forms({ method: 'REPORT' as 'GET', url }, 400), expected, name)
    }
  })

  test('OPTIONS tells of a protocol what its surface says, and only there', async () => {
    for (const [url, told] of [
      ['/api/v1/eas/tus', '1.0.0'],
      ['/api/v1/eas/1', undefined],
    ] as const) {
      assert.equal((await svc.inject({ method: 'OPTIONS', url })).headers['tus-version'], told, url)
    }
  })
})

test('a surface of another protocol: its own verbs, errors, ways to sign in and rules of parameters', async () => {
  const bearer = apiSurface({ authenticators: [async () => assert.fail('nobody asks for tokens')], requestTokens: [] })
  const folder: Surface = {
    ...bearer,
    name: 'folder',
    sendError: (error, _request, reply) =>
      reply.status(error.status).type('application/xml').send(`<error>${error.code}</error>`),
    challenge: { UserRequired: 'Basic realm="folder"' },
    authenticators: [
      async ({ headers }) => {
        if (headers.authorization === undefined) return null
        throw new AppError('InvalidToken')
      },
    ],
    parameters: null,
    optionsHeaders: { DAV: '1' },
    description: null,
  }
  const harvest: Surface = {
    ...folder,
    name: 'harvest',
    parameters: {
      learn() {},
      checkQuery({ query }) {
        if (Array.isArray((query as { verb?: unknown }).verb)) throw new AppError('ServerGeneric')
      },
      checkBody() {},
      present: async (_request, _reply, payload) => payload,
    },
  }
  const http = await bareHttp(bearer)
  http.addHttpMethod('PROPFIND', { hasBody: true })
  await onSurface(http, folder, (scope) => {
    scope.route({
      method: 'PROPFIND',
      url: '/folder/*',
      config: { access: 'user', writes: false, body: 'stream' },
      handler: async () => 'never',
    })
    scope.get('/folder/*', { config: { access: 'optional', writes: false } }, async ({ query }) => ({ query }))
  })
  await onSurface(http, harvest, (scope) => {
    scope.get('/harvest', { config: { access: 'public', writes: false } }, async () => 'harvested')
  })
  const call = async (method: string, url: string, headers: Record<string, string> = {}) => {
    const { statusCode, body, headers: told } = await http.inject({ method: method as 'GET', url, headers })
    return { statusCode, body, told }
  }
  const asked = await call('PROPFIND', '/folder/a')
  assert.deepEqual([asked.statusCode, asked.body], [401, '<error>UserRequired</error>'])
  assert.equal(asked.told['www-authenticate'], 'Basic realm="folder"')
  const refused = await call('PROPFIND', '/folder/a', { authorization: 'Basic eDp5' })
  assert.deepEqual([refused.statusCode, refused.body], [401, '<error>InvalidToken</error>'])
  const free = await call('GET', '/folder/a?strict=1&pretty=1&anything=%ff')
  assert.deepEqual([free.statusCode, free.body.includes('\n')], [200, false])
  assert.equal(free.told['x-svc-ignored'], undefined)
  const told = await call('OPTIONS', '/folder/a')
  assert.deepEqual([told.told.dav, told.told.allow], ['1', 'PROPFIND, GET, HEAD, OPTIONS'])
  assert.equal((await call('GET', '/harvest?verb=a&strict=1&more=2')).body, 'harvested')
  assert.equal((await call('GET', '/harvest?verb=a&verb=b')).body, '<error>ServerGeneric</error>')
  assert.match((await call('GET', '/elsewhere')).body, /^\{"code":"UnknownEndpointMethod"/)
  await http.close()
})

test('a route that stands on no surface keeps the service from starting', async () => {
  const elsewhere = apiSurface({ authenticators: [], requestTokens: [] })
  const http = await bareHttp(elsewhere)
  assert.throws(
    () => http.get('/nowhere', { config: { access: 'public', writes: false } }, async () => ''),
    /GET \/nowhere is on no surface/,
  )
  await http.close()
})
