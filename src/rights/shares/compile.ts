/** The effect of the grants of collections for one caller: the objects that they open, with the rights. */
import type { Caller, Compiled, Contents, Entry } from '../compile.ts'
import { isCaller, matching, toEntry } from '../compile.ts'
import { all, any, everything } from '../expression.ts'
import { boundaries, inForce } from '../grants.ts'
import type { ObjectSet, ReadExpression, StoredGrant } from '../model.ts'
import { pinHolder, type SharedCollection, type SharedCollections } from './model.ts'
import { objectsOf } from './object-set.ts'
import { passedOn } from './pass-on.ts'

/** Rights on objects that a collection gives. The other rights in its grants concern the collection and its list. */
export const sharedRights: ReadonlySet<string> = new Set([
  'read',
  'write',
  'delete',
  'acl',
  'change_owner',
  'mask',
  'asset_upload',
  'asset_show',
  'asset_download',
])

/** Collections with the same owner whose grants have equal content for the caller. */
export interface Share {
  readonly collections: readonly Reaching[]
  /** The content of their grants. */
  readonly entries: readonly Entry[]
  readonly owner: Caller
  /** The condition that an object is in one of them. */
  readonly member: Extract<ReadExpression, { is: 'member' }>
}

/** A collection with its grants that apply to the caller. */
export interface Reaching {
  readonly collection: SharedCollection
  readonly entries: readonly Entry[]
}

/** All rights of a caller through collections. */
export interface Shares {
  readonly shares: readonly Share[]
  /** The condition that an object is in any of them. */
  readonly member: Extract<ReadExpression, { is: 'member' }>
  /** Equal for callers and moments with equal shares. */
  readonly signature: string
}

/** The collections with their grants in the form for evaluation, the same for all callers. */
export interface PreparedShares {
  readonly of: SharedCollections
  readonly entries: ReadonlyMap<number, readonly Entry[]>
  readonly boundaries: readonly number[]
}

export function prepareShares(of: SharedCollections, contents: Contents): PreparedShares {
  const entries = of.collections.map(({ id, acl }) => {
    const giving = acl.filter(({ rights }) => Object.keys(rights).some((name) => sharedRights.has(name)))
    const place = { kind: 'collection', id } as const
    // `owner` is the owner of the collection, not of the object.
    return [id, giving.map((grant) => ({ ...toEntry(grant, place, contents), ownerOnly: false }))] as const
  })
  return { of, entries: new Map(entries), boundaries: boundaries(of.collections.flatMap(({ acl }) => acl)) }
}

/**
 * Whether a grant of a collection applies to the caller. All conditions on the caller beside the grant itself, for rights on
 * objects, belong here.
 */
function reaches({ grant }: Entry, { ownerId }: SharedCollection, caller: Caller, at: number): boolean {
  if (!inForce(grant, at)) return false
  if (grant.who === 'owner') return ownerId === caller.userId
  return grant.who !== 'contact' && isCaller(caller, grant.who)
}

/** Whether a PIN blocks the grants on a collection for a caller: then only `bag_read` applies. */
function isLocked({ pin, ownerId }: SharedCollection, { userId, visitor = '' }: Caller): boolean {
  if (!pin || ownerId === userId) return false
  return !pin.has(pinHolder(userId, '')) && !pin.has(pinHolder(userId, visitor))
}

/** Callers who may set another PIN need not enter this one. */
function givesGrants({ acl, ownerId }: SharedCollection, caller: Caller, at: number) {
  return acl.filter(
    (grant) =>
      grant.rights.bag_acl &&
      !grant.tagfilter &&
      inForce(grant, at) &&
      (grant.who === 'owner' ? ownerId === caller.userId : grant.who !== 'contact' && isCaller(caller, grant.who)),
  )
}

