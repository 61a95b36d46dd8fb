/** Compiles the grants on pools and object types for one caller at one moment. */
import { ownerRights } from './catalogue.ts'
import { all, everything, isPrivate, not, widest } from './expression.ts'
import { boundaries, inForce, poolFits } from './grants.ts'
import type {
  ContainerGrants,
  GrantSource,
  Person,
  PoolGrants,
  ReadExpression,
  RightItem,
  StoredGrant,
  TagFilter,
} from './model.ts'
import { createUnions, type Unions } from './unions.ts'

export interface Caller {
  readonly userId: number
  readonly groupIds: readonly number[]
  readonly root: boolean
  /** The browser or session of the caller, for PINs of users that many people share; absent: irrelevant. */
  readonly visitor?: string
}

/**
 * A grant in the form for evaluation, the same for all callers; `ownerOnly`, `contactOnly`: applies only if the caller is the owner
 * of the object, or the contact of its pool.
 */
export interface Entry {
  readonly rights: Readonly<Record<string, RightItem>>
  readonly tags: TagFilter | null
  readonly ownerOnly: boolean
  readonly contactOnly: boolean
  readonly sticky: boolean
  /** The conditions on an object in the container that do not depend on the caller: its tags, and that it is not private. */
  readonly when: ReadExpression
  /** Equal for grants with equal content. */
  readonly content: number
  /** If some of its rights are limited to pools: the part that applies in a pool, by the names of its rights. */
  readonly parts: Map<string, Entry> | null
  /** The origin of the grant, for explanations. */
  readonly grant: StoredGrant
  readonly place: GrantSource
}

/**
 * Containers whose grants with equal content reach the caller. Their number is the number of different lists of grants, not the
 * number of pools.
 */
export interface GrantClass {
  readonly entries: readonly Entry[]
  /** Pools that hold objects. */
  readonly pools: readonly number[]
  /** The condition of each right on an object, as far as it was needed. */
  readonly given: Map<string, ReadExpression>
}

/** The grants of one container for one caller. */
export interface EntryList {
  readonly entries: readonly Entry[]
  readonly class: GrantClass
}

export interface CompiledPool {
  readonly id: number
  readonly list: EntryList
  readonly callerOwns: boolean
  readonly callerIsContact: boolean
  readonly holdsObjects: boolean
}

export interface Compiled {
  readonly caller: Caller
  /** The condition that the caller owns the object. */
  readonly owned: ReadExpression
  readonly pools: ReadonlyMap<number, CompiledPool>
  readonly objecttypes: ReadonlyMap<number, EntryList>
  /** The grant classes of the pools. */
  readonly classes: readonly GrantClass[]
  readonly unions: Unions
}

/** The grants in the order in which they are compiled, and the moments when some begin or end. */
export interface Prepared {
  /** Parents before their children. */
  readonly pools: readonly PoolGrants[]
  readonly objecttypes: ContainerGrants['objecttypes']
  /** The same grants in the form for evaluation, by pool and by object type: all callers share them. */
  readonly inPool: EntriesById
  readonly onType: EntriesById
  readonly boundaries: readonly number[]
  readonly contents: Contents
}

/** Numbers for the distinct contents of grants. */
export type Contents = Map<string, number>

type EntriesById = ReadonlyMap<number, readonly Entry[]>

/** Orders the tree, makes entries of the grants and collects the time boundaries: once per change of any grant. */
export function prepare(source: ContainerGrants): Prepared {
  const children = Map.groupBy(source.pools, (pool) => pool.parentId)
  const ordered: PoolGrants[] = [...(children.get(null) ?? [])]
  for (let next = 0; next < ordered.length; next++)
    ordered.push(...(children.get((ordered[next] as PoolGrants).id) ?? []))
  const contents: Contents = new Map()
  const toEntries = (acl: readonly StoredGrant[], place: GrantSource) =>
    acl.map((grant) => toEntry(grant, place, contents))
  const inPool = new Map(ordered.map(({ id, acl }) => [id, toEntries(acl, { kind: 'pool', id })]))
  const onType = new Map([...source.objecttypes].map(([id, acl]) => [id, toEntries(acl, { kind: 'objecttype', id })]))
  const grants = [...source.pools.flatMap((pool) => pool.acl), ...[...source.objecttypes.values()].flat()]
  return { pools: ordered, objecttypes: source.objecttypes, inPool, onType, boundaries: boundaries(grants), contents }
}

