import assert from 'node:assert/strict'
import type { Json, Query } from '../../support/client.ts'
import { startService, type TestService } from '../../support/service.ts'
import type { Ids } from './model.ts'
import { messages } from './people.ts'
import {
  type Names,
  principal,
  wireFilter,
  wireGrant,
  wireMasks,
  wireTables,
  wireThing,
  wireTransition,
} from './wire.ts'
import { callers, type Grant, groups, type TagRule, tagCount, tagRules, type Who, type World } from './world.ts'

/**
 * One service in which world after world is built: each has object types of its own, pools of its own below the root, and
 * what the whole instance has (grants of the root pool, transitions) is that of the last one.
 */
export interface House extends AsyncDisposable {
  readonly svc: TestService
  /** Ids for the next world. */
  readonly ids: Ids
  /** How many worlds are in it. */
  readonly worlds: number
  build(world: World): Promise<Names>
}

const mostWorlds = 12

/** The house while it has room, a new one otherwise. */
export async function roomIn(house: House | null): Promise<House> {
  if (house && house.worlds < mostWorlds) return house
  await house?.[Symbol.asyncDispose]()
  return openHouse()
}

async function openHouse(): Promise<House> {
  const svc = await startService()
  try {
    return await furnish(svc)
  } catch (error) {
    await svc[Symbol.asyncDispose]()
    throw error
  }
}

type Post = (path: string, body: unknown, query?: Query) => Promise<Json>

async function furnish(svc: TestService): Promise<House> {
  const root = svc.as('root')
  const post: Post = async (path, body, query = {}) => {
    const answer = await root.post(path, body, query)
    assert.equal(answer.status, 200, `${path}: ${JSON.stringify(answer.body)} ${JSON.stringify(body)}`)
    return answer.body
  }
  const people = await addPeople(post)
  const ids: Ids = { table: 1, column: 1, mask: 1 }
  const schema: object[] = []
  const masks: object[] = []
  let worlds = 0
  return {
    svc,
    ids,
    get worlds() {
      return worlds
    },
    async build(world) {
      worlds++
      schema.push(...wireTables(world.types))
      masks.push(...wireMasks(world.types))
      const { version } = (await root.get('/schema/user/HEAD')).body
      const stored = await post('/schema/user/HEAD', { type: 'user', version, tables: schema })
      // Places of nested tables and of what is below take ids too.
      ids.column = stored.max_column_id + 1
      await post('/mask/HEAD', { type: 'user', version, masks })
      await post('/schema/commit', undefined, { confirm: 'yes', reindex: 'reindex' })
      const names = await settle(svc, post, world, people)
      return names
    },
    [Symbol.asyncDispose]: () => svc[Symbol.asyncDispose](),
  }
}

type People = Pick<Names, 'users' | 'groups' | 'tags'>

async function addPeople(post: Post): Promise<People> {
  const made: number[] = []
  for (const [index] of groups.entries())
    made.push((await post('/group', [{ group: { name: `g${index}` } }]))[0].group._id)
  const users: number[] = []
  for (const [index, login] of callers.entries()) {
    const _groups = groups.flatMap((members, at) => (members.includes(index) ? [{ group: { _id: made[at] } }] : []))
    const [{ user }] = await post('/user', [{ user: { login }, _password: login, _groups }], {
      confirm: 'ignore_password_requirements',
    })
    users.push(user._id)
  }
  await post(
    '/message',
    Object.entries(messages).map(([title, who]) => ({
      message: { title: { 'en-US': title }, message: { 'en-US': title } },
      _groups: [principal(who, { users, groups: made })],
    })),
  )
  const [tags] = await post('/tags', [
    {
      taggroup: { displayname: { 'en-US': 'Tags' }, type: 'checkbox' },
      _tags: Array.from({ length: tagCount }, (_, index) => ({
        displayname: { 'en-US': `Tag ${index}` },
        _acl: tagGrants(tagRules[index] ?? null, { users, groups: made }),
      })),
    },
  ])
  return { users, groups: made, tags: tags._tags.map((tag: Json) => tag._id) }
}

/** With some that are not in force, and so count for nothing. */
function tagGrants(rule: TagRule | null, people: Pick<Names, 'users' | 'groups'>): object[] {
  const given = (who: readonly Who[], right: string, more: object = {}) =>
    who.map((each) => ({ who: principal(each, people), rights: { [right]: {} }, ...more }))
  if (!rule) return []
  return [
    ...given(rule.add, 'tag_add'),
    ...given(rule.remove, 'tag_remove', { when: { to: '2901-01-01T00:00:00Z' } }),
    ...given(['all'], 'tag_add', { when: { to: '2001-01-01T00:00:00Z' } }),
    ...given(['all'], 'tag_remove', { active: false }),
  ]
}

