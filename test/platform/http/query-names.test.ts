import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { OpenApiDocument } from '../../../src/system/openapi/model.ts'
import { zip } from '../../files/documents.ts'
import { upload } from '../../files/support.ts'
import { install } from '../../plugins/support.ts'
import type { Json } from '../../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../../support/seed/museum.ts'
import type { TestService } from '../../support/service.ts'

interface Operation {
  name: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The path with every parameter filled in. */
  url: string
  query: string[]
  /** Query parameters by name, with what is said of them. */
  texts: Record<string, string>
}

/** Requests other than GET that change nothing: what they do not know is named, not refused (decision 26; RFC 6749, 3.2). */
const readsByPost = [
  'POST /api/v1/db_info/create',
  'POST /api/v1/db_info/update',
  'POST /api/v1/search',
  'POST /api/v1/search/parse',
  'POST /api/v1/search/query',
  'POST /api/v1/suggest',
  ...['auth', 'introspect', 'logout', 'refresh', 'revoke', 'token', 'userinfo'].map(
    (name) => `POST /api/oauth2/${name}`,
  ),
  'POST /logout',
]

suite('query parameters that nobody knows', () => {
  let museum: Museum
  let svc: TestService
  let operations: Operation[]
  let authorization: string
  before(async () => {
    museum = await startMuseum()
    svc = museum.svc
    authorization = `Bearer ${await svc.as('root').token()}`
    const document: OpenApiDocument = (await svc.as(null).get('/system/openapi/spec.json')).body
    operations = Object.entries(document.paths)
      // What parameters mean there is a matter of the plugin, or of the protocol.
      .filter(([path]) => !path.includes('/plugin/extension/') && path !== '/api/v1/oai')
      .flatMap(([path, methods]) =>
        // Answers to HEAD have no body; that of an upload is looked at below.
        Object.entries(methods)
          .filter(([method]) => method !== 'head')
          .map(([method, { parameters = [] }]) => ({
            name: `${method.toUpperCase()} ${path}`,
            method: method.toUpperCase() as Operation['method'],
            url: path.replaceAll(/\{[^}]+\}/g, '1'),
            query: parameters.filter((parameter) => parameter.in === 'query').map((parameter) => parameter.name),
            texts: Object.fromEntries(parameters.map(({ name, description = '' }) => [name, description])),
          })),
      )
  })
  after(() => museum[Symbol.asyncDispose]())

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

  test('HEAD names what it does not know, and what has no effect there', async () => {
    const begun = await svc.inject({
      method: 'POST',
      url: '/api/v1/eas/tus',
      headers: {
        authorization,
        'tus-resumable': '1.0.0',
        'upload-length': '3',
        'upload-metadata': 'filename YS5iaW4=',
      },
    })
    const look = (query: string) =>
      svc.inject({
        method: 'HEAD',
        url: `${begun.headers.location}?${query}`,
        headers: { authorization, 'tus-resumable': '1.0.0' },
      })
    for (const name of ['no_such_parameter', 'cache_seconds']) {
      const answer = await look(`${name}=1`)
      assert.deepEqual([answer.statusCode, answer.headers['x-svc-ignored']], [200, name])
      assert.equal((await look(`${name}=1&strict=1`)).statusCode, 400)
    }
  })

  test('pretty indents the JSON of every endpoint, refusals too', async () => {
    for (const operation of operations) {
      // Events are indented unless it is said otherwise.
      const own = operation.url.startsWith('/api/v1/event/list')
      const compact = own ? '&pretty=0' : ''
      for (const query of ['no_such_parameter=1', 'no_such_parameter=1&strict=1']) {
        const plain = await send(operation, `${query}${compact}`)
        const pretty = await send(operation, `${query}&pretty=1`)
        if (!String(pretty.headers['content-type']).includes('json') || pretty.body.length <= 2) {
          assert.ok(!query.includes('strict'), `${operation.name}: a refusal is JSON that says something`)
          continue
        }
        assert.equal(pretty.body, JSON.stringify(pretty.json(), null, 2), operation.name)
        if (plain.statusCode === 200 || !own) assert.doesNotMatch(plain.body, /\n {2}/, operation.name)
      }
    }
  })

  /** Where something is found, for operations whose parameters are no ids of what every new instance has. */
  async function addresses(): Promise<Record<string, string>> {
    const root = svc.as('root')
    const made = async (path: string, body: Json[]): Promise<Json> => {
      const answer = await root.post(path, body)
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      return answer.body[0]
    }
    const types: Json[] = (await root.get('/objecttype')).body
    const { objecttype: work } = types.find(({ objecttype }) => objecttype.name === 'work')
    const object = await made('/db/person', [payload('person', { name: 'Ada' })])
    const { message } = await made('/message', [{ message: { title: { 'en-US': 'T' }, message: { 'en-US': 'M' } } }])
    const { right_preset: preset } = await made('/right/object/presets', [
      { right_preset: { displayname: { 'en-US': 'P' }, preset: { rights: { read: {} } } } },
    ])
    const sent = [{ name: 'all.zip', content: zip({ 'notes.txt': 'note' }) }]
    const [file] = (await upload(svc, 'root', sent, { produce_versions: 'false' })).body
    const plugin = await install(svc, 'named', {
      'manifest.yml': JSON.stringify({ plugin: { name: 'named' }, base_url_prefix: 'web' }),
      'web/a.txt': 'a',
    })
    const exported = await root.post('/export', {
      _basetype: 'export',
      export: { type: 'export', name: 'named', search: {} },
      _transports: [{}],
    })
    assert.equal(exported.status, 200, JSON.stringify(exported.body))
    const { task } = (await root.post('/task', { task: { task_module: 'search', task_params: { search: {} } } })).body
    await root.post('/config/system/config/location_defaults', { originals: 'file', versions: '', backups: 'file' })
    const backup = (await root.put('/system/backup/new', { format: 'native' })).body
    const upper = (await root.post('/collection', { collection: { displayname: { 'en-US': 'Upper' } } })).body
    const lower = { displayname: { 'en-US': 'Lower' }, _id_parent: upper.collection._id }
    const entry = { _global_object_id: object._global_object_id }
    assert.equal((await root.post('/collection', { collection: lower, objects: [entry] })).status, 200)
    await svc.drain()
    const person = '/api/v1/db/person/_all_fields'
    const opened = await root.post('/config/system/config/deep_link_access', { enabled: true })
    assert.equal(opened.status, 200)
    await made('/db/work', [payload('work', { ...inPool(museum.pool), title: { 'en-US': 'Public' } })])
    const { pool } = (await root.get(`/pool/${museum.pool}`)).body[0]
    const _acl = [{ who: { _basetype: 'user', user: { _id: 2 } }, rights: { read: {} } }]
    await made('/pool', [{ pool: { _id: pool._id, _version: pool._version }, _acl }])
    assert.equal((await root.post('/config/system/config/sitemaps', { enabled: true })).status, 200)
    const download = `/api/v1/eas/download/${file._id}/${file.hash}/original`
    return {
      'GET /api/v1/config/{path}': '/api/v1/config/system',
      'GET /api/v1/export/{exportId}': `/api/v1/export/${exported.body.export._id}`,
      'GET /api/v1/db/{objecttype}/{mask}/{id}': `${person}/${object.person._id}`,
      'GET /api/v1/db/{objecttype}/{mask}/system_object_id/{id}': `${person}/system_object_id/${object._system_object_id}`,
      'GET /api/v1/db/{objecttype}/{mask}/global_object_id/{id}': `${person}/global_object_id/${object._global_object_id}`,
      'GET /api/v1/db/{objecttype}/{mask}/list': `${person}/list`,
      'GET /api/v1/l10n/user/{version}': '/api/v1/l10n/user/CURRENT',
      'GET /api/v1/mask/{version}': '/api/v1/mask/CURRENT',
      'GET /api/v1/mask/{version}/{mask}': '/api/v1/mask/CURRENT/person__standard',
      'GET /api/v1/schema/user/{version}': '/api/v1/schema/user/CURRENT',
      'GET /api/v1/task/{taskId}': `/api/v1/task/${task._id}`,
      'GET /api/v1/task/{taskId}/log': `/api/v1/task/${task._id}/log`,
      'GET /api/v1/system/backup/{id}': `/api/v1/system/backup/${backup.id}`,
      'GET /api/v1/system/backup/{id}/download': `/api/v1/system/backup/${backup.id}/download`,
      'GET /api/v1/message/{id}': `/api/v1/message/${message._id}`,
      'GET /api/v1/plugin/manage/{id}': `/api/v1/plugin/manage/${plugin.id}`,
      'GET /api/v1/plugin/static/{plugin}/{path}': '/api/v1/plugin/static/named/a.txt',
      'GET /api/v1/right/explain': `/api/v1/right/explain?user=1&system_object_id=${object._system_object_id}`,
      'GET /api/v1/right/{context}/presets': '/api/v1/right/object/presets',
      'GET /api/v1/right/{context}/presets/{presetId}': `/api/v1/right/object/presets/${preset._id}`,
      'GET /api/v1/collection/list/{parentId}': '/api/v1/collection/list/null',
      'GET /api/v1/collection/{collectionId}': '/api/v1/collection/3',
      'GET /api/v1/collection/objects/{collectionId}': '/api/v1/collection/objects/3',
      'GET /api/v1/collection/iiif/{collectionId}': `/api/v1/collection/iiif/${upper.collection._id}`,
      'GET /api/v1/xmlmapping/profile/{profile}': '/api/v1/xmlmapping/profile/file-metadata.yml',
      'GET /api/v1/xmlmapping/mapping/{mapping}': '/api/v1/xmlmapping/mapping/1',
      'GET /api/v1/publish/{systemObjectId}': '/api/v1/publish/1',
      'GET /api/v1/objects/{path}': `/api/v1/objects/uuid/${object._uuid}`,
      'GET /api/v1/search': '/api/v1/search?BODY={}',
      'GET /api/v1/search/parse': '/api/v1/search/parse?query=',
      'GET /api/v1/suggest': '/api/v1/suggest?BODY={}',
      'GET /api/v1/transitions/manual': `/api/v1/transitions/manual?objecttype_id=${work._id}&pool_id=${museum.pool}`,
      'GET /api/v1/event/poll/{fromEventId}': '/api/v1/event/poll/0',
      'GET /api/v1/eas': `/api/v1/eas?ids=[${file._id}]`,
      'GET /api/v1/eas/{fileId}': `/api/v1/eas/${file._id}`,
      'GET /api/v1/eas/{fileId}/similar': `/api/v1/eas/${file._id}/similar`,
      'GET /api/v1/eas/download/{fileId}/{hash}/{version}': download,
      'GET /api/v1/eas/download/{fileId}/{hash}/{version}/{path}': `${download}/notes.txt`,
    }
  }

  test('SEARCH-006 cache_seconds lets caches keep the answer of every GET, but for those that say why not', async () => {
    const found = await addresses()
    const wrong: string[] = []
    const never: string[] = []
    for (const { name, method, url, texts } of operations) {
      // Of pictures: test/files/images.test.ts. `public` only where nothing says who is calling: what a caller sees is not for others.
      if (method !== 'GET' || /eas\/(iiif|zoom)/.test(name)) continue
      const place = found[name] ?? url
      const kept = await svc.inject({
        method,
        url: `${place}${place.includes('?') ? '&' : '?'}cache_seconds=7`,
        headers: { authorization },
      })
      const told = [kept.statusCode, kept.headers['cache-control'], kept.headers['x-svc-ignored']]
      const idle = texts.cache_seconds?.startsWith('Without effect: ')
      if (idle) never.push(name)
      const right = idle
        ? told[2] === 'cache_seconds' && /^no-store/.test(String(told[1]))
        : told[0] === 200 && told[1] === 'max-age=7, private' && told[2] === undefined
      if (!right) wrong.push(`${name}: ${told.join(', ')}`)
      const open = await svc.inject({ method, url: `${place}${place.includes('?') ? '&' : '?'}cache_seconds=7` })
      if (!idle && open.statusCode === 200 && open.headers['cache-control'] !== 'max-age=7, public')
        wrong.push(`${name}: ${open.headers['cache-control']} for everybody`)
      const plain = await svc.inject({ method, url: place, headers: { authorization } })
      // Files are private to who may see them, and say so.
      const unasked = /eas\/download/.test(name)
        ? /^private, /
        : /plugin\/(static|bundle\.)/.test(name)
          ? /^public, no-cache$/
          : /v1\/(objects|collection\/iiif)|\/sitemap\.xml/.test(name)
            ? /^no-cache, must-revalidate$/
            : /^no-store(, no-cache)?$/
      if (!unasked.test(String(plain.headers['cache-control']))) wrong.push(`${name}: kept without being asked`)
    }
    assert.deepEqual(wrong, [])
    // An error that was asked for, a link that may be taken away, a socket, and what signs somebody in or out: nothing that could be kept.
    const paths = [
      '/api/v1/system/errortest',
      '/api/v1/system/share_link/{id}',
      '/api/v1/event/stream',
      '/api/oauth2/auth',
      '/api/oauth2/logout',
      '/logout',
      ...['', '/uuid/{uuid}'].flatMap((by) =>
        ['file', 'zip', 'tar_gz'].map((what) => `/api/v1/export/{exportId}${by}/${what}/{path}`),
      ),
      '/api/v1/system/backup/{id}/download',
    ]
    assert.deepEqual(
      never,
      paths.map((path) => `GET ${path}`),
    )
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
