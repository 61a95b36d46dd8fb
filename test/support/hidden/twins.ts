import assert from 'node:assert/strict'
import type { Json } from '../client.ts'
import { commitModel } from '../seed/model.ts'
import { startService, type TestService, type TestServiceOptions } from '../service.ts'
import { filteredMask, hiddenModel, maskIds, type TypeName, tableIds, typeNames } from './model.ts'
import { callers, type Grant, members, type Scene, type Thing, tagCount } from './scene.ts'
import { type Names, wireGrant, wireThing } from './wire.ts'

/**
 * A scene in a service of its own. Two services that are made of scenes with the same callers and objects give all of
 * them the same ids, so their answers can be compared as they are, but for times and uuids (`comparable`).
 */
export interface World extends Names, AsyncDisposable {
  readonly svc: TestService
  /** Of the things of the scene, by index: their ids within their types, and their uuids, which two worlds never have alike. */
  readonly objectIds: readonly number[]
  readonly uuids: readonly string[]
  /** Their versions at the last look. */
  readonly versions: readonly number[]
  /** Of any object, and the first event on a thing of the scene, at the last look. */
  versionOf(systemObjectId: number): number | undefined
  isTrashed(systemObjectId: number): boolean
  eventOf(index: number): number | undefined
  /** Looks at versions and events: saves change more than what they name. */
  look(): Promise<void>
  /** Saves all objects with these values, as root, and waits for the index. */
  rewrite(things: readonly Thing[], only?: (index: number) => boolean): Promise<void>
}

export interface WorldOptions {
  /** What a pool is called. */
  readonly poolName?: (index: number) => string
  /** Said of a thing by whoever saves it. */
  readonly comment?: (index: number) => string
  /** Callers who may read the event log. */
  readonly eventReaders?: readonly number[]
  readonly service?: TestServiceOptions
}

export async function startWorld(scene: Scene, options: WorldOptions = {}): Promise<World> {
  const svc = await startService(options.service)
  try {
    return await fill(svc, scene, options)
  } catch (error) {
    await svc[Symbol.asyncDispose]()
    throw error
  }
}

type Post = (path: string, body: unknown, query?: Record<string, string | number>) => Promise<Json>

