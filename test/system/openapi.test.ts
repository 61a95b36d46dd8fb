import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { readDescription } from '../../fuzz/description.ts'
import { catalogue } from '../../src/platform/catalogue.ts'
import type { JsonSchema, OpenApiDocument, OpenApiOperation } from '../../src/system/openapi/model.ts'
import { schemaText } from '../../src/system/openapi/schema-text.ts'
import { assertNamed, pageText } from '../support/documented.ts'
import { startService, type TestService } from '../support/service.ts'

/** What people open in a browser, beside the interface. */
const pagesForPeople = /^\/$|^\/(api\/page|docs|health|favicon|inspect|share)\b/

suite('description of the interface', () => {
  let svc: TestService
  let document: OpenApiDocument
  before(async () => {
    svc = await startService()
    document = (await svc.as(null).get('/system/openapi/spec.json')).body
  })
  after(() => svc[Symbol.asyncDispose]())

  const operations = (): [string, OpenApiOperation][] =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, OpenApiOperation] => [
        `${method} ${path}`,
        operation,
      ]),
    )

  test('an independent validator finds nothing wrong with it', async () => {
    const found = await new Validator({ strict: false }).validate({ ...structuredClone(document) })
    assert.deepEqual(found.errors ?? [], [])
    assert.equal(found.valid, true)
  })

  test('every route is in it, and nothing of an operation is left unsaid', () => {
    assert.equal(document.openapi, '3.1.0')
    // Beside them there are drives, and pages for people: at the address of the service, those of the sign-in, and those to
    // which other providers send browsers back.
    const interfaceRoutes = svc.app.http.declaredRoutes.filter(
      ({ method, url }) =>
        method !== 'HEAD' && !pagesForPeople.test(url) && !/^\/api\/(openid|saml|v1\/WebDAV|v1\/hotfolder)\//.test(url),
    )
    const [heads, others] = [true, false].map((is) =>
      operations().filter(([name]) => name.startsWith('head ') === is),
    ) as [[string, OpenApiOperation][], [string, OpenApiOperation][]]
    assert.equal(others.length, interfaceRoutes.length)
    // HEAD beside a GET is said once for all.
    assert.deepEqual(
      heads.map(([name]) => name),
      ['head /api/v1/eas/tus/{uploadId}'],
    )
    assert.match(document.info.description, /HEAD answers beside each GET/)
    const ids = operations().map(([, operation]) => operation.operationId)
    assert.equal(new Set(ids).size, ids.length, 'operation ids are unique')
    for (const [name, operation] of operations()) {
      assert.match(operation.operationId, /^[a-z][A-Za-z]+$/, `${name} has no operationId`)
      assert.ok(operation.summary, `${name} has no summary`)
      assert.ok(operation.description, `${name} has no description`)
      assert.doesNotMatch(operation.summary, /\.$/, `${name}: a summary is no sentence`)
      assert.ok(operation.tags.length, `${name} has no tag`)
      for (const parameter of operation.parameters ?? []) {
        assert.ok(parameter.description, `${name}: ${parameter.name} has no description`)
      }
      for (const [status, answer] of Object.entries(operation.responses)) {
        assert.ok(answer.description, `${name}: ${status} has no description`)
      }
    }
  })

  test('addresses of images are one path: its description names each part and what that can be', () => {
    const parts = (path: string): string => {
      const [first] = document.paths[`/api/v1/eas/${path}/{path}`]?.get?.parameters ?? []
      assert.deepEqual([first?.name, first?.in], ['path', 'path'])
      return first?.description ?? ''
    }
    const named = (text: string, names: readonly string[]): void => {
      for (const name of names) assert.ok(text.includes(`\`${name}\``), `${name} in: ${text}`)
    }
    for (const path of ['iiif', 'iiif2']) {
      named(parts(path), [
        'region',
        'size',
        'rotation',
        'quality',
        'format',
        'square',
        '!w,h',
        'pct:n',
        'bitonal',
        'webp',
      ])
    }
    named(parts('iiif'), ['max', '^'])
    named(parts('iiif2'), ['full'])
    named(parts('zoom'), ['viewport', 'tile', 'x', 'y', 'format', 'png'])
  })

  test('VER-010 VER-011 the version stands in the address, no header chooses one; what will go is marked', async () => {
    const page = pageText('api.md')
    assertNamed('api.md', ['/api/v1', '/api/v2', 'deprecated: true'])
    for (const promise of [/no header that negotiates/, /two minor\s+releases and at least six months/]) {
      assert.match(page, promise)
    }
    const outside = ['/api/oauth2/', '/logout', '/.well-known/', '/robots.txt', '/sitemap.xml']
    for (const path of Object.keys(document.paths)) {
      assert.ok(path.startsWith('/api/v1/') || outside.some((begin) => path.startsWith(begin)), path)
    }
    const get = async (url: string, headers = {}): Promise<readonly [number, string]> => {
      const { statusCode, body } = await svc.inject({ method: 'GET', url, headers })
      return [statusCode, body.replace(/"request_id":"[^"]*"/, '')]
    }
    const plain = await get('/api/v1/settings')
    assert.equal(plain[0], 200)
    for (const name of ['accept-version', 'x-api-version', 'x-svc-version', 'api-version']) {
      assert.deepEqual(await get('/api/v1/settings', { [name]: '2' }), plain, name)
    }
    assert.match((await get('/api/v2/settings'))[1], /UnknownEndpointMethod/)
    for (const [name, operation] of operations()) {
      // What the text calls deprecated bears the mark that programs read.
      if (/deprecated/i.test(operation.description ?? '')) {
        assert.equal((operation as { deprecated?: boolean }).deprecated, true, name)
      }
    }
  })

  test('every operation names its errors with their codes, and what it needs to be called', () => {
    for (const [name, { responses }] of operations()) {
      const failures = Object.entries(responses).filter(([status]) => Number(status) >= 400)
      assert.ok(failures.length > 1, `${name} has no errors`)
      for (const [status, { content }] of failures) {
        // What a protocol says itself.
        if (content?.['text/xml'] && !content['application/json']) continue
        const schema = content?.['application/json']?.schema
        if (schema?.$ref === '#/components/schemas/OAuthError') continue
        const codes = schema?.allOf?.[1]?.properties?.code?.enum as (keyof typeof catalogue)[]
        assert.ok(codes.length > 0, `${name}: ${status} has no codes`)
        for (const code of codes) assert.equal(catalogue[code].status, Number(status), `${name}: ${code}`)
      }
    }
    const session = document.paths['/api/v1/user/session']?.get
    assert.deepEqual(session?.security, [{ bearer: [] }, { header: [] }, { query: [] }])
    assert.deepEqual(Object.keys(document.components.securitySchemes), ['bearer', 'header', 'query'])
    assert.deepEqual(document.paths['/api/v1/settings']?.get?.security, [])
    const save = document.paths['/api/v1/db/{objecttype}']?.post
    assert.match(save?.responses[400]?.description ?? '', /`VersionMismatch`: The version sent/)
    assert.ok(save?.responses[423], 'a lock that another write holds')
  })

  test('switches are booleans; objects are system fields and a block by the name of the type', () => {
    const save = document.paths['/api/v1/db/{objecttype}']?.post
    const dryRun = save?.parameters?.find((one) => one.name === 'dry_run')
    assert.deepEqual(dryRun?.schema, { type: 'boolean' })
    assert.deepEqual(save?.requestBody?.content['application/json']?.schema?.items, {
      $ref: '#/components/schemas/ObjectInput',
    })
    const { DbObject, ObjectInput } = document.components.schemas
    assert.equal(DbObject?.properties?._standard?.$ref, '#/components/schemas/Standard')
    assert.deepEqual(DbObject?.patternProperties, { '^[^_]': { $ref: '#/components/schemas/ObjectBlock' } })
    assert.deepEqual(ObjectInput?.required, ['_objecttype', '_mask'])
  })

  test('every operation has an example, and its answer is of the described shape', () => {
    const description = readDescription(document)
    for (const operation of description.operations) {
      const { operationId, requestBody, responses } = operation
      const [sent] = Object.values(requestBody?.content ?? {})
      assert.ok(!sent || sent.example !== undefined, `${operationId} has no example of its body`)
      for (const [status, { content }] of Object.entries(responses)) {
        const example = content?.['application/json']?.example
        if (example === undefined) continue
        const body = Buffer.from(JSON.stringify(example))
        assert.equal(description.judge(operation, { status: Number(status), type: 'json', body }), null, operationId)
      }
    }
    assert.equal(
      Object.values(document.paths['/api/v1/db/{objecttype}/{mask}/{id}'] ?? {})[0]?.parameters?.[0]?.example,
      'work',
    )
  })

  test('shapes of some size stand once, under a name', () => {
    const seen = new Map<string, string>()
    const look = (value: unknown, place: string): void => {
      if (typeof value !== 'object' || value === null) return
      const { properties } = value as JsonSchema
      if (properties && !Array.isArray(properties) && Object.keys(properties).length > 2) {
        const text = JSON.stringify(value)
        assert.ok(!seen.has(text), `${place} repeats ${seen.get(text)}: give the schema a title`)
        seen.set(text, place)
      }
      for (const [key, member] of Object.entries(value)) if (!key.startsWith('example')) look(member, `${place}/${key}`)
    }
    look(document, '')
    assert.ok(Object.keys(document.components.schemas).length > 40)
  })

  test('SVC-004 bodies are JSON in both directions, but where an endpoint says otherwise', async () => {
    const others: [string, string[], string[]][] = []
    for (const [name, { requestBody, responses }] of operations()) {
      const sent = Object.keys(requestBody?.content ?? {})
      const answered = Object.entries(responses)
        .filter(([status]) => status.startsWith('2'))
        .flatMap(([, answer]) => Object.keys(answer.content ?? {}))
      const json = (types: string[]): boolean => types.every((type) => type === 'application/json')
      if (!json(sent) || !json(answered)) others.push([name, sent, answered])
    }
    const form = ['application/x-www-form-urlencoded']
    const content = ['multipart/form-data', 'application/octet-stream']
    const pieces = ['application/offset+octet-stream']
    assert.deepEqual(others, [
      ['get /api/v1/system/openapi/', [], ['text/html']],
      ['get /api/v1/event/list', [], ['application/json', 'text/csv']],
      ['post /api/oauth2/token', form, ['application/json']],
      ['post /api/oauth2/revoke', form, []],
      ['post /api/oauth2/introspect', form, ['application/json']],
      ['get /api/oauth2/auth', [], ['text/html']],
      ['post /api/oauth2/auth', form, ['text/html']],
      ['get /api/oauth2/logout', [], ['text/html']],
      ['post /api/oauth2/logout', form, ['text/html']],
      ['get /logout', [], ['text/html']],
      ['post /logout', form, ['text/html']],
      ['post /api/oauth2/refresh', form, ['application/json']],
      ['post /api/v1/user/change_password', form, ['application/json']],
      ['get /api/v1/schema/user/{version}', [], ['application/json', 'image/svg+xml', 'image/png']],
      ['get /api/v1/eas/iiif/{path}', [], ['image/jpeg']],
      ['get /api/v1/eas/iiif2/{path}', [], ['image/jpeg']],
      ['get /api/v1/eas/zoom/{path}', [], ['image/jpeg']],
      [
        'get /api/v1/eas/download/{fileId}/{hash}/{version}/{path}',
        [],
        ['application/json', 'application/octet-stream', 'application/octet-stream'],
      ],
      ['post /api/v1/eas/put', content, ['application/json']],
      ['put /api/v1/eas/put', content, ['application/json']],
      ['post /api/v1/eas/tus', pieces, []],
      ['patch /api/v1/eas/tus/{uploadId}', pieces, []],
      ['post /api/v1/eas/tus/{uploadId}', pieces, []],
      [
        'get /api/v1/eas/download/{fileId}/{hash}/{version}',
        [],
        ['application/octet-stream', 'application/octet-stream'],
      ],
      ['get /api/v1/plugin/bundle.js', [], ['text/javascript']],
      ['get /api/v1/plugin/bundle.css', [], ['text/css']],
      ['get /api/v1/plugin/bundle.html', [], ['text/html']],
      ['get /api/v1/plugin/static/{plugin}/{path}', [], ['application/octet-stream']],
      ['get /api/v1/plugin/extension/{plugin}/{path}', [], ['application/octet-stream']],
      ...['post', 'put', 'patch', 'delete'].map((method): [string, string[], string[]] => [
        `${method} /api/v1/plugin/extension/{plugin}/{path}`,
        ['application/octet-stream'],
        ['application/octet-stream'],
      ]),
      ['get /api/v1/formats/xml_native.xsd', [], ['application/xml']],
      ['get /api/v1/objects/{path}', [], ['application/json', 'application/octet-stream', 'application/octet-stream']],
      ['get /api/v1/collection/iiif/{collectionId}', [], ['application/ld+json']],
      ['get /robots.txt', [], ['text/plain']],
      ['get /sitemap.xml', [], ['application/xml']],
      ['get /api/v1/oai', [], ['text/xml']],
      ['post /api/v1/oai', form, ['text/xml']],
      ...['', '/uuid/{uuid}'].flatMap((by): [string, string[], string[]][] => [
        [
          `get /api/v1/export/{exportId}${by}/file/{path}`,
          [],
          ['text/html', 'application/octet-stream', 'application/octet-stream'],
        ],
        ...[
          ['zip', 'application/zip'],
          ['tar_gz', 'application/gzip'],
        ].map(([kind = '', type = '']): [string, string[], string[]] => [
          `get /api/v1/export/{exportId}${by}/${kind}/{path}`,
          [],
          [type, 'application/octet-stream', 'application/octet-stream'],
        ]),
      ]),
      ['get /api/v1/system/backup/{id}/download', [], ['application/octet-stream', 'application/octet-stream']],
    ])
    const authorization = `Bearer ${await svc.as('root').token()}`
    const bundles = ['js', 'css', 'html'].map((kind) => `/api/v1/plugin/bundle.${kind}`)
    const html = [
      '/api/oauth2/logout',
      '/api/v1/formats/xml_native.xsd',
      '/api/v1/system/openapi/',
      '/logout',
      '/robots.txt',
      ...bundles,
    ]
    const seen: string[] = []
    for (const { method, url } of svc.app.http.declaredRoutes) {
      if (method !== 'GET' || html.includes(url) || pagesForPeople.test(url)) continue
      const path = url.replaceAll(/:(version|mask)/g, 'CURRENT').replaceAll(/:\w+|\*/g, '1')
      const answer = await svc.inject({ method: 'GET', url: path, headers: { authorization } })
      assert.match(String(answer.headers['content-type']), /^application\/json/, path)
      JSON.parse(answer.body)
      if (answer.statusCode === 200) seen.push(path)
    }
    for (const name of ['user', 'group', 'pool', 'event/list', 'schema/user/CURRENT']) {
      assert.ok(seen.includes(`/api/v1/${name}`), name)
    }
    for (const type of ['text/plain', 'application/xml', 'text/json']) {
      const headers = { authorization, 'content-type': type }
      const answer = await svc.inject({ method: 'POST', url: '/api/v1/search', headers, payload: '{}' })
      assert.deepEqual([answer.statusCode, answer.json().code], [415, 'UnsupportedMediaType'], type)
      assert.match(String(answer.headers['content-type']), /^application\/json/)
    }
  })

  test('all references resolve, all schemas are valid JSON Schema, path parameters are described', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    const check = (name: string, value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      const ref = (value as { $ref?: unknown }).$ref
      if (typeof ref === 'string') {
        const target = ref
          .split('/')
          .slice(1)
          .reduce<unknown>((place, step) => (place as Record<string, unknown>)?.[step], document)
        assert.ok(target, `${name}: ${ref} leads nowhere`)
      }
      for (const [key, inner] of Object.entries(value)) {
        if (key === 'example') continue
        if (key === 'schema') assert.ok(ajv.validateSchema(inner as object), `${name}: ${ajv.errorsText()}`)
        check(name, inner)
      }
    }
    check('components', document.components)
    for (const schema of Object.values(document.components.schemas)) assert.ok(ajv.validateSchema(schema))
    for (const [name, operation] of operations()) {
      check(name, operation)
      const described = (operation.parameters ?? []).filter((one) => one.in === 'path').map((one) => one.name)
      const inPath = [...name.matchAll(/\{([^}]+)\}/g)].map(([, parameter]) => parameter)
      assert.deepEqual(described.sort(), inPath.sort(), name)
    }
  })

  test('the page shows every operation and loads nothing', async () => {
    const { status, headers, body } = await svc.as(null).get('/system/openapi/')
    assert.equal(status, 200)
    assert.match(String(headers['content-type']), /^text\/html/)
    assert.match(String(headers['content-security-policy']), /default-src 'none'.*script-src 'sha256-[^']+'$/)
    for (const path of Object.keys(document.paths)) assert.ok(body.includes(`<code>${path}</code>`), path)
    assert.doesNotMatch(body, /<script |<link|<img|src=|@import|\[object Object\]/)
  })

  test('the page escapes what it shows', () => {
    const text = schemaText({ properties: { a: { type: 'string', description: '<b>' } }, required: ['a'] })
    assert.equal(text, '{\n  a!: string  // <b>\n}')
  })

  test('it is closed to strangers when the base configuration says so', async () => {
    const changed = await svc.as('root').post('/config', {
      system: { config: { openapi_spec_endpoint: { active: false } } },
    })
    assert.equal(changed.status, 200, JSON.stringify(changed.body))
    const stranger = await svc.as(null).get('/system/openapi/spec.json')
    assert.deepEqual([stranger.status, stranger.body.code], [403, 'InsufficientRights'])
    assert.equal((await svc.as('root').get('/system/openapi/spec.json')).status, 200)
  })
})
