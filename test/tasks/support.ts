import assert from 'node:assert/strict'
import type { Client, Json } from '../support/client.ts'
import { inPool, type Museum, payload } from '../support/seed/museum.ts'

/** A moment that is over: what is saved with it runs at once. */
export const now = '2020-01-01T00:00:00Z'

export async function ok(answer: Promise<{ status: number; body: Json }>): Promise<Json> {
  const { status, body } = await answer
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

/** Saves a task that runs at once, waits, and reads it. */
export async function ran(museum: Museum, client: Client, task: object): Promise<Json> {
  const { task: saved } = await ok(client.post('/task', { task: { next_run_at: now, ...task } }, { confirm: 'yes' }))
  await museum.svc.drain()
  return (await ok(client.get(`/task/${saved._id}`))).task
}

export async function logOf(client: Client, { _id }: Json): Promise<string[]> {
  return (await ok(client.get(`/task/${_id}/log`, { limit: 10_000 }))).map(({ msg }: Json) => msg)
}

/** Works with that title, in the standard pool. */
export async function works(museum: Museum, title: string, count: number, rest: object = {}): Promise<Json[]> {
  const body = Array.from({ length: count }, () =>
    payload('work', { title: { 'en-US': title }, ...inPool(museum.pool) }, rest),
  )
  const saved = await ok(museum.svc.as('root').post('/db/work', body))
  await museum.svc.drain()
  return saved
}

/** Finds the works with that title. */
export const titled = (title: string) => ({
  objecttypes: ['work'],
  search: [{ type: 'match', mode: 'fulltext', fields: ['work.title'], string: title, phrase: true, bool: 'must' }],
})

export async function latest(museum: Museum, saved: readonly Json[]): Promise<Json[]> {
  const root = museum.svc.as('root')
  const read = saved.map(({ work }) => ok(root.get(`/db/work/_all_fields/${work._id}`)))
  return (await Promise.all(read)).map(([object]) => object)
}

export async function events(museum: Museum, type: string): Promise<Json[]> {
  const { body } = await museum.svc.as('root').get('/event/list', { type })
  return body.objects.map((one: Json) => one.event)
}
