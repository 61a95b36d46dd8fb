import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unknownAddress } from '../../../src/platform/http/unknown-address.ts'

const routes = [
  'GET /',
  'GET /api/v1/settings',
  'POST /api/v1/search',
  'GET /api/v1/db/:objecttype/:mask/:id',
  'PATCH /api/v1/config/*',
  'POST /api/oauth2/token',
]
  .map((route) => route.split(' ') as [string, string])
  .map(([method, url]) => ({ method, url }))

const cases: [string, string, RegExp][] = [
  ['GET', '/api/v1/search', /^There is no GET \/api\/v1\/search; it has POST\.$/],
  ['POST', '/api/v1/serch', /did you mean POST \/api\/v1\/search\?$/],
  ['POST', '/search', /did you mean POST \/api\/v1\/search\?$/],
  ['POST', '/api/v1/search/', /did you mean POST \/api\/v1\/search\?$/],
  ['POST', '/api/oauth2/tokn', /did you mean POST \/api\/oauth2\/token\?$/],
  ['GET', '/api/v1/dbs/book/_all_fields/1', /did you mean GET \/api\/v1\/db\/:objecttype\/:mask\/:id\?$/],
  ['DELETE', '/api/v1/db/book/_all_fields/1', /; it has GET\.$/],
  ['PUT', '/api/v1/config/system/config', /; it has PATCH\.$/],
  ['GET', '/wp-admin/setup.php', /^There is no GET \/wp-admin\/setup\.php\.$/],
]
for (const [method, path, message] of cases) {
  test(`${method} ${path}: the answer names what was asked for and what was meant`, () => {
    const error = unknownAddress(method, path, routes)
    assert.equal(error.code, 'UnknownEndpointMethod')
    assert.match(error.message, message)
    assert.deepEqual(error.parameters, { method, path })
  })
}

test('a path without end costs nothing', () => {
  assert.ok(unknownAddress('GET', '/a'.repeat(30_000), routes).message.startsWith('There is no GET /a'))
})
