import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type fc from 'fast-check'
import type { Answer, Json } from '../support/client.ts'
import { type Knowledge, knowledgeOf } from '../support/hidden/knowledge.ts'
import { draws, otherScene } from '../support/hidden/others.ts'
import { callers, columns, masks, type Scene, someScene } from '../support/hidden/scene.ts'
import { comparable, startWorld, type World, type WorldOptions } from '../support/hidden/twins.ts'
import { type Twin, type TwinRequest, twinGenerators } from './twin-requests.ts'

/**
 * What a caller may not know shows in no answer of any endpoint. Two services are filled by the same requests, with other
 * contents wherever the caller knows none; one of them has hidden objects that the other has purged, and more versions of
 * hidden objects. Then the same random requests of that caller are answered alike, and as the rules say that are written
 * down in test/support/hidden/knowledge.ts. `TWIN_REQUESTS`, `TWIN_CALLERS` and `PROPERTY_SEED` look further.
 *
 * What cannot be kept secret, and is not compared:
 * - whether something hidden that links to an object keeps it from being deleted (`mayBeBlocked`);
 * - unique keys and ids in use (test/objects/hidden.test.ts): both services have the same.
 */
const requests = Number(process.env.TWIN_REQUESTS ?? 12)
const twinCallers = (process.env.TWIN_CALLERS ?? 'ann,cleo').split(',')
const rights = ['write', 'create', 'delete', 'link', 'unlink']
/** In a pool of root's. */
const vaulted = ['place', 'work'] as const

/** Operations that say nothing of objects, or that are refused to all but administrators: sent as they stand. */
const plain: Readonly<Record<string, Omit<TwinRequest, 'path'> & { path?: string }>> = Object.fromEntries(
  [
    'GET /settings',
    'GET /system/status',
    'GET /system/errortest',
    'GET /system/openapi/spec.json',
    'GET /system/openapi/',
    'GET /event/list',
    'DELETE /event/list',
    'POST /event/list',
    'GET /event/{eventId}',
    'DELETE /event/{eventId}',
    'POST /event',
    'GET /config/list',
    'GET /config',
    'POST /config',
    'GET /config/{path}',
    'POST /config/{path}',
    'DELETE /config/{path}',
    'GET /user',
    'POST /user',
    'PUT /user',
    'POST /user/change_password',
    'GET /user/{id}',
    'DELETE /user/{id}',
    'GET /group',
    'POST /group',
    'PUT /group',
    'GET /group/{id}',
    'DELETE /group/{id}',
    'GET /user/session',
    'GET /schema/user/{version}',
    'POST /schema/user/HEAD',
    'POST /schema/commit',
    'GET /mask/{version}',
    'GET /mask/{version}/{mask}',
    'POST /mask/HEAD',
    'GET /l10n/user/{version}',
    'POST /l10n/user/HEAD',
    'GET /objecttype',
    'POST /objecttype',
    'GET /pool',
    'POST /pool',
    'PUT /pool',
    'GET /tags',
    'POST /tags',
    'GET /transitions',
    'POST /transitions',
    'POST /system/reindex',
  ].map((name) => {
    const [method, path = ''] = name.split(' ') as [TwinRequest['method'], string]
    const values: Record<string, string> = { version: 'CURRENT', id: '2', eventId: '5', path: 'system', mask: '1' }
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, key: string) => values[key] ?? '1')
    return [name, { method, path: filled, ...(/POST|PUT/.test(method) ? { body: [] } : {}) }]
  }),
)
/** Not on behalf of a caller. */
const outside = ['POST /oauth2/token', 'POST /oauth2/revoke']

const [scene] = draws(someScene, 1, 0) as [Scene]

