import { containerRights, type RightDefinition, type RightParameter, rightsCatalogue } from '../src/rights/catalogue.ts'
import type { Json } from '../test/support/client.ts'
import type { Caller } from './caller.ts'
import type { Kind } from './secrets.ts'
import { password, type World } from './world.ts'

/** A user with exactly one right: a system right, or a right on one thing that only root can see otherwise. */
export interface Holder {
  readonly login: string
  readonly id: number
}

type Context = 'system' | 'pool' | 'objecttype-without-pool' | 'tag' | 'user' | 'group'
const contexts: readonly Context[] = ['system', 'pool', 'objecttype-without-pool', 'tag', 'user', 'group']

/**
 * The secrets that a right legitimately shows; a right that is not named shows none of them. Pool rights are those on the
 * closed pool, rights of an object type those on persons, the others those on the hidden user, the hidden group and a
 * tag.
 */
const shows: Readonly<Record<string, readonly Kind[]>> = {
  'pool-bag_read': ['pool'],
  'pool-bag_write': ['pool'],
  'pool-read': ['record'],
  'objecttype-without-pool-read': ['person'],
  'user-bag_read': ['user'],
  'user-bag_write': ['user'],
  'group-bag_read': ['group'],
  'group-bag_write': ['group'],
  // User managers may put people into groups that give no more than they have, and members see their groups.
  'system-system.user': ['user', 'group'],
  'system-system.group': ['group'],
  // A user who may change the grants of something may give themselves all rights that these can give.
  'pool-bag_acl': ['pool', 'record', 'file'],
  'user-acl': ['user'],
  'group-acl': ['group'],
  'system-system.objecttypemanager': ['person'],
}

/** The rights that a right legitimately lets its holder gain, as `gained.ts` names them. */
const gains: Readonly<Record<string, RegExp>> = {
  'pool-bag_acl': /^(closed|vault): /,
  'user-acl': /^hidden user: /,
  'group-acl': /^hidden group: /,
  'system-system.objecttypemanager': /^(blake|loan|person): /,
  'system-system.tagmanager': /^tag \d+: tag_/,
  'system-system.user': /^(group \d+|hidden user: .*)$/,
  'system-system.group': /^hidden group: /,
}

/** A right needed so that requests for the tested right are carried out; by itself it gives nothing. */
const needed: Readonly<Record<string, string>> = Object.fromEntries(
  containerRights.map((name) => [`pool-${name}`, 'system.poolmanager']),
)

/** Operations that a right concerns, by their id; the first entry that fits the login is used. */
const about: readonly (readonly [login: RegExp, operations: RegExp])[] = [
  [/^pool-bag/, /Pool|Objects?$/],
  [/^pool-asset|^objecttype.*asset/, /File|iiif|zoom|Upload|Object/],
  [/^pool|^objecttype/, /Object|search|Transition|Event/i],
  [/^tag|tagmanager/, /Tag|Transition|saveObjects/],
  [/^user|system\.user/, /User|Session|Passkey|Password/],
  [/^group|system\.group/, /Group|User/],
  [/datamodel/, /Schema|Mask|L10n|commit|Head/i],
  [/objecttypemanager/, /Objecttype|Transition/],
  [/poolmanager/, /Pool/],
  [/preset/, /Preset/],
  [/message/, /Message/],
  [/system\.task/, /Task/],
  [/backup/, /Backup/],
  [/profile/, /Mapping|Metadata/],
  [/config/, /Config|Directory|Setting/],
  [/location/, /Location|Move/],
  [/plugin/, /Plugin|Extension|Bundle/],
  [/sendmail/, /Mail/],
  [/event/, /Event/],
]

/** The rights that no part of the service checks: together they give nothing. */
const unasked = 'system-unasked'

interface Held {
  readonly login: string
  readonly context: Context
  readonly rights: Readonly<Record<string, object>>
}

/** Every right of the catalogue, each for a separate user; rights that no part of the service checks share one user. */
export const held: readonly Held[] = contexts.flatMap((context): Held[] => {
  const { rights } = rightsCatalogue[context]
  const asked = rights.filter(({ name, asker }) => asker === undefined && name !== 'system.root')
  const others = rights.filter(({ asker }) => asker !== undefined)
  const single = asked.map((one) => ({ login: `${context}-${one.name}`, context, rights: grantedOf([one]) }))
  return context === 'system' ? [...single, { login: unasked, context, rights: grantedOf(others) }] : single
})

