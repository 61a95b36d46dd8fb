import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../support/service.ts'

/** Decision 3: what works in read-only mode although it changes stored data. */
const allowed = ['POST /api/v1/event', 'POST /api/oauth2/token', 'POST /api/oauth2/revoke']

test('SVC-018 read-only mode refuses every route that writes, and only POST /event goes on', async () => {
  await using svc = await startService({ readOnly: true })
  const headers = { authorization: `Bearer ${await svc.as('root').token()}` }
  const routes = svc.app.http.declaredRoutes
  for (const { method, url, access, writes } of routes) {
    if (!writes) continue
    const answer = await svc.inject({ method: method as 'POST', url: url.replaceAll(/:\w+/g, '1'), headers })
    assert.deepEqual([answer.statusCode, answer.json().code], [400, 'ReadOnlyMode'], `${method} ${url} (${access})`)
  }
  // A POST that writes nothing (a search, a look-up) declares that; what writes and may go on is listed above.
  for (const route of allowed) {
    const found = routes.find(({ method, url }) => `${method} ${url}` === route)
    assert.equal(found?.writes, false, route)
  }
  const event = await svc.as('root').post('/event', { event: { type: 'SEARCH' } })
  assert.equal(event.status, 200)
  assert.equal((await svc.as(null).get('/settings')).body.capabilities.read_only, true)
})
