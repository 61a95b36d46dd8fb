import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpenApiDocument } from '../../src/system/openapi/model.ts'
import { startService } from '../support/service.ts'

test('switches of every query are true, false, 1 and 0 (decisions.md, 87)', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const headers = { authorization: `Bearer ${await root.token()}` }
  const document: OpenApiDocument = (await root.get('/system/openapi/spec.json')).body
  const switches = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [] }]) =>
      parameters
        .filter((one) => one.in === 'query' && (one.schema as { type?: string } | undefined)?.type === 'boolean')
        .map(({ name }) => ({ method: method.toUpperCase() as 'GET', path, name })),
    ),
  )
  assert.ok(switches.some(({ name }) => name === 'include_subpools'))
  for (const { method, path, name } of switches) {
    for (const word of ['1', '0', 'true', 'false']) {
      const url = `${path.replaceAll(/\{[^}]+\}/g, '1')}?${name}=${word}`
      const { body } = await svc.inject({ method, url, headers })
      assert.doesNotMatch(
        body,
        /must be boolean|must be equal to one of the allowed|must match a schema in anyOf/,
        `${method} ${url}`,
      )
    }
  }
})
