import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { toGroup, toUser, wireGrant } from '../rights/people.ts'
import type { Answer, Client, Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

/**
 * Whoever manages users and groups becomes no more by it, and makes nobody more than both were. What somebody has is
 * worked out here from the records as root reads them: system rights, and grants on pools to them and to their groups.
 */
let museum: Museum
let root: Client
before(async () => {
  museum = await startMuseum()
  root = museum.svc.as('root')
})
after(() => museum[Symbol.asyncDispose]())

async function ok(answer: Promise<Answer>): Promise<Json> {
  const { status, body } = await answer
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

const weak = { confirm: 'ignore_password_requirements' }
const internal = ['10.0.0.0/8']
const poolRights = ['read', 'write', 'delete', 'bag_read', 'bag_acl'] as const
const systemNames = ['system.message', 'system.tagmanager', 'system.poolmanager', 'system.export'] as const

const subset = <T>(all: readonly T[]) => fc.subarray([...all])
const userCount = 4
const groupCount = 4
const poolCount = 3
const anyUser = fc.nat(userCount - 1)
const anyGroup = fc.nat(groupCount - 1)

/** A principal: a user or a group by its number in the world. */
const principal = fc.oneof(
  anyUser.map((n) => ({ kind: 'user' as const, n })),
  anyGroup.map((n) => ({ kind: 'group' as const, n })),
)

const world = fc.record({
  users: fc.array(fc.record({ groups: subset([0, 1, 2, 3]), rights: subset(systemNames) }), {
    minLength: userCount,
    maxLength: userCount,
  }),
  groups: fc.array(
    fc.record({
      rights: subset(systemNames),
      filtered: fc.boolean(),
      linkers: fc.array(principal, { maxLength: 1 }),
    }),
    { minLength: groupCount, maxLength: groupCount },
  ),
  /** The second pool lies below the first one. */
  pools: fc.array(fc.array(fc.tuple(principal, subset(poolRights)), { maxLength: 3 }), {
    minLength: poolCount,
    maxLength: poolCount,
  }),
})

const command = fc.oneof(
  fc.record({ do: fc.constant('join' as const), user: anyUser, groups: subset([0, 1, 2, 3]) }),
  fc.record({ do: fc.constant('password' as const), user: anyUser }),
  fc.record({ do: fc.constant('login' as const), user: anyUser }),
  fc.record({ do: fc.constant('rights' as const), user: anyUser, rights: subset(systemNames) }),
  fc.record({ do: fc.constant('create' as const), groups: subset([0, 1, 2, 3]), rights: subset(systemNames) }),
  fc.record({ do: fc.constant('type' as const), user: anyUser, type: fc.constantFrom('native', 'sso', 'ldap') }),
  fc.record({ do: fc.constant('open' as const), group: anyGroup }),
  fc.record({ do: fc.constant('link' as const), group: anyGroup }),
  fc.record({ do: fc.constant('grouprights' as const), group: anyGroup, rights: subset(systemNames) }),
  fc.record({ do: fc.constant('remove' as const), user: anyUser }),
)

interface World {
  /** Login and password of the manager, the first user. */
  readonly login: string
  readonly users: number[]
  readonly groups: number[]
  readonly pools: number[]
}

let names = 0

async function build(seed: typeof world extends fc.Arbitrary<infer T> ? T : never): Promise<World> {
  const tag = `r${++names}`
  const rights = (list: readonly string[]) => Object.fromEntries(list.map((name) => [name, {}]))
  const groups = (
    await ok(
      root.post(
        'group',
        seed.groups.map((group, n) => ({
          group: { name: `${tag} ${n}` },
          _system_rights: rights(group.rights),
          ...(group.filtered ? { _ip_subnet_filter: internal } : {}),
        })),
      ),
    )
  ).map((entry: Json) => entry.group)
  const manager = { 'system.user': {}, 'system.group': {} }
  const users = (
    await ok(
      root.post(
        'user',
        seed.users.map((user, n) => ({
          user: { login: `${tag}-${n}` },
          ...(n === 0 ? { _password: `${tag}-0` } : {}),
          _groups: user.groups.map((g) => toGroup(groups[g]._id)),
          _system_rights: { ...rights(user.rights), ...(n === 0 ? manager : {}) },
        })),
        weak,
      ),
    )
  ).map((entry: Json) => entry.user)
  const who = ({ kind, n }: { kind: 'user' | 'group'; n: number }) =>
    kind === 'user' ? toUser(users[n]._id) : toGroup(groups[n]._id)
  await ok(
    root.post(
      'group',
      seed.groups.map((group, n) => ({
        group: { _id: groups[n]._id, _version: 1 },
        _acl: group.linkers.map((linker) => wireGrant(who(linker), 'link')),
      })),
    ),
  )
  const pools: number[] = []
  for (const [n, grants] of seed.pools.entries()) {
    const [{ pool }] = await ok(
      root.post('pool', [
        {
          pool: { _id_parent: n === 1 ? pools[0] : 1, name: { 'en-US': `${tag} ${n}` } },
          _acl: grants
            .filter(([, list]) => list.length > 0)
            .map(([to, list]) => ({ who: who(to), rights: rights(list) })),
        },
      ]),
    )
    pools.push(pool._id)
  }
  const ids = (list: Json[]) => list.map((entry) => entry._id as number)
  return { login: `${tag}-0`, users: ids(users), groups: ids(groups), pools }
}

/** Everything that users have, as text; of the one called `with link` also what it may give itself. */
async function powers(made: World): Promise<(userId: number, withLink?: boolean) => Set<string> | null> {
  const [allUsers, allGroups, allPools] = await Promise.all([
    ok(root.get('user', { limit: 1000 })),
    ok(root.get('group', { limit: 1000 })),
    ok(root.get('pool')),
  ])
  const users = new Map(allUsers.map((entry: Json) => [entry.user._id, entry]))
  const groups = new Map(allGroups.map((entry: Json) => [entry.group._id, entry]))
  const pools = new Map(allPools.map((entry: Json) => [entry.pool._id, entry]))
  const nameOf = (who: Json) => (who.user ? `u${who.user._id}` : who.group ? `g${who.group._id}` : 'owner')
  const counts = (group: Json) =>
    (group._ip_subnet_filter ?? []).length === 0 || group._ip_subnet_filter_exclude === true
  return (userId, withLink = false) => {
    const user = users.get(userId) as Json
    if (!user) return null
    const memberOf = (user._groups ?? []).map((entry: Json) => groups.get(entry.group._id) as Json).filter(counts)
    const system = new Set<string>([...Object.keys(user._system_rights ?? {})])
    for (const group of memberOf) for (const name of Object.keys(group._system_rights ?? {})) system.add(name)
    const principals = new Set<string>([`u${userId}`, ...memberOf.map((entry: Json) => `g${entry.group._id}`)])
    for (let size = 0; withLink && size !== principals.size; ) {
      size = principals.size
      for (const entry of groups.values()) {
        const allowed = (entry as Json)._acl?.some(
          (grant: Json) => grant.rights.link && principals.has(nameOf(grant.who)),
        )
        const held = Object.keys((entry as Json)._system_rights ?? {}).every((name) => system.has(name))
        if (allowed && held) principals.add(`g${(entry as Json).group._id}`)
      }
    }
    const found = new Set<string>(system)
    for (const id of made.pools) {
      const grants = [pools.get(id) as Json, pools.get((pools.get(id) as Json).pool._id_parent) as Json]
        .flatMap((entry) => entry?._acl ?? [])
        .filter((grant: Json) => principals.has(nameOf(grant.who)))
      const here = new Set(grants.flatMap((grant: Json) => Object.keys(grant.rights)))
      if (withLink && here.has('bag_acl') && system.has('system.poolmanager'))
        for (const right of poolRights) here.add(right)
      for (const right of here) found.add(`${id} ${right}`)
    }
    return found
  }
}

type Command = typeof command extends fc.Arbitrary<infer T> ? T : never

async function run(manager: Client, made: World, step: Command): Promise<{ status: number; controlled?: number }> {
  const rights = (list: readonly string[]) => Object.fromEntries(list.map((name) => [name, {}]))
  const groupsOf = (list: readonly number[]) => list.map((n) => toGroup(made.groups[n] as number))
  const user = async (n: number): Promise<Json> => (await root.get(`user/${made.users[n]}`)).body[0]?.user ?? {}
  const group = async (n: number): Promise<Json> => (await root.get(`group/${made.groups[n]}`)).body[0].group
  const saveUser = async (n: number, block: object, rest: object = {}) => {
    const { _id, _version } = await user(n)
    return manager.post('user', [{ user: { _id, _version, ...block }, ...rest }], weak)
  }
  const saveGroup = async (n: number, rest: object) => {
    const { _id, _version } = await group(n)
    return manager.post('group', [{ group: { _id, _version }, ...rest }])
  }
  switch (step.do) {
    case 'join':
      return saveUser(step.user, {}, { _groups: groupsOf(step.groups) })
    case 'password':
      return { ...(await saveUser(step.user, {}, { _password: 'taken' })), controlled: made.users[step.user] as number }
    case 'login':
      return { ...(await saveUser(step.user, { login: `l${++names}` })), controlled: made.users[step.user] as number }
    case 'rights':
      return saveUser(step.user, {}, { _system_rights: rights(step.rights) })
    case 'type':
      return saveUser(step.user, { type: step.type })
    case 'create': {
      const fresh = { user: { login: `c${++names}` }, _password: 'x', _groups: groupsOf(step.groups) }
      const answer = await manager.post('user', [{ ...fresh, _system_rights: rights(step.rights) }], weak)
      return { ...answer, ...(answer.status === 200 ? { controlled: answer.body[0].user._id } : {}) }
    }
    case 'open':
      return saveGroup(step.group, { _ip_subnet_filter: [] })
    case 'link':
      return saveGroup(step.group, { _acl: [wireGrant(toUser(made.users[0] as number), 'link')] })
    case 'grouprights':
      return saveGroup(step.group, { _system_rights: rights(step.rights) })
    case 'remove':
      return manager.delete(`user/${made.users[step.user]}`, undefined, { delete_policy: 'archive' })
  }
}

const within = (part: Set<string> | null, ...wholes: (Set<string> | null)[]) =>
  [...(part ?? [])].filter((right) => !wholes.some((whole) => whole?.has(right)))

test('a manager of users and groups becomes no more, by whatever it edits', async () => {
  let [done, refused] = [0, 0]
  await fc.assert(
    fc.asyncProperty(world, fc.array(command, { minLength: 5, maxLength: 8 }), async (seed, commands) => {
      const made = await build(seed)
      const first = made.users[0] as number
      const manager = museum.svc.as(made.login)
      const before_ = await powers(made)
      const own = before_(first, true)
      for (const step of commands) {
        const { status, controlled } = await run(manager, made, step)
        assert.ok(status < 500, JSON.stringify(step))
        if (status !== 200) {
          refused++
          continue
        }
        done++
        const now = await powers(made)
        const what = JSON.stringify(step)
        assert.deepEqual(within(now(first, true), own), [], `the manager has more after ${what}`)
        for (const user of made.users)
          assert.deepEqual(within(now(user), before_(user), own), [], `${user} after ${what}`)
        if (controlled) assert.deepEqual(within(now(controlled, true), own), [], `an account is taken by ${what}`)
      }
    }),
    { numRuns: 6 },
  )
  // The rule must not be that nothing is allowed.
  assert.ok(done > 4 && refused > 4, `${done} done, ${refused} refused`)
})

test('what belongs to a group counts, and the right link lets', async () => {
  const [{ group }] = await ok(root.post('group', [{ group: { name: 'keepers' } }]))
  const [{ user }] = await ok(
    root.post('user', [{ user: { login: 'usher' }, _password: 'usher', _system_rights: { 'system.user': {} } }], weak),
  )
  const usher = museum.svc.as('usher')
  const join = async (): Promise<string> => {
    const [{ user: now }] = await ok(root.get(`user/${user._id}`))
    const answer = await usher.post('user', [
      { user: { _id: now._id, _version: now._version }, _groups: [toGroup(group._id)] },
    ])
    if (answer.status === 200) {
      await ok(root.post('user', [{ user: { _id: now._id, _version: now._version + 1 }, _groups: [] }]))
    }
    return answer.status === 200 ? 'joined' : answer.body.code
  }
  assert.equal(await join(), 'joined', 'the group gives nothing')
  const object = payload('work', inPool(museum.pool), { _owner: toGroup(group._id) })
  const [work] = await ok(root.post('db/work', [object]))
  assert.equal(await join(), 'ColumnNeedsSystemRoot', 'the group owns an object')
  const { _id, _version } = work.work
  const granted = { _owner: toUser(1), _acl: [wireGrant(toGroup(group._id), 'read')] }
  await ok(root.post('db/work', [payload('work', { ...inPool(museum.pool), _id, _version }, granted)]))
  assert.equal(await join(), 'ColumnNeedsSystemRoot', 'an object names the group')
  const link = { group: { _id: group._id, _version: 1 }, _acl: [wireGrant(toUser(user._id), 'link')] }
  await ok(root.post('group', [link]))
  assert.equal(await join(), 'joined', 'an explicit right')
})
