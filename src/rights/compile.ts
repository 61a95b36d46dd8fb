/** Compiles the grants on pools and object types into what they mean for one caller at one moment. */
import { boundaries, inForce, poolFits } from './grants.ts'
import type { ContainerGrants, Person, Place, PoolGrants, RightItem, StoredGrant, TagFilter } from './model.ts'

export interface Caller {
  readonly userId: number
  readonly groupIds: readonly number[]
  readonly root: boolean
}

/** A grant that addresses the caller; `ownerOnly`: only where the caller is the owner. */
export interface Entry {
  readonly rights: Readonly<Record<string, RightItem>>
  readonly tags: TagFilter | null
  readonly ownerOnly: boolean
  readonly sticky: boolean
  /** Where it comes from, for explanations. */
  readonly grant: StoredGrant
  readonly place: Place
}

/** The grants of one container for one caller. `always`: rights that need no look at the object. */
export interface EntryList {
  readonly entries: readonly Entry[]
  readonly always: ReadonlySet<string>
  readonly alwaysSticky: ReadonlySet<string>
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
  readonly boundaries: readonly number[]
}

const emptyList: EntryList = { entries: [], always: new Set(), alwaysSticky: new Set() }

/** Orders the tree and collects the time boundaries: once per change of any grant. */
export function prepare(source: ContainerGrants): Prepared {
  const children = Map.groupBy(source.pools, (pool) => pool.parentId)
  const ordered: PoolGrants[] = [...(children.get(null) ?? [])]
  for (let next = 0; next < ordered.length; next++)
    ordered.push(...(children.get((ordered[next] as PoolGrants).id) ?? []))
  const grants = [...source.pools.flatMap((pool) => pool.acl), ...[...source.objecttypes.values()].flat()]
  return { pools: ordered, objecttypes: source.objecttypes, boundaries: boundaries(grants) }
}

export function compile(prepared: Prepared, caller: Caller, at: number): Compiled {
  const pools = new Map<number, CompiledPool>()
  const heritage = new Map<number, Heritage>()
  for (const pool of prepared.pools) {
    const parent = pool.parentId === null ? undefined : heritage.get(pool.parentId)
    const own = inherit(pool, parent, caller, at)
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
  for (const [id, grants] of prepared.objecttypes) {
    // Without a pool there is no contact.
    const entries = candidates(grants, { kind: 'objecttype', id }, caller, at)
      .filter((entry) => !entry.contactOnly)
      .flatMap((entry) => within(entry, null))
    if (entries.length > 0) objecttypes.set(id, toList(entries))
  }
  return { caller, pools, objecttypes }
}

/** About the bytes that the rights of one caller take in memory; grants are those of everybody. */
export function compiledBytes({ pools, objecttypes }: Compiled): number {
  const lists = new Set<EntryList>(objecttypes.values())
  for (const pool of pools.values()) lists.add(pool.list)
  let bytes = 500 + 200 * pools.size + 60 * objecttypes.size
  for (const { entries, always, alwaysSticky } of lists) {
    bytes += 400 + 120 * entries.length + 40 * (always.size + alwaysSticky.size)
  }
  return bytes
}

export function isCaller(caller: Pick<Caller, 'userId' | 'groupIds'>, person: Person | null): boolean {
  if (person === null) return false
  const id = Number(person.slice(1))
  return person.startsWith('u') ? id === caller.userId : caller.groupIds.includes(id)
}

/** Entries addressed to the contact apply per pool: who that is differs below the pool that has the grant. */
interface Candidate extends Entry {
  readonly contactOnly: boolean
}

/** What a pool has and hands down; lists are shared along the tree where nothing changes. */
interface Heritage {
  readonly candidates: readonly Candidate[]
  /** Some right is limited to pools: each pool has a list of its own. */
  readonly limited: boolean
  withContact: EntryList | null
  withoutContact: EntryList | null
}

function inherit(pool: PoolGrants, parent: Heritage | undefined, caller: Caller, at: number): Heritage {
  const own = candidates(pool.acl, { kind: 'pool', id: pool.id }, caller, at)
  if (parent && own.length === 0 && !pool.privateAcl) return parent
  const inherited = (parent?.candidates ?? []).filter((entry) => !pool.privateAcl || entry.sticky)
  const all = [...inherited, ...own]
  const limited = all.some(({ rights }) => Object.values(rights).some((item) => item.pool_ids !== undefined))
  return { candidates: all, limited, withContact: null, withoutContact: null }
}

function listFor(heritage: Heritage, contact: boolean, poolId: number): EntryList {
  if (heritage.limited) {
    return toList(heritage.candidates.flatMap((entry) => (entry.contactOnly && !contact ? [] : within(entry, poolId))))
  }
  if (contact) {
    heritage.withContact ??= toList(heritage.candidates)
    return heritage.withContact
  }
  heritage.withoutContact ??= toList(heritage.candidates.filter((entry) => !entry.contactOnly))
  return heritage.withoutContact
}

function candidates(grants: readonly StoredGrant[], place: Place, caller: Caller, at: number): Candidate[] {
  if (caller.root) return []
  return grants
    .filter((grant) => inForce(grant, at))
    .filter((grant) => grant.who === 'owner' || grant.who === 'contact' || isCaller(caller, grant.who))
    .map((grant) => ({
      rights: grant.rights,
      tags: grant.tagfilter ?? null,
      ownerOnly: grant.who === 'owner',
      contactOnly: grant.who === 'contact',
      sticky: grant.sticky === true,
      grant,
      place,
    }))
}

/** What an entry gives in a pool; nothing when all its rights are limited to others. */
function within(entry: Candidate, poolId: number | null): Candidate[] {
  if (Object.values(entry.rights).every((item) => item.pool_ids === undefined)) return [entry]
  const rights = Object.entries(entry.rights).filter(([, item]) => poolFits(item, poolId))
  if (rights.length === 0) return []
  return [{ ...entry, rights: Object.fromEntries(rights) }]
}

function toList(entries: readonly Entry[]): EntryList {
  if (entries.length === 0) return emptyList
  return {
    entries,
    always: unconditional(entries),
    alwaysSticky: unconditional(entries.filter((entry) => entry.sticky)),
  }
}

function unconditional(entries: readonly Entry[]): Set<string> {
  const found = new Set<string>()
  for (const entry of entries) {
    if (entry.tags || entry.ownerOnly) continue
    for (const [name, item] of Object.entries(entry.rights)) if (item.objecttype_ids === undefined) found.add(name)
  }
  return found
}
