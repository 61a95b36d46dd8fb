import assert from 'node:assert/strict'
import type { Json } from '../client.ts'
import { commitModel } from '../seed/model.ts'
import { startService, type TestService } from '../service.ts'
import {
  callers,
  columns,
  filteredMask,
  type Grant,
  hiddenModel,
  maskIds,
  type Row,
  type Scene,
  type TagFilter,
  type Thing,
  type TypeName,
  tableIds,
  tagCount,
  typeNames,
} from './scene.ts'

/**
 * A scene in a service of its own. Two services that are made of scenes with the same callers and objects give all of
 * them the same ids, so their answers can be compared as they are, but for times and uuids (`comparable`).
 */
export interface World extends AsyncDisposable {
  readonly svc: TestService
  /** System object ids of the things of the scene, by index. */
  readonly ids: readonly number[]
  /** Their ids within their types, and their uuids, which two worlds never have alike. */
  readonly objectIds: readonly number[]
  readonly uuids: readonly string[]
  /** Ids of pools, tags and users by their numbers in the scene. */
  readonly pools: readonly number[]
  readonly tags: readonly number[]
  readonly users: readonly number[]
  /** Saves all objects with these values, as root, and waits for the index. */
  rewrite(things: readonly Thing[], only?: (index: number) => boolean): Promise<void>
}

export interface WorldOptions {
  /** Rights that come with the right to read, in grants that limit the masks of all types or of none. */
  readonly rights?: readonly string[]
  /** What the pools are called. */
  readonly poolName?: string
  /** Said of a thing by whoever saves it. */
  readonly comment?: (index: number) => string
}

export async function startWorld(scene: Scene, options: WorldOptions = {}): Promise<World> {
  const svc = await startService()
  try {
    return await fill(svc, scene, options)
  } catch (error) {
    await svc[Symbol.asyncDispose]()
    throw error
  }
}