async function fill(of: Scene, options: WorldOptions): Promise<World & { transitions: number[]; hidden: number[] }> {
  const world = await startWorld(of, { rights, ...options })
  const root = world.svc.as('root')
  const ok = async ({ status, body }: Answer): Promise<Json> => {
    assert.equal(status, 200, JSON.stringify(body))
    return body
  }
  const setTag = { type: 'set_tags', info: { tags: [{ _id: world.tags[0], set: true }] } }
  const manual = { type: 'process', trigger: 'manual' }
  const saved = await ok(
    await root.post('/transitions', [
      { ...manual, actions: [] },
      { ...manual, confirm: { 'en-US': 'Sure?' }, 'tagfilter:before': { any: [world.tags[1]] }, actions: [setTag] },
    ]),
  )
  const [pool] = await ok(await root.post('/pool', [{ pool: { _id_parent: 1, name: { 'en-US': 'Vault' } } }]))
  const hidden: number[] = []
  for (const type of vaulted) {
    const first = of.things.findIndex((thing) => thing.type === type)
    const block = {
      place: { name: { 'en-US': 'amber' }, code: 'amber', _id_parent: world.objectIds[first] },
      work: {
        title: { 'en-US': 'amber' },
        code: 'amber',
        creator: { _system_object_id: world.ids[0] },
        related: { _system_object_id: world.ids[first] },
      },
    }[type]
    const body = {
      _objecttype: type,
      _mask: '_all_fields',
      [type]: { ...block, _pool: { pool: { _id: pool.pool._id } } },
    }
    const [object] = await ok(await root.post(`/db/${type}`, [body]))
    hidden.push(object._system_object_id)
  }
  return { ...world, hidden, transitions: saved.map((each: Json) => each._id) }
}

describe('two services that differ only in what the caller may not see', { timeout: 600_000 }, () => {
  for (const login of twinCallers) describe(login, () => twins(login))
})

