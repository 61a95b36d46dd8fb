/** Compiles the grants on pools and object types into what they mean for one caller at one moment. */
import { containerRights, objectRights } from './catalogue.ts'
import { boundaries, inForce, poolFits } from './grants.ts'
import type { ContainerGrants, Person, Place, PoolGrants, RightItem, StoredGrant, TagFilter } from './model.ts'

export interface Caller {
  readonly userId: number
  readonly groupIds: readonly number[]
  readonly root: boolean
}

/**
 * A grant as it is looked at, the same for all callers; `ownerOnly`, `contactOnly`: only where the caller is the owner of the
 * object, or the contact of its pool.
 */
export interface Entry {
  readonly rights: Readonly<Record<string, RightItem>>
  readonly tags: TagFilter | null
  readonly ownerOnly: boolean
  readonly contactOnly: boolean
  readonly sticky: boolean
  /** Rights that need no look at the object: those of whoever is addressed. */
  readonly always: RightSet
  /** Where some of its rights are limited to pools: what is left of it in a pool, by the names of these rights. */
  readonly parts: Map<string, Entry> | null
  /** Where it comes from, for explanations. */
  readonly grant: StoredGrant
  readonly place: Place
}

/** A set of rights, as bits. */
export type RightSet = number

const bits: ReadonlyMap<string, number> = new Map(
  [...new Set<string>([...objectRights, ...containerRights])].map((name, index) => [name, 1 << index]),
)

export function hasRight(set: RightSet, right: string): boolean {
  return (set & (bits.get(right) ?? 0)) !== 0
}

/** The grants of one container for one caller. `always`: rights that need no look at the object. */
export interface EntryList {
  readonly entries: readonly Entry[]
  readonly always: RightSet
  readonly alwaysSticky: RightSet
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
  readonly pools: ReadonlyMap<number, CompiledPool>
  readonly objecttypes: ReadonlyMap<number, EntryList>
}

/** The grants in the order in which they are compiled, and the moments at which some begin or end. */
export interface Prepared {
  /** Parents before their children. */
  readonly pools: readonly PoolGrants[]
  readonly objecttypes: ContainerGrants['objecttypes']
  /** The same grants as they are looked at, by pool and by object type: callers share them. */
  readonly inPool: EntriesById
  readonly onType: EntriesById
  readonly boundaries: readonly number[]
}

type EntriesById = ReadonlyMap<number, readonly Entry[]>

const emptyList: EntryList = { entries: [], always: 0, alwaysSticky: 0 }

/** Orders the tree, makes entries of the grants and collects the time boundaries: once per change of any grant. */
export function prepare(source: ContainerGrants): Prepared {
  const children = Map.groupBy(source.pools, (pool) => pool.parentId)
  const ordered: PoolGrants[] = [...(children.get(null) ?? [])]
  for (let next = 0; next < ordered.length; next++)
    ordered.push(...(children.get((ordered[next] as PoolGrants).id) ?? []))
  const inPool = new Map(ordered.map(({ id, acl }) => [id, acl.map((grant) => toEntry(grant, { kind: 'pool', id }))]))
  const onType = new Map(
    [...source.objecttypes].map(([id, acl]) => [id, acl.map((grant) => toEntry(grant, { kind: 'objecttype', id }))]),
  )
  const grants = [...source.pools.flatMap((pool) => pool.acl), ...[...source.objecttypes.values()].flat()]
  return { pools: ordered, objecttypes: source.objecttypes, inPool, onType, boundaries: boundaries(grants) }
}

function toEntry(grant: StoredGrant, place: Place): Entry {
  const { who, rights } = grant
  const limited = Object.values(rights).some((item) => item.pool_ids !== undefined)
  const entry = {
    rights,
    tags: grant.tagfilter ?? null,
    ownerOnly: who === 'owner',
    contactOnly: who === 'contact',
    sticky: grant.sticky === true,
    parts: limited ? new Map<string, Entry>() : null,
    grant,
    place,
  }
  return { ...entry, always: unconditional(entry) }
}

function unconditional({ tags, ownerOnly, rights }: Pick<Entry, 'tags' | 'ownerOnly' | 'rights'>): RightSet {
  if (tags || ownerOnly) return 0
  let found = 0
  for (const name in rights) if (rights[name]?.objecttype_ids === undefined) found |= bits.get(name) ?? 0
  return found
}

