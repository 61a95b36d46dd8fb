import assert from 'node:assert/strict'
import type { Answer, Json } from '../support/client.ts'
import type { Knowledge } from '../support/hidden/knowledge.ts'
import type { TypeName } from '../support/hidden/model.ts'
import type { Scene } from '../support/hidden/scene.ts'
import { comparable, startWorld, type WorldOptions } from '../support/hidden/twins.ts'
import type { TwinRequest, TwinWorld } from './twin-requests.ts'

/** The two services of a caller, and what of their answers must be equal. */

export interface Vaulted {
  readonly type: TypeName
  readonly systemObjectId: number
}

const manual = { type: 'process', trigger: 'manual' }

/** A scene with workflows, and with objects of root's that the caller may not read, in a pool of their own if they have one. */
export async function fillTwin(
  scene: Scene,
  knowledge: Knowledge,
  options: WorldOptions,
): Promise<TwinWorld & { readonly vaulted: readonly Vaulted[] }> {
  const world = await startWorld(scene, options)
  const root = world.svc.as('root')
  const post = async (path: string, body: unknown): Promise<Json> => ok(await root.post(path, body))
  const setTag = { type: 'set_tags', info: { tags: [{ _id: world.tags[0], set: true }] } }
  const transitions = await post('/transitions', [
    { ...manual, actions: [] },
    { ...manual, confirm: { 'en-US': 'Sure?' }, 'tagfilter:before': { any: [world.tags[1]] }, actions: [setTag] },
  ])
  const [pool] = await post('/pool', [{ pool: { _id_parent: 1, name: { 'en-US': 'Vault' } } }])
  const first = (type: TypeName) => scene.things.findIndex((thing) => thing.type === type)
  const link = (type: TypeName) => ({ _system_object_id: world.ids[first(type)] })
  const inVault = { _pool: { pool: { _id: pool.pool._id } } }
  const blocks: Partial<Record<TypeName, object>> = {
    place: { ...inVault, name: { 'en-US': 'amber' }, code: 'amber', _id_parent: world.objectIds[first('place')] },
    topic: { name: 'amber', _parents: [link('topic')] },
    work: { ...inVault, title: { 'en-US': 'amber' }, code: 'amber', creator: link('person'), related: link('work') },
    loan: { borrower: 'amber', fee: 7, work: link('work') },
  }
  const vaulted: Vaulted[] = []
  for (const type of Object.keys(blocks) as TypeName[]) {
    // Of a type without pools all are readable to whoever has it on the type.
    if (knowledge.mayReadAny(type)) continue
    const [object] = await post(`/db/${type}`, [{ _objecttype: type, _mask: '_all_fields', [type]: blocks[type] }])
    vaulted.push({ type, systemObjectId: object._system_object_id })
  }
  return { ...world, vaulted, created: [], transitions: transitions.map((each: Json) => each._id) }
}

function ok({ status, body }: Answer): Json {
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

/** Takes away for good what lies in the vault. */
export async function purgeVault({ svc, vaulted }: Awaited<ReturnType<typeof fillTwin>>): Promise<void> {
  const root = svc.as('root')
  for (const { type, systemObjectId } of vaulted) {
    const body = ok(await root.get(`/db/${type}/${type}__standard/system_object_id/${systemObjectId}`))
    const { _id, _version } = body[0][type]
    for (const [more, delete_policy] of ['remove', 'purge'].entries()) {
      ok(await root.delete(`/db/${type}`, [[_id, _version + more, null]], { delete_policy }))
    }
  }
}

export function answer({ svc }: TwinWorld, login: string, request: TwinRequest): Promise<Answer> {
  const { method, path, query, body } = request
  const client = svc.as(login)
  if (method === 'GET') return client.get(path, query)
  if (method === 'PUT') return client.put(path, body, query)
  if (method === 'PATCH') return client.patch(path, body, query)
  return method === 'POST' ? client.post(path, body, query) : client.delete(path, body, query)
}

/** Something hidden stands in the way. */
export const isBlocked = ({ status, body }: Answer): boolean =>
  status === 403 && ['write', 'delete'].includes(body.parameters.right) && !body.parameters._system_object_id

const volatile = new Set(['request_id', '_last_seen_at', 'access_token', 'current_max_event_id'])

/**
 * An answer without what two services never have alike: times, uuids, and ids of requests, events and grants. Readers of
 * the log see that something happened to hidden objects, but not what: of these events one service has more.
 */
export function told(
  { status, body, headers }: Answer,
  { path }: TwinRequest,
  isHidden: (systemObjectId: number) => boolean,
): unknown {
  const own = Object.entries(headers).filter(([name]) => /^x-svc-(?!request)/.test(name))
  const time = /\d{4}-\d\d-\d\dT[\d:.]+Z/g
  const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
  const isEvents = path.startsWith('/event/')
  const text = JSON.stringify(body, (key, value) => {
    if (volatile.has(key) || (isEvents && key === 'count')) return undefined
    if (key === 'event' && value?.type) return { ...value, _id: 0 }
    if (key === '_acl' && Array.isArray(value)) return value.map((grant) => ({ ...grant, _id: 0 }))
    if (isEvents && Array.isArray(value)) return value.filter((each) => !isOfHidden(each, isHidden))
    return value
  })
    .replaceAll(uuid, 'UUID')
    .replaceAll(time, 'TIME')
  return { status, own, body: comparable(JSON.parse(text)) }
}

function isOfHidden(value: Json, isHidden: (systemObjectId: number) => boolean): boolean {
  const event = value?._basetype === 'event' ? value.event : null
  if (!event?.system_object_id || !isHidden(event.system_object_id)) return false
  assert.deepEqual(event.info, {}, JSON.stringify(event))
  return true
}
