import type { Json } from '../test/support/client.ts'
import type { Caller } from './caller.ts'
import { type Holder, mayGain } from './holders.ts'
import type { World } from './world.ts'

/** The rights of each user, by login: as the service explains them to root. */
export type RightsByLogin = Readonly<Record<string, readonly string[]>>

export async function rightsOf(root: Caller, world: World, holders: readonly Holder[]): Promise<RightsByLogin> {
  const users: Json[] = await root.call('GET', '/user')
  const groups: Json[] = await root.call('GET', '/group')
  const tags: Json[] = (await root.call('GET', '/tags')).flatMap((group: Json) => group._tags)
  const records = [...users, ...groups, ...tags]
  const found: [string, readonly string[]][] = []
  for (const { login, id } of holders) {
    const own = users.find(({ user }) => user._id === id)
    if (!own) continue
    const system = Object.entries(own._system_rights ?? {}).map(([name, given]) => `${name} ${JSON.stringify(given)}`)
    const member = (own._groups ?? []).map(({ group }: Json) => `group ${group._id}`)
    const granted = records.flatMap((one) => namesIn(one, id).map((name) => `${nameOf(one, world)}: ${name}`))
    found.push([login, [...system, ...member, ...granted, ...(await explained(root, world, id))]])
  }
  return Object.fromEntries(found)
}

/** Rights on objects of the world, as they are evaluated for requests of the user. */
async function explained(root: Caller, { pools, objects, objecttypes }: World, user: number): Promise<string[]> {
  const subjects = [
    ...Object.entries(pools).map(([name, pool]) => [name, `pool=${pool}`]),
    ...['vault', 'half', 'bridge', 'blake', 'loan'].map((name) => [name, `system_object_id=${objects[name]}`]),
    ...['person', 'loan'].map((name) => [name, `objecttype=${objecttypes[name]}`]),
  ]
  const answers = await Promise.all(
    subjects.map(([, subject]) =>
      // A deleted object gives no rights.
      root.call('GET', `/right/explain?user=${user}&${subject}`).catch(() => ({ rights: [] })),
    ),
  )
  return answers.flatMap(({ rights }, index) =>
    rights.filter(({ holds }: Json) => holds).map(({ name }: Json) => `${subjects[index]?.[0]}: ${name}`),
  )
}

function namesIn(record: Json, user: number): string[] {
  const owner = record._owner?.user?._id === user ? ['owner'] : []
  const grants = (record._acl ?? []).filter(({ who }: Json) => who?.user?._id === user)
  return [...owner, ...grants.flatMap(({ rights }: Json) => Object.keys(rights))]
}

function nameOf(record: Json, { users, groups }: World): string {
  if (record.user) return record.user._id === users.hidden ? 'hidden user' : `user ${record.user._id}`
  if (record.group) return record.group._id === groups.hidden ? 'hidden group' : `group ${record.group._id}`
  return `tag ${record._id}`
}

/** Rights that a user has at the end and not at the beginning, and that their own right does not allow to gain. */
export function gainedBetween(before: RightsByLogin, after: RightsByLogin): { login: string; what: string[] }[] {
  return Object.entries(after).flatMap(([login, now]) => {
    const had = new Set(before[login])
    const what = now.filter((one) => !had.has(one) && !mayGain(login, one))
    return what.length === 0 ? [] : [{ login, what }]
  })
}