async function settle(svc: TestService, post: Post, world: World, people: People): Promise<Names> {
  const root = svc.as('root')
  const since = await lastEvent(svc)
  const pools: number[] = []
  const names = {
    ...people,
    pools,
    ids: [] as number[],
    objectIds: [] as number[],
    versions: [] as number[],
    transitions: [] as number[],
    presets: new Map<Grant, number>(),
    since,
  }
  const [{ pool: top }] = (await root.get('/pool/1')).body
  await post('/pool', [
    {
      pool: { _id: 1, _version: top._version },
      _acl: world.rootGrants.map((grant) => wireGrant(grant, world.types, names, 'pool')),
    },
  ])
  for (const [index, pool] of world.pools.entries()) {
    const standards = pool.standards.flatMap((list, type) =>
      list === null ? [] : [[world.types[type]?.table.id, list.map((at) => world.types[type]?.masks[at]?.id)]],
    )
    const who = pool.contact && { user: { _id: names.users[Number(pool.contact.slice(1))] } }
    const contact = pool.contact?.startsWith('g')
      ? { _basetype: 'group', group: { _id: names.groups[Number(pool.contact.slice(1))] } }
      : who && { _basetype: 'user', ...who }
    const [saved] = await post('/pool', [
      {
        pool: {
          _id_parent: pool.parent === null ? 1 : pools[pool.parent],
          name: { 'en-US': poolName(world, index) },
          ...(contact ? { contact } : {}),
        },
        _acl: pool.grants.map((grant) => wireGrant(grant, world.types, names, 'pool')),
        ...(pool.private ? { _private_acl: true } : {}),
        ...(standards.length > 0 ? { _standard_masks: Object.fromEntries(standards) } : {}),
      },
    ])
    pools.push(saved.pool._id)
  }
  await setTypes(post, (await root.get('/objecttype')).body, world, names)
  const transitions = world.transitions.map((each) => wireTransition(each, world, names))
  names.transitions.push(...(await post('/transitions', transitions)).map((each: Json) => each._id))
  for (const [grant, id] of await addPresets(post, world, names)) names.presets.set(grant, id)
  await saveThings(post, world, names)
  for (const thing of world.things.filter(({ trashed }) => trashed)) {
    const { index, type } = thing
    const { status, body } = await root.delete(
      `/db/${type.name}`,
      [[names.objectIds[index] as number, names.versions[index] as number, null]],
      { delete_policy: 'setnull' },
    )
    assert.equal(status, 200, JSON.stringify(body))
    names.versions[index] = (names.versions[index] as number) + 1
  }
  await addShares(post, world, names)
  await svc.drain()
  return names
}

/** What an owner may not pass on gives nothing. */
async function addShares(post: Post, world: World, names: Names): Promise<void> {
  const ids: number[] = []
  for (const { parent, owner, private: isPrivate, grants, things } of world.shares) {
    const top = owner === null ? { _id_parent: 3 } : { 'lookup:_id_parent': { reference: topOf(owner, names) } }
    const listed = things.filter((index) => world.things[index]?.trashed === false)
    const { collection } = await post(
      '/collection',
      {
        collection: parent === null ? top : { _id_parent: ids[parent] },
        objects: listed.map((index) => ({ _global_object_id: `${names.ids[index]}@test` })),
        _acl: grants.map((grant) => wireGrant(grant, world.types, names, 'collection')),
        ...(isPrivate ? { _private_acl: true } : {}),
      },
      { allow_invalid_acl: 1 },
    )
    ids.push(collection._id)
  }
}

const topOf = (owner: Who, { users }: Names): string => `user:id:${users[Number(owner.slice(1))]}`

async function addPresets(post: Post, world: World, names: Names): Promise<[Grant, number][]> {
  const grants = world.things.flatMap((thing) => thing.grants).filter(({ preset }) => preset)
  if (grants.length === 0) return []
  const bodies = grants.map((grant, at) => {
    const { rights, tagfilter } = { tagfilter: {}, ...wireGrant(grant, world.types, names, 'object') }
    const displayname = { 'en-US': `${world.types[0]?.name} ${at}` }
    return { _basetype: 'right_preset', right_preset: { displayname, preset: { rights, tagfilter } } }
  })
  const saved = await post('/right/object/presets', bodies)
  return grants.map((grant, at) => [grant, saved[at].right_preset._id])
}

async function lastEvent(svc: TestService): Promise<number> {
  const { body } = await svc.as('root').get('/event/list', { limit: 1 })
  return body.objects[0].event._id
}

/** A word that nothing else has. */
export const poolName = (world: World, index: number): string => `pq${world.types[0]?.name ?? ''}${'abcdefgh'[index]}qp`

async function setTypes(post: Post, stored: Json, world: World, names: Names): Promise<void> {
  await post(
    '/objecttype',
    world.types.map((type) => {
      const { objecttype } = stored.find((each: Json) => each.objecttype._id === type.table.id)
      const grants = world.typeGrants[type.index] ?? []
      const filters = type.masks.flatMap((mask) =>
        mask.filter ? [[mask.id, { tagfilter: wireFilter(mask.filter, names.tags) }]] : [],
      )
      return {
        _basetype: 'objecttype',
        objecttype: { _id: objecttype._id, _version: objecttype._version + 1 },
        ...(type.pool ? {} : { _acl: grants.map((grant) => wireGrant(grant, world.types, names, 'type')) }),
        ...(filters.length > 0 ? { _maskfilters: Object.fromEntries(filters) } : {}),
        ...(type.standards ? { _standard_masks: type.standards.map((at) => type.masks[at]?.id) } : {}),
      }
    }),
  )
}

/** At first without links to things that are not there yet. */
async function saveThings(
  post: Post,
  world: World,
  names: Names & { ids: number[]; objectIds: number[]; versions: number[] },
): Promise<void> {
  const { things } = world
  for (let round = 0; round < 2; round++) {
    for (const type of world.types) {
      const indexes = things.flatMap((thing) => (thing.type === type ? thing.index : []))
      if (indexes.length === 0) continue
      const bodies = indexes.map((index) => wireThing(things[index] as (typeof things)[number], world, names))
      // Both sides of a link are written down, and what is below is a thing of its own.
      const saved = await post(`/db/${type.name}`, bodies, { skip_reverse_nested: 1, skip_bidirectional_update: 1 })
      for (const [at, object] of saved.entries()) {
        const index = indexes[at] as number
        names.ids[index] = object._system_object_id
        names.objectIds[index] = object[type.name]._id
        names.versions[index] = object[type.name]._version
      }
    }
  }
}