export function sharesOf({ of, entries }: PreparedShares, caller: Caller, at: number): Shares {
  const reaching = new Map<number, readonly Entry[]>()
  /** Grants of `bag_acl` that reach a collection. They are needed only where there are PINs. */
  const aclGrants = new Map<number, readonly StoredGrant[]>()
  const hasPins = of.collections.some(({ pin }) => pin)
  const classes = new Map<string, Omit<Share, 'member'> & { readonly collections: Reaching[] }>()
  for (const collection of caller.root ? [] : of.collections) {
    const above = (collection.parentId === null ? undefined : reaching.get(collection.parentId)) ?? []
    const own = (entries.get(collection.id) ?? []).filter((entry) => reaches(entry, collection, caller, at))
    const inherited = collection.privateAcl ? matching(above, ({ sticky }) => sticky) : above
    let all = own.length === 0 ? inherited : [...inherited, ...own]
    if (hasPins) {
      const before = (collection.parentId === null ? undefined : aclGrants.get(collection.parentId)) ?? []
      const setting = collection.privateAcl ? before.filter(({ sticky }) => sticky) : before
      const locked = isLocked(collection, caller) && setting.length === 0
      aclGrants.set(collection.id, locked ? [] : [...setting, ...givesGrants(collection, caller, at)])
      if (locked) all = []
    }
    reaching.set(collection.id, all)
    const owner = of.owners.get(collection.ownerId)
    if (all.length === 0 || !owner) continue
    const key = `${keyOf(owner)} ${[...new Set(all.map(({ content }) => content))].sort((a, b) => a - b)}`
    const known = classes.get(key) ?? { collections: [], entries: all, owner }
    known.collections.push({ collection, entries: all })
    classes.set(key, known)
  }
  const shares = [...classes.values()].map((each): Share => ({ ...each, member: memberOf(each.collections) }))
  const member = memberOf(shares.flatMap(({ collections }) => collections))
  const signature = [...classes].map(
    ([key, { collections }]) =>
      `${key} ${collections.map(({ entries: own }) => own.map(nameOf))} ${toJSON(collections)}`,
  )
  return { shares, member, signature: signature.join('\n') }
}

const keyOf = ({ userId, groupIds, root }: Caller): string => `${root ? 'root' : userId}:${groupIds.join()}`
const nameOf = ({ place, grant }: Entry): string => `${place.id}.${grant.id}`
const setOf = (reaching: readonly Reaching[]): ObjectSet => objectsOf(reaching.map(({ collection }) => collection))
const toJSON = (reaching: readonly Reaching[]): string => setOf(reaching).toJSON()

function memberOf(reaching: readonly Reaching[]): Share['member'] {
  return { is: 'member', collections: reaching.map(({ collection }) => collection.id), objects: setOf(reaching) }
}

/** The objects of the collections on which one of their grants gives the right: never more than the owner may pass on. */
export function givenByEntry({ rights, when }: Entry, right: string, owner: Compiled): ReadExpression | null {
  if (!rights[right] || !sharedRights.has(right)) return null
  return all([whereSaid({ rights, when }, right), passedOn(owner, rights, right)])
}

/** The condition of a grant itself on an object, for one of its rights. */
export function whereSaid({ rights, when }: Pick<Entry, 'rights' | 'when'>, right: string): ReadExpression {
  const { objecttype_ids: types, pool_ids: pools } = rights[right] ?? {}
  return all<ReadExpression>([
    ...(types ? [{ is: 'types', ids: types } as const] : []),
    ...(pools ? [{ is: 'pools', ids: pools } as const] : []),
    when,
  ])
}

/** All objects on which collections give the caller a right. */
export function givenByShares(
  { shares, member }: Shares,
  right: string,
  ownerOf: (owner: Caller) => Compiled,
): ReadExpression | null {
  const ways = shares.flatMap((share): ReadExpression[] => {
    const owner = ownerOf(share.owner)
    const given = share.entries.flatMap((entry) => givenByEntry(entry, right, owner) ?? [])
    return given.length === 0 ? [] : [all([shares.length > 1 ? share.member : everything, any(given)])]
  })
  // Objects in none of the collections are excluded by a single condition.
  return ways.length === 0 ? null : all([member, any(ways)])
}

/**
 * The approximate size in bytes, with the bits that searches ask for. The lists are not counted, because all callers share them.
 */
export function sharesBytes({ shares, member, signature }: Shares): number {
  const collections = shares.reduce((sum, share) => sum + share.collections.length, 0)
  const bits = [member, ...shares.map((share) => share.member)].reduce((sum, { objects }) => sum + objects.bitBytes, 0)
  return 2 * signature.length + 150 * collections + 4000 * shares.length + bits
}