export function toEntry(grant: StoredGrant, place: GrantSource, contents: Contents): Entry {
  const { who, rights, tagfilter: tags = null } = grant
  const limited = Object.values(rights).some((item) => item.pool_ids !== undefined)
  const sticky = grant.sticky === true
  const said = { rights, tags, ownerOnly: who === 'owner', sticky }
  return {
    ...said,
    when: whenOf(said),
    contactOnly: who === 'contact',
    content: contentOf(said, contents),
    parts: limited ? new Map<string, Entry>() : null,
    grant,
    place,
  }
}

const open = not(isPrivate)

function whenOf({ tags, sticky }: Pick<Entry, 'tags' | 'sticky'>): ReadExpression {
  if (!tags) return sticky ? everything : open
  const tagged: ReadExpression = { is: 'tags', filter: tags }
  return sticky ? tagged : all([tagged, open])
}

function contentOf(said: Pick<Entry, 'rights' | 'tags' | 'ownerOnly' | 'sticky'>, contents: Contents): number {
  const { rights, tags, ownerOnly, sticky } = said
  const key = JSON.stringify([rights, tags, ownerOnly, sticky])
  const known = contents.get(key) ?? contents.size
  contents.set(key, known)
  return known
}

export function compile(prepared: Prepared, caller: Caller, at: number): Compiled {
  const addressed = addressedBy(caller, at)
  const classes = new Map<string, GrantClass & { readonly pools: number[] }>()
  const toList = (entries: readonly Entry[]): EntryList => {
    const key = keyOf(entries)
    const known = classes.get(key) ?? { entries, pools: [], given: new Map() }
    classes.set(key, known)
    return { entries, class: known }
  }
  const pools = new Map<number, CompiledPool>()
  const heritage = new Map<number, Heritage>()
  for (const pool of prepared.pools) {
    const parent = pool.parentId === null ? undefined : heritage.get(pool.parentId)
    const own = inherit(pool, parent, matching(prepared.inPool.get(pool.id) ?? none, addressed))
    heritage.set(pool.id, own)
    const callerIsContact = isCaller(caller, pool.contact)
    const list = listFor(own, callerIsContact, pool.id, { toList, contents: prepared.contents })
    pools.set(pool.id, {
      id: pool.id,
      list,
      callerOwns: isCaller(caller, pool.owner),
      callerIsContact,
      holdsObjects: pool.holdsObjects,
    })
  }
  for (const { id, list, holdsObjects } of pools.values()) if (holdsObjects) (list.class.pools as number[]).push(id)
  const ofPools = [...classes.values()].filter((each) => each.pools.length > 0)
  const objecttypes = new Map<number, EntryList>()
  for (const [id, ofAll] of prepared.onType) {
    const entries = ofAll
      // Without a pool there is no contact.
      .filter((entry) => !entry.contactOnly && addressed(entry))
      .flatMap((entry) => within(entry, null, prepared.contents) ?? [])
    if (entries.length > 0) objecttypes.set(id, toList(entries))
  }
  const { userId, groupIds } = caller
  return {
    caller,
    owned: { is: 'owner', userId, groupIds },
    pools,
    objecttypes,
    classes: ofPools,
    unions: createUnions(),
  }
}

/** The same key for lists of grants with equal content. */
function keyOf(entries: readonly Entry[]): string {
  const [first, second] = entries
  if (!second) return first ? String(first.content) : ''
  return [...new Set(entries.map(({ content }) => content))].sort((a, b) => a - b).join()
}

/** The condition of a right on the objects in a container, by its grants. Owners have some rights without grants. */
export function givenBy(grants: GrantClass, right: string, owned: ReadExpression): ReadExpression {
  const known = grants.given.get(right)
  if (known) return known
  const ways = grants.entries.flatMap(({ rights, when, ownerOnly }): ReadExpression[] => {
    const item = rights[right]
    if (!item || (ownerOnly && ownerRights.has(right))) return []
    const types = item.objecttype_ids
    if (types?.length === 0) return []
    return [all([...(types ? [{ is: 'types', ids: types } as const] : []), when, ...(ownerOnly ? [owned] : [])])]
  })
  const made = widest(ways)
  grants.given.set(right, made)
  return made
}

