import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { OpenApiDocument, OpenApiOperation } from '../../src/system/openapi.ts'
import { schemaText } from '../../src/system/openapi-page.ts'
import { startService, type TestService } from '../support/service.ts'

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

  test('every route is in it, with a summary, a tag, its errors and what it needs to be called', () => {
    assert.equal(document.openapi, '3.1.0')
    assert.ok(operations().length > 10)
    for (const [name, operation] of operations()) {
      assert.ok(operation.summary, `${name} has no summary`)
      assert.ok(operation.tags?.length, `${name} has no tag`)
      assert.ok(operation.responses['4XX'], `${name} has no errors`)
      assert.ok(operation.security, `${name} does not say what it needs`)
    }
    const session = document.paths['/api/v1/user/session']?.get
    assert.equal(session?.security?.length, 3)
    assert.deepEqual(document.paths['/api/v1/settings']?.get?.security, [])
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
    assert.deepEqual(others, [
      ['get /api/v1/event/list', [], ['application/json', 'text/csv']],
      ['post /api/oauth2/token', form, ['application/json']],
      ['post /api/oauth2/revoke', form, ['application/json']],
      ['post /api/v1/user/change_password', form, ['application/json']],
      ['get /api/v1/schema/user/{version}', [], ['application/json', 'image/svg+xml', 'image/png']],
    ])
    const authorization = `Bearer ${await svc.as('root').token()}`
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
        if (key === 'schema') assert.ok(ajv.validateSchema(inner as object), `${name}: ${ajv.errorsText()}`)
        check(name, inner)
      }
    }
    for (const [name, operation] of operations()) {
      check(name, operation)
      const described = (operation.parameters ?? []).filter((one) => one.in === 'path').map((one) => one.name)
      const inPath = [...name.matchAll(/\{([^}]+)\}/g)].map(([, parameter]) => parameter)
      assert.deepEqual(described.sort(), inPath.sort(), name)
    }
  })

  test('the page shows every operation, carries no script and loads nothing', async () => {
    const { status, headers, body } = await svc.as(null).get('/system/openapi/')
    assert.equal(status, 200)
    assert.match(String(headers['content-type']), /^text\/html/)
    for (const path of Object.keys(document.paths)) assert.ok(body.includes(`<code>${path}</code>`), path)
    assert.doesNotMatch(body, /<script|<img|src=|@import|\[object Object\]/)
  })

  test('the page escapes what it shows', () => {
    const text = schemaText({ properties: { a: { type: 'string', description: '<b>' } }, required: ['a'] }, {})
    assert.equal(text, '{\n  a!: string  — <b>\n}')
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