async function fill(svc: TestService, scene: Scene, options: WorldOptions): Promise<World> {
  const { rights = [], poolName = 'Pool', comment } = options
  const root = svc.as('root')
  const post = async (path: string, body: unknown, query = {}): Promise<Json> => {
    const answer = await root.post(path, body, query)
    assert.equal(answer.status, 200, `${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  await commitModel(svc, hiddenModel())
  const users: number[] = []
  for (const login of callers) {
    const [{ user }] = await post('/user', [{ user: { login }, _password: login }], {
      confirm: 'ignore_password_requirements',
    })
    users.push(user._id)
  }
  const [group] = await post('/tags', [
    {
      taggroup: { displayname: { 'en-US': 'Tags' }, type: 'checkbox' },
      _tags: Array.from({ length: tagCount }, (_, index) => ({ displayname: { 'en-US': `Tag ${index}` } })),
    },
  ])
  const tags: number[] = group._tags.map((tag: Json) => tag._id)
  const acl = (grants: readonly Grant[]) => grants.map((grant) => wireGrant(grant, users, tags, rights))
  const pools: number[] = []
  for (const [index, pool] of scene.pools.entries()) {
    const above = pool.parent === null ? 1 : (pools[pool.parent] as number)
    const standard =
      pool.standard === null ? {} : { _standard_masks: { [tableIds.work]: [maskIds.work[pool.standard]] } }
    const [saved] = await post('/pool', [
      { pool: { _id_parent: above, name: { 'en-US': `${poolName} ${index}` } }, _acl: acl(pool.grants), ...standard },
    ])
    pools.push(saved.pool._id)
  }
  const types = (await root.get('/objecttype')).body.map(({ objecttype }: Json) => objecttype)
  await post(
    '/objecttype',
    types.map(({ _id, _version, name }: Json) => ({
      _basetype: 'objecttype',
      objecttype: { _id, _version: _version + 1 },
      ...(name === 'person' ? { _acl: acl(scene.types.person ?? []) } : {}),
      ...(name === 'work'
        ? { _maskfilters: { [maskIds.work[filteredMask] as number]: { tagfilter: { all: [tags[1]] } } } }
        : {}),
    })),
  )
  const ids: number[] = []
  const uuids: string[] = []
  const own: { id: number; version: number }[] = []

  function body(thing: Thing, index: number): object {
    const { type, pool, owner } = thing
    const known = own[index]
    return {
      _objecttype: type,
      _mask: '_all_fields',
      ...(comment ? { _comment: comment(index) } : {}),
      ...(type === 'work' ? { _tags: thing.tags.map((tag) => ({ _id: tags[tag] })) } : {}),
      ...(owner === null ? {} : { _owner: { _basetype: 'user', user: { _id: users[owner] } } }),
      ...(type === 'place' ? {} : { _acl: acl(thing.grants) }),
      [type]: {
        ...(known ? { _id: known.id, _version: known.version } : {}),
        ...(pool === null ? {} : { _pool: { pool: { _id: pools[pool] } } }),
        ...wireRow(thing.values, '', type),
        ...(type === 'work' ? { '_nested:work__part': thing.rows.map((row) => wireRow(row, 'part.', type)) } : {}),
        ...(type === 'place' ? placeAbove(thing) : {}),
      },
    }
  }
  const placeAbove = ({ parent }: Thing): object =>
    parent === null ? { _id_parent: null } : { 'lookup:_id_parent': { _system_object_id: ids[parent] } }
  function wireRow(row: Row, prefix: string, type: TypeName): object {
    const entries = Object.entries(row).flatMap(([name, value]) => {
      const kind = (columns[type] as Record<string, string>)[prefix + name] as string
      if (!kind.startsWith('link:')) return [[name, value] as const]
      const id = ids[value as number]
      const target = kind.slice('link:'.length)
      return id === undefined
        ? []
        : [[name, { _objecttype: target, _mask: '_all_fields', _system_object_id: id }] as const]
    })
    return Object.fromEntries(entries)
  }
  async function save(things: readonly Thing[], only: (index: number) => boolean): Promise<void> {
    for (const type of typeNames) {
      const indexes = things.flatMap((thing, index) => (thing.type === type && only(index) ? index : []))
      if (indexes.length === 0) continue
      const saved = await post(
        `/db/${type}`,
        indexes.map((index) => body(things[index] as Thing, index)),
      )
      for (const [at, object] of saved.entries()) {
        const index = indexes[at] as number
        ids[index] = object._system_object_id
        uuids[index] = object._uuid
        own[index] = { id: object[type]._id, version: object[type]._version }
      }
    }
  }
  // Links and parents go to objects that are there already.
  for (let index = 0; index < scene.things.length; index++) await save(scene.things, (at) => at === index)
  const rewrite: World['rewrite'] = async (things, only = () => true) => {
    await save(things, only)
    await svc.drain()
  }
  await svc.drain()
  const objectIds = own.map(({ id }) => id)
  const end = () => svc[Symbol.asyncDispose]()
  return { svc, ids, objectIds, uuids, pools, tags, users, rewrite, [Symbol.asyncDispose]: end }
}

function wireGrant(
  { who, masks, tags: filter }: Grant,
  users: readonly number[],
  tags: readonly number[],
  more: readonly string[],
): object {
  const limits = Object.entries(masks).map(([type, list]) => [
    tableIds[type as TypeName],
    list.map((mask) => (mask === 'standard mask' ? 'standard' : maskIds[type as TypeName][mask])),
  ])
  return {
    who: { _basetype: 'user', user: { _id: users[who] } },
    rights: Object.fromEntries(
      ['read', ...(limits.length % 3 === 0 ? more : [])].map((right) => [
        right,
        limits.length === 0 || !/^(read|write|create)$/.test(right) ? {} : { mask_ids: Object.fromEntries(limits) },
      ]),
    ),
    ...(filter ? { tagfilter: wireFilter(filter, tags) } : {}),
  }
}

function wireFilter(filter: TagFilter, tags: readonly number[]): object {
  return Object.fromEntries(Object.entries(filter).map(([slot, list]) => [slot, list.map((tag: number) => tags[tag])]))
}

const volatile = new Set(['_uuid', '_created', '_last_modified', '_latest_version_deleted_at', 'time'])

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