/** The approximate size in bytes of the rights of one caller. The entries are not counted, because all callers share them. */
export function compiledBytes({ pools, objecttypes }: Compiled): number {
  const lists = new Set<EntryList>(objecttypes.values())
  for (const pool of pools.values()) lists.add(pool.list)
  const classes = new Set([...lists].map((list) => list.class))
  let bytes = 500 + 105 * pools.size + 60 * objecttypes.size
  for (const { entries } of lists) bytes += 64 + 8 * entries.length
  for (const each of classes) bytes += 800 + 8 * each.pools.length
  return bytes
}

export function isCaller(caller: Pick<Caller, 'userId' | 'groupIds'>, person: Person | null): boolean {
  if (person === null) return false
  const id = Number(person.slice(1))
  return person.startsWith('u') ? id === caller.userId : caller.groupIds.includes(id)
}

/**
 * The grants that a pool has and hands down; lists are shared along the tree where nothing changes. Entries for the contact apply
 * per pool, because pools below the pool of the grant may have other contacts.
 */
interface Heritage {
  readonly entries: readonly Entry[]
  /** Whether some right is limited to pools: then each pool has a list of its own. */
  readonly limited: boolean
  withContact: EntryList | null
  withoutContact: EntryList | null
}

function inherit(pool: PoolGrants, parent: Heritage | undefined, own: readonly Entry[]): Heritage {
  if (parent && own.length === 0 && !pool.privateAcl) return parent
  const above = parent?.entries ?? none
  const inherited = pool.privateAcl ? matching(above, isSticky) : above
  const entries = inherited.length === 0 ? own : inherited.concat(own)
  const limited = entries.some(({ parts }) => parts !== null)
  return { entries, limited, withContact: null, withoutContact: null }
}

interface Lists {
  readonly toList: (entries: readonly Entry[]) => EntryList
  readonly contents: Contents
}

function listFor(heritage: Heritage, contact: boolean, poolId: number, { toList, contents }: Lists): EntryList {
  const mine = (entry: Entry): boolean => contact || !entry.contactOnly
  if (heritage.limited) {
    const found = matching(heritage.entries, mine).flatMap((entry) => within(entry, poolId, contents) ?? [])
    return toList(found.slice())
  }
  if (contact) {
    heritage.withContact ??= toList(heritage.entries)
    return heritage.withContact
  }
  heritage.withoutContact ??= toList(matching(heritage.entries, mine))
  return heritage.withoutContact
}

const isSticky = (entry: Entry): boolean => entry.sticky
const none: readonly Entry[] = []

/**
 * The matching entries: the same list if all of them match, else a list of exactly the needed length (`filter` may allocate more).
 */
export function matching(entries: readonly Entry[], match: (entry: Entry) => boolean): readonly Entry[] {
  const found = entries.filter(match)
  if (found.length === entries.length) return entries
  return found.length === 0 ? none : found.slice()
}

/** Whether an entry is in force and may apply to the caller. */
function addressedBy(caller: Caller, at: number): (entry: Entry) => boolean {
  if (caller.root) return () => false
  const people = new Set<string>([`u${caller.userId}`, ...caller.groupIds.map((id) => `g${id}`)])
  return ({ grant, ownerOnly, contactOnly }) =>
    (ownerOnly || contactOnly || people.has(grant.who)) && inForce(grant, at)
}

/** The part of an entry that applies in a pool; null when all its rights are limited to other pools. */
function within(entry: Entry, poolId: number | null, contents: Contents): Entry | null {
  if (!entry.parts) return entry
  const names = Object.keys(entry.rights).filter((name) => poolFits(entry.rights[name] as RightItem, poolId))
  if (names.length === 0) return null
  const key = names.join()
  const known = entry.parts.get(key)
  if (known) return known
  const part = { ...entry, rights: Object.fromEntries(names.map((name) => [name, entry.rights[name] as RightItem])) }
  const made = { ...part, parts: null, content: contentOf(part, contents) }
  entry.parts.set(key, made)
  return made
}