function twins(login: string): void {
  const caller = callers.indexOf(login as (typeof callers)[number])
  const knowledge = knowledgeOf(scene, caller)
  let one: Awaited<ReturnType<typeof fill>>
  let two: Awaited<ReturnType<typeof fill>>
  const open = new AsyncDisposableStack()
  before(async () => {
    const other = otherScene(scene, caller)
    for (const index of scene.things.keys()) {
      assert.equal(knowledgeOf(other, caller).mayRead(index), knowledge.mayRead(index))
    }
    const comment = (mine: string) => (index: number) => (knowledge.mayRead(index) ? 'seen' : mine)
    ;[one, two] = await Promise.all([
      fill(scene, { comment: comment('first') }),
      fill(other, { comment: comment('second'), poolName: 'Vault' }),
    ])
    open.use(one)
    open.use(two)
    assert.deepEqual([one.ids, one.objectIds, one.hidden], [two.ids, two.objectIds, two.hidden])
    await two.rewrite(other.things, (index) => !knowledge.mayRead(index))
    await purge(one)
    await Promise.all([one.svc.drain(), two.svc.drain()])
  })
  after(() => open.disposeAsync())

  async function same(twin: Twin): Promise<void> {
    const [a, b] = await Promise.all([one, two].map((world) => answer(world, login, twin(world))))
    const sent = twin(one)
    const what = JSON.stringify(sent)
    assert.ok(a && b && a.status < 500, `${what} ${JSON.stringify(a?.body)}`)
    if (sent.mayBeBlocked && [a, b].some(isBlocked)) return
    assert.deepEqual(told(a), told(b), what)
  }

  /** Tells the first difference of each operation. */
  async function all(generators: Readonly<Record<string, fc.Arbitrary<Twin>>>, more: number): Promise<void> {
    const differences: unknown[] = []
    for (const [at, generator] of Object.values(generators).entries()) {
      try {
        for (const twin of draws(generator, requests, more + at)) await same(twin)
      } catch (error) {
        differences.push(error)
      }
    }
    if (differences.length > 0) throw new AggregateError(differences, differences.map(String).join('\n'))
  }

  test('every operation of the description is asked', async () => {
    const { paths } = (await one.svc.as('root').get('/system/openapi/spec.json')).body
    const described = Object.entries<Json>(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/^\/api(\/v1)?/, '')}`),
    )
    const { reads, writes } = twinGenerators(scene, one, one.transitions)
    const asked = [...Object.keys(reads), ...Object.keys(writes(true)), ...Object.keys(plain), ...outside]
    assert.deepEqual(described.sort(), asked.sort())
  })

  test('questions and dry runs are answered alike', async () => {
    const { reads, writes } = twinGenerators(scene, one, one.transitions)
    for (const request of Object.values(plain)) await same(() => request as TwinRequest)
    await all(reads, 100 * caller)
    const { 'POST /transitions/{id}/run': _, ...dry } = writes(true)
    await all(dry, 100 * caller + 50)
  })

  test('answers are those of the rules', () => asRuled(one, login, scene, knowledge))

  test('what is saved is answered alike, and so is what is read then', async () => {
    const { reads, writes } = twinGenerators(scene, one, one.transitions)
    await all(writes(false), 100 * caller + 60)
    await Promise.all([one.svc.drain(), two.svc.drain()])
    await all(reads, 100 * caller + 70)
  })
}

async function purge({ svc, hidden }: Awaited<ReturnType<typeof fill>>): Promise<void> {
  const root = svc.as('root')
  for (const [at, type] of vaulted.entries()) {
    const { body } = await root.get(`/db/${type}/${type}__standard/system_object_id/${hidden[at]}`)
    const { _id, _version } = body[0][type]
    for (const [more, delete_policy] of ['remove', 'purge'].entries()) {
      const gone = await root.delete(`/db/${type}`, [[_id, _version + more, null]], { delete_policy })
      assert.equal(gone.status, 200, JSON.stringify(gone.body))
    }
  }
}

function answer({ svc }: World, login: string, { method, path, query, body }: TwinRequest): Promise<Answer> {
  const client = svc.as(login)
  if (method === 'GET') return client.get(path, query)
  if (method === 'PUT') return client.put(path, body, query)
  if (method === 'PATCH') return client.patch(path, body, query)
  return method === 'POST' ? client.post(path, body, query) : client.delete(path, body, query)
}

const isBlocked = ({ status, body }: Answer): boolean =>
  status === 403 && ['write', 'delete'].includes(body.parameters.right) && !body.parameters._system_object_id

const volatile = new Set(['request_id', '_last_seen_at', 'access_token', 'current_max_event_id'])

/** An answer without what two services never have alike: times, uuids, and ids of requests, events and grants. */
function told({ status, body, headers }: Answer): unknown {
  const own = Object.entries(headers).filter(([name]) => /^x-svc-(?!request)/.test(name))
  const time = /\d{4}-\d\d-\d\dT[\d:.]+Z/g
  const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
  const text = JSON.stringify(body, (key, value) => {
    if (volatile.has(key)) return undefined
    if (key === 'event' && value?.type) return { ...value, _id: 0 }
    if (key === '_acl' && Array.isArray(value)) return value.map((grant) => ({ ...grant, _id: 0 }))
    return value
  })
    .replaceAll(uuid, 'UUID')
    .replaceAll(time, 'TIME')
  return { status, own, body: comparable(JSON.parse(text)) }
}

/** Reads, lists and totals beside what the records of the scene say of this caller. */
async function asRuled({ svc, ids, objectIds }: World, login: string, { things }: Scene, knowledge: Knowledge) {
  const client = svc.as(login)
  const found: string[] = []
  for (const type of ['person', 'place', 'work'] as const) {
    const indexes = [...things.keys()].filter((index) => things[index]?.type === type)
    for (const mask of ['standard', ...Object.keys(masks[type])]) {
      for (const index of indexes) {
        const { status, body } = await client.get(`/db/${type}/${type}__${mask}/${objectIds[index]}`)
        const usable = knowledge.mayUse(index, mask)
        const at = `${login} ${type} ${index} ${mask}`
        if (!knowledge.mayRead(index)) assert.deepEqual([status, body], [200, []], at)
        else if (!usable) assert.deepEqual([status, body.parameters?.right], [403, 'mask'], at)
        else {
          assert.equal(status, 200, at)
          const shown = Object.keys(body[0][type]).filter((key) => key in columns[type])
          const has = (column: string) => mask === 'standard' || masks[type][mask]?.includes(column)
          const inMask = Object.keys(columns[type]).filter((column) => !column.includes('.') && has(column))
          assert.deepEqual(shown.sort(), inMask.sort(), at)
          found.push(at)
        }
      }
      const { body } = await client.get(`/db/${type}/${type}__${mask}/list`, { format: 'short' })
      const listed = indexes.filter((index) => knowledge.mayUse(index, mask))
      assert.deepEqual(
        body.map((object: Json) => object._system_object_id),
        listed.map((index) => ids[index]),
        `${login} list ${type} ${mask}`,
      )
    }
    for (const [column, kind] of Object.entries<string>(columns[type])) {
      if (!['string', 'number', 'integer.2'].includes(kind) || column.includes('.')) continue
      for (const value of new Set(indexes.map((index) => things[index]?.values[column]))) {
        if (value === undefined) continue
        const search = [{ type: 'in', fields: [`${type}.${column}`], in: [value] }]
        const { body } = await client.post('/search', { objecttypes: [type], search, limit: 0 })
        const count = indexes.filter(
          (index) => knowledge.mayKnow(index, column) && things[index]?.values[column] === value,
        )
        assert.equal(body.count, count.length, `${login} ${type}.${column} ${value}`)
      }
    }
  }
  assert.ok(found.length > 0)
}