function grantedOf(rights: readonly RightDefinition[]): Record<string, object> {
  return Object.fromEntries(rights.map(({ name, parameters }) => [name, givenBy(parameters)]))
}

/** A system right with all values of its parameters; lists of ids would limit it, so they are left out. */
function givenBy(parameters: readonly RightParameter[]): object {
  const given = parameters.flatMap(({ name, type, choices }): (readonly [string, unknown])[] => {
    if (type === 'bool' && name !== 'allow_update_and_remove') return [[name, true]]
    return type === 'string-list' && choices ? [[name, choices]] : []
  })
  return Object.fromEntries(given)
}

/** Logins in the tables above. */
export const exempt: readonly string[] = [...Object.keys(shows), ...Object.keys(gains)]

const byLogin: ReadonlyMap<string, Held> = new Map(held.map((one) => [one.login, one]))

export const isHolder = (login: string): boolean => byLogin.has(login)
export const isAbout = (login: string, operationId: string): boolean =>
  about.find(([one]) => one.test(login))?.[1].test(operationId) ?? false
export const shownTo = (login: string): readonly Kind[] => shows[login] ?? []
/** Whether the right gives its holder more, with which the holder may take something from the others. */
export const givesMore = (login: string): boolean => login in gains || /-(bag_)?delete$/.test(login)
export const mayGain = (login: string, what: string): boolean => gains[login]?.test(what) ?? false

/** Makes the holders through the API. */
export async function addHolders(root: Caller, world: World): Promise<Holder[]> {
  const holders: Holder[] = []
  for (let first = 0; first < held.length; first += 20) {
    const some = held.slice(first, first + 20)
    const body = some.map(({ login, context, rights }) => ({
      user: { login },
      _password: password,
      _system_rights: context === 'system' ? rights : needed[login] ? { [needed[login]]: {} } : {},
    }))
    const made: Json[] = await root.call('POST', '/user', body)
    holders.push(...made.map(({ user }, index) => ({ login: some[index]?.login ?? '', id: user._id })))
  }
  const grants = (context: Context) =>
    holders
      .filter(({ login }) => byLogin.get(login)?.context === context)
      .map(({ login, id }) => ({
        who: { _basetype: 'user', user: { _id: id } },
        rights: byLogin.get(login)?.rights,
      }))
  await grantPool(root, world, grants('pool'))
  await grantType(root, world, grants('objecttype-without-pool'))
  const [user] = await root.call('GET', `/user/${world.users.hidden}`)
  const ofUser = { _id: user.user._id, _version: user.user._version }
  await root.call('POST', '/user', [{ user: ofUser, _acl: grants('user') }])
  const [group] = await root.call('GET', `/group/${world.groups.hidden}`)
  const ofGroup = { _id: group.group._id, _version: group.group._version }
  await root.call('POST', '/group', [{ group: ofGroup, _acl: grants('group') }])
  const tags: Json[] = await root.call('GET', '/tags')
  for (const group of tags) for (const tag of group._tags) if (tag._id === world.tags.done) tag._acl = grants('tag')
  await root.call('POST', '/tags', tags)
  return holders
}

/** A user who made themselves the contact would read the objects there. */
const toContact = { who: { _pool_contact: true }, rights: { read: {}, mask: {} } }

async function grantPool(root: Caller, world: World, grants: readonly object[]): Promise<void> {
  const [{ pool }] = await root.call('GET', `/pool/${world.pools.closed}`)
  await root.call('POST', '/pool', [{ pool: { _id: pool._id, _version: pool._version }, _acl: [...grants, toContact] }])
}

async function grantType(root: Caller, world: World, grants: readonly object[]): Promise<void> {
  const [{ objecttype, _acl }] = await root.call('GET', `/objecttype/${world.objecttypes.person}`)
  const given = { _id: objecttype._id, _version: objecttype._version + 1 }
  await root.call('POST', '/objecttype', [{ objecttype: given, _acl: [...(_acl ?? []), ...grants] }])
}
