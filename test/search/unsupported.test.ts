import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../support/service.ts'

test('what the engine cannot do is refused by name, and what asks for nothing is not', async () => {
  await using svc = await startService()
  const search = (request: object) => svc.as('root').post('/search', request)
  const sort = (more: object) => ({ sort: [{ field: '_created', ...more }] })
  for (const [name, request] of [['field', { field: '_system_object_id' }]] as const) {
    const answer = await search(request)
    assert.equal(answer.status, 400, name)
    assert.equal(answer.body.parameters.name, name)
  }
  const nothing = { ...sort({ with_path: false, number_groups: [], width: '' }), fields: [], field: '' }
  assert.equal((await search(nothing)).status, 200)
})
