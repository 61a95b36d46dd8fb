import assert from 'node:assert/strict'
import type { Answer, Client, Json } from '../support/client.ts'
import type { TestService } from '../support/service.ts'

/** Creates a pool below the root pool, unless the fields say where, and gives its `pool` block. */
export async function createPool(client: Client, fields: object, more: object = {}): Promise<Json> {
  const { status, body } = await client.post('/pool', [{ pool: { _id_parent: 1, ...fields }, ...more }])
  assert.equal(status, 200, JSON.stringify(body))
  return body[0].pool
}

export function codeOf({ status, body }: Answer): string {
  assert.ok(status >= 400 && status < 500, `${status} ${JSON.stringify(body)}`)
  return body.code
}

/** Type and id of the events on pools, in order. */
export async function poolEvents(svc: TestService): Promise<[string, number][]> {
  const { rows } = await svc.db.query<{ type: string; id: number }>(
    `select type, object_id as id from event where basetype = 'pool' order by event.id`,
  )
  return rows.map(({ type, id }) => [type, id])
}
