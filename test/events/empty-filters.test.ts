import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'

let svc: TestService
before(async () => {
  svc = await startService({ readOnly: false })
})
after(() => svc[Symbol.asyncDispose]())

interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly schema: Json }[]
}

test('an empty filter of a deletion is refused and deletes nothing, at every endpoint', async () => {
  const root = svc.as('root')
  const { body: description } = await root.get('/system/openapi/spec.json')
  const count = async (): Promise<number> => {
    const { rows } = await svc.db.query<{ count: number }>('select count(*)::int from event')
    return rows[0]?.count ?? 0
  }
  await root.post('/event', { _basetype: 'event', event: { type: 'FRONTEND_ERROR' } })
  const before = await count()
  assert.ok(before > 0)
  let tried = 0
  for (const [path, { delete: operation }] of Object.entries(description.paths as Record<string, Json>)) {
    const { parameters = [] } = (operation ?? {}) as Operation
    for (const { name } of parameters.filter((one) => one.in === 'query' && one.schema.type !== 'boolean')) {
      const url = path.replace('{context}', 'pool').replaceAll(/\{\w+\}/g, '1')
      const { statusCode, body } = await svc.inject({
        method: 'DELETE',
        url: `${url}?${name}=`,
        headers: { authorization: `Bearer ${await root.token()}` },
      })
      assert.deepEqual([statusCode, JSON.parse(body).parameters?.param], [400, name], `${path} ${name} ${body}`)
      tried++
    }
  }
  assert.ok(tried > 12, `${tried}`)
  assert.equal(await count(), before)
})

test('a list of events takes an empty filter for none, and several of which one is empty delete nothing', async () => {
  const root = svc.as('root')
  const { status, body } = await root.get('/event/list', { type: '' })
  assert.equal(status, 200)
  const all = body.count
  for (const query of ['type=', 'type=LOGIN&type=', 'type=,', 'type=%20', 'date_from=&type=FRONTEND_ERROR', 'id=']) {
    const answer = await root.delete(`/event/list?${query}`)
    assert.equal(answer.status, 400, query)
  }
  assert.ok((await root.get('/event/list')).body.count >= all)
})