async function fill(svc: TestService, scene: Scene, options: WorldOptions): Promise<World> {
  const { comment } = options
  const root = svc.as('root')
  const post: Post = async (path, body, query = {}) => {
    const answer = await root.post(path, body, query)
    assert.equal(answer.status, 200, `${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  await commitModel(svc, hiddenModel())
  const people = await addPeople(post, options)
  const pools = await addPools(post, scene, people, options)
  await setTypes(post, (await root.get('/objecttype')).body, scene, people)
  const ids: number[] = []
  const objectIds: number[] = []
  const uuids: string[] = []
  const versions: number[] = []

  let byId = new Map<number, { version: number; trashed: boolean; event: number }>()

  async function look(): Promise<void> {
    const { rows } = await svc.db.query<{ id: number; version: number; trashed: boolean; event: number }>(
      `select system_object_id as id, version, deleted_at is not null as trashed,
         (select min(e.id) from event e where e.system_object_id = o.system_object_id) as event from object o`,
    )
    byId = new Map(rows.map((row) => [row.id, row]))
    for (const [index, id] of ids.entries()) versions[index] = byId.get(id)?.version ?? 0
  }
  async function save(things: readonly Thing[], only: (index: number) => boolean): Promise<void> {
    await look()
    for (const type of typeNames) {
      const indexes = things.flatMap((thing, index) => (thing.type === type && only(index) ? index : []))
      if (indexes.length === 0) continue
      const bodies = indexes.map((index) => {
        const id = objectIds[index]
        const known = id === undefined ? undefined : { id, version: versions[index] as number }
        const body = wireThing(things[index] as Thing, { ...people, pools, ids }, known)
        return comment ? { ...body, _comment: comment(index) } : body
      })
      // The loans below a work are things of their own, and both sides of an influence are written down.
      const saved = await post(`/db/${type}`, bodies, { skip_reverse_nested: 1, skip_bidirectional_update: 1 })
      for (const [at, object] of saved.entries()) {
        const index = indexes[at] as number
        ids[index] = object._system_object_id
        uuids[index] = object._uuid
        objectIds[index] = object[type]._id
      }
    }
  }
  // At first without links to things of the same type, which are not there yet.
  for (let round = 0; round < 2; round++) await save(scene.things, () => true)
  const rewrite: World['rewrite'] = async (things, only = () => true) => {
    await save(things, only)
    await svc.drain()
  }
  await svc.drain()
  await look()
  return {
    svc,
    ...people,
    pools,
    ids,
    objectIds,
    uuids,
    versions,
    versionOf: (id) => byId.get(id)?.version,
    isTrashed: (id) => byId.get(id)?.trashed === true,
    eventOf: (index) => byId.get(ids[index] as number)?.event,
    look,
    rewrite,
    [Symbol.asyncDispose]: () => svc[Symbol.asyncDispose](),
  }
}

type People = Pick<Names, 'users' | 'group' | 'tags'>

async function addPeople(post: Post, { eventReaders = [] }: WorldOptions): Promise<People> {
  const [group] = await post('/group', [{ group: { name: 'crew' } }])
  const users: number[] = []
  for (const [index, login] of callers.entries()) {
    const [{ user }] = await post(
      '/user',
      [
        {
          user: { login },
          _password: login,
          ...(members.includes(index) ? { _groups: [{ group: { _id: group.group._id } }] } : {}),
          ...(eventReaders.includes(index) ? { _system_rights: { 'system.api.event': { get: true } } } : {}),
        },
      ],
      { confirm: 'ignore_password_requirements' },
    )
    users.push(user._id)
  }
  const [tags] = await post('/tags', [
    {
      taggroup: { displayname: { 'en-US': 'Tags' }, type: 'checkbox' },
      _tags: Array.from({ length: tagCount }, (_, index) => ({ displayname: { 'en-US': `Tag ${index}` } })),
    },
  ])
  return { users, group: group.group._id, tags: tags._tags.map((tag: Json) => tag._id) }
}

async function addPools(post: Post, scene: Scene, people: People, { poolName }: WorldOptions): Promise<number[]> {
  const pools: number[] = []
  for (const [index, pool] of scene.pools.entries()) {
    const above = pool.parent === null ? 1 : (pools[pool.parent] as number)
    const standard =
      pool.standard === null ? {} : { _standard_masks: { [tableIds.work]: [maskIds.work[pool.standard]] } }
    const name = poolName?.(index) ?? `Pool ${index}`
    const [saved] = await post('/pool', [
      {
        pool: { _id_parent: above, name: { 'en-US': name } },
        _acl: pool.grants.map((grant) => wireGrant(grant, people, 'pool')),
        ...(pool.private ? { _private_acl: true } : {}),
        ...standard,
      },
    ])
    pools.push(saved.pool._id)
  }
  return pools
}

async function setTypes(post: Post, types: Json, scene: Scene, people: People): Promise<void> {
  const acl = (grants: readonly Grant[]) => grants.map((grant) => wireGrant(grant, people, 'type'))
  await post(
    '/objecttype',
    types.map(({ objecttype: { _id, _version, name } }: Json) => ({
      _basetype: 'objecttype',
      objecttype: { _id, _version: _version + 1 },
      ...(scene.types[name as TypeName] ? { _acl: acl(scene.types[name as TypeName] ?? []) } : {}),
      ...(name === 'work'
        ? { _maskfilters: { [maskIds.work[filteredMask] as number]: { tagfilter: { all: [people.tags[1]] } } } }
        : {}),
    })),
  )
}

const volatile = new Set(['_uuid', '_created', '_last_modified', '_latest_version_deleted_at', 'time', 'es_time'])

/** An answer without what two services never have alike: times and uuids. */
export function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable)
  // Microseconds since 1970, as sort keys of times are.
  if (typeof value === 'number') return value > 1e15 ? 0 : value
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => (volatile.has(key) ? [] : [[key, comparable(member)]])),
  )
}