export function compile(prepared: Prepared, caller: Caller, at: number): Compiled {
  const addressed = addressedBy(caller, at)
  const pools = new Map<number, CompiledPool>()
  const heritage = new Map<number, Heritage>()
  for (const pool of prepared.pools) {
    const parent = pool.parentId === null ? undefined : heritage.get(pool.parentId)
    const own = inherit(pool, parent, matching(prepared.inPool.get(pool.id) ?? none, addressed))
    heritage.set(pool.id, own)
    const callerIsContact = isCaller(caller, pool.contact)
    pools.set(pool.id, {
      id: pool.id,
      list: listFor(own, callerIsContact, pool.id),
      callerOwns: isCaller(caller, pool.owner),
      callerIsContact,
      holdsObjects: pool.holdsObjects,
    })
  }
  const objecttypes = new Map<number, EntryList>()
  for (const [id, ofAll] of prepared.onType) {
    const entries = ofAll
      // Without a pool there is no contact.
      .filter((entry) => !entry.contactOnly && addressed(entry))
      .flatMap((entry) => within(entry, null) ?? [])
    if (entries.length > 0) objecttypes.set(id, toList(entries))
  }
  return { caller, pools, objecttypes }
}

/** About the bytes that the rights of one caller take in memory; the entries are those of everybody. */
export function compiledBytes({ pools, objecttypes }: Compiled): number {
  const lists = new Set<EntryList>(objecttypes.values())
  for (const pool of pools.values()) lists.add(pool.list)
  let bytes = 500 + 105 * pools.size + 60 * objecttypes.size
  for (const { entries } of lists) bytes += 64 + 8 * entries.length
  return bytes
}

export function isCaller(caller: Pick<Caller, 'userId' | 'groupIds'>, person: Person | null): boolean {
  if (person === null) return false
  const id = Number(person.slice(1))
  return person.startsWith('u') ? id === caller.userId : caller.groupIds.includes(id)
}

/**
 * What a pool has and hands down; lists are shared along the tree where nothing changes. Entries addressed to the contact
 * apply per pool: who that is differs below the pool that has the grant.
 */
interface Heritage {
  readonly entries: readonly Entry[]
  /** Some right is limited to pools: each pool has a list of its own. */
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

function listFor(heritage: Heritage, contact: boolean, poolId: number): EntryList {
  const mine = (entry: Entry): boolean => contact || !entry.contactOnly
  if (heritage.limited) {
    const found = matching(heritage.entries, mine).flatMap((entry) => within(entry, poolId) ?? [])
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

/** Those that match: the list itself where it is all of them, else one that is no longer than it must be (`filter` grows). */
function matching(entries: readonly Entry[], match: (entry: Entry) => boolean): readonly Entry[] {
  const found = entries.filter(match)
  if (found.length === entries.length) return entries
  return found.length === 0 ? none : found.slice()
}

/** Whether an entry is in force and may be about the caller. */
function addressedBy(caller: Caller, at: number): (entry: Entry) => boolean {
  if (caller.root) return () => false
  const people = new Set<string>([`u${caller.userId}`, ...caller.groupIds.map((id) => `g${id}`)])
  return ({ grant, ownerOnly, contactOnly }) =>
    (ownerOnly || contactOnly || people.has(grant.who)) && inForce(grant, at)
}

/** What an entry gives in a pool; null when all its rights are limited to others. */
function within(entry: Entry, poolId: number | null): Entry | null {
  if (!entry.parts) return entry
  const names = Object.keys(entry.rights).filter((name) => poolFits(entry.rights[name] as RightItem, poolId))
  if (names.length === 0) return null
  const key = names.join()
  const known = entry.parts.get(key)
  if (known) return known
  const part = { ...entry, rights: Object.fromEntries(names.map((name) => [name, entry.rights[name] as RightItem])) }
  const made = { ...part, parts: null, always: unconditional(part) }
  entry.parts.set(key, made)
  return made
}

function toList(entries: readonly Entry[]): EntryList {
  if (entries.length === 0) return emptyList
  let [always, alwaysSticky] = [0, 0]
  for (const entry of entries) {
    always |= entry.always
    if (entry.sticky) alwaysSticky |= entry.always
  }
  return { entries, always, alwaysSticky }
}
