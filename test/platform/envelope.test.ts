import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../support/service.ts'

test('ERR-001 an unknown endpoint is a 400 with the whole envelope', async () => {
  await using svc = await startService()
  const answer = await svc.as(null).get('/no/such/thing')
  assert.equal(answer.status, 400)
  const { request_id, ...rest } = answer.body
  assert.deepEqual(rest, {
    code: 'UnknownEndpointMethod',
    package: 'api',
    realm: 'api',
    statuscode: 400,
    error: rest.message,
    message: rest.message,
    parameters: { method: 'GET', path: '/api/v1/no/such/thing' },
  })
  assert.equal(answer.headers['x-request-id'], request_id)
})
