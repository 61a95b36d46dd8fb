/** Answers questions about one caller's rights from the compiled grants; pure, no database. */
import { type ContainerRight, containerRights, type ObjectRight, objectRights, ownerRights } from './catalogue.ts'
import { type Compiled, type Entry, type EntryList, hasRight, isCaller } from './compile.ts'
import { fileGrants } from './file-grants.ts'
import { inForce, type MaskId, masksOf, mergeItems, poolFits, tagsFit, typeFits } from './grants.ts'
import { maskGrants } from './mask-grants.ts'
import type { CallerRights, GeneratedRights, Guarded, Reason, RightItem, StoredGrant } from './model.ts'
import { searchFilter } from './search-filter.ts'

type Items = Readonly<Record<string, RightItem>>

/** A grant and where it stands. */
type Fitting = Pick<Entry, 'rights' | 'grant' | 'place'>

/** `now` in milliseconds: own grants of objects have their own windows, so they are looked at when asked. */
export function callerRights(compiled: Compiled, now: () => number): CallerRights {
  const { caller } = compiled

  function owns(object: Guarded): boolean {
    if (object.ownerUserId !== null && object.ownerUserId === caller.userId) return true
    return object.ownerGroupId !== null && caller.groupIds.includes(object.ownerGroupId)
  }

  function listOf(poolId: number | null, objecttypeId: number): EntryList | undefined {
    return poolId === null ? compiled.objecttypes.get(objecttypeId) : compiled.pools.get(poolId)?.list
  }

  function addressed(grant: StoredGrant, object: Guarded, owned: boolean): boolean {
    if (grant.who === 'owner') return owned
    if (grant.who !== 'contact') return isCaller(caller, grant.who)
    return object.poolId !== null && compiled.pools.get(object.poolId)?.callerIsContact === true
  }

  /** Every grant that fits the object, limits by object type aside. */
  function* fitting(object: Guarded): Generator<Fitting> {
    const owned = owns(object)
    for (const entry of listOf(object.poolId, object.objecttypeId)?.entries ?? []) {
      if (object.privateAcl && !entry.sticky) continue
      if (entryFits(entry, object.tags, owned)) yield entry
    }
    for (const grant of object.acl ?? []) {
      if (!addressed(grant, object, owned) || !tagsFit(grant.tagfilter, object.tags)) continue
      if (inForce(grant, now()))
        yield { rights: grant.rights, grant, place: { kind: 'object', id: object.systemObjectId } }
    }
  }

  function may(right: ObjectRight, object: Guarded): boolean {
    if (caller.root || (ownerRights.has(right) && owns(object))) return true
    const list = listOf(object.poolId, object.objecttypeId)
    if (list && hasRight(object.privateAcl ? list.alwaysSticky : list.always, right)) return true
    return giving(right, object).next().done !== true
  }

  /** Every grant that gives the right on the object. */
  function* giving(right: ObjectRight, object: Guarded): Generator<Fitting> {
    for (const one of fitting(object)) {
      const item = one.rights[right]
      if (item && placeFits(item, object)) yield one
    }
  }

  function itemsOn(right: ObjectRight, object: Guarded): readonly RightItem[] {
    if (caller.root || (ownerRights.has(right) && owns(object))) return [{}]
    return [...giving(right, object)].flatMap(({ rights }) => rights[right] ?? [])
  }

  function itemsAnywhere(right: ObjectRight): readonly RightItem[] {
    if (caller.root) return [{}]
    const lists = [...[...compiled.pools.values()].map(({ list }) => list), ...compiled.objecttypes.values()]
    return lists.flatMap(({ entries }) => entries.flatMap(({ rights }) => rights[right] ?? []))
  }

  function reasons(right: ObjectRight, object: Guarded): Reason[] {
    if (caller.root) return [{ kind: 'root' }]
    const found: Reason[] = ownerRights.has(right) && owns(object) ? [{ kind: 'owner' }] : []
    for (const { grant, place } of giving(right, object)) found.push({ kind: 'grant', grant, place })
    return found
  }

  function rightsOn(object: Guarded): GeneratedRights {
    if (caller.root) return everyRight(objectRights)
    const rights = new Map<string, RightItem>()
    for (const { rights: items } of fitting(object)) addItems(rights, items, (item) => placeFits(item, object))
    if (owns(object)) for (const name of [...ownerRights, 'owner']) rights.set(name, {})
    return Object.fromEntries(rights)
  }

  function maskIds(object: Guarded, right: ObjectRight = 'read'): ReadonlySet<MaskId> | null {
    if (caller.root || (ownerRights.has(right) && owns(object))) return null
    const masks = new Set<MaskId>()
    for (const { rights } of giving(right, object)) {
      const allowed = masksOf(rights, right, object.objecttypeId)
      if (allowed === null) return null
      for (const mask of allowed) masks.add(mask)
    }
    return masks
  }

  function mayCreate(objecttypeId: number, poolId: number | null, tags: readonly number[] = []): boolean {
    if (poolId !== null && compiled.pools.get(poolId)?.holdsObjects !== true) return false
    return caller.root || creating(objecttypeId, poolId, tags).next().done !== true
  }

  /** Every grant that lets create such an object. */
  function* creating(objecttypeId: number, poolId: number | null, tags: readonly number[] | null): Generator<Fitting> {
    for (const entry of listOf(poolId, objecttypeId)?.entries ?? []) {
      const item = entry.rights.create
      // Whoever creates an object owns it, so grants to the owner count.
      if (item && typeFits(item, objecttypeId) && (tags === null || entryFits(entry, tags, true))) yield entry
    }
  }

  function masksToCreate(
    objecttypeId: number,
    poolId: number | null,
    tags: readonly number[] | null,
  ): ReadonlySet<MaskId> | null | 'none' {
    if (poolId !== null && compiled.pools.get(poolId)?.holdsObjects !== true) return 'none'
    if (caller.root) return null
    const giving = [...creating(objecttypeId, poolId, tags)]
    if (giving.length === 0) return 'none'
    const limits = giving.map(({ rights }) => masksOf(rights, 'create', objecttypeId))
    return limits.includes(null) ? null : new Set(limits.flatMap((masks) => masks ?? []))
  }

  function reasonsToCreate(objecttypeId: number, poolId: number | null, tags: readonly number[] = []): Reason[] {
    if (!mayCreate(objecttypeId, poolId, tags)) return []
    if (caller.root) return [{ kind: 'root' }]
    return [...creating(objecttypeId, poolId, tags)].map(({ grant, place }) => ({ kind: 'grant', grant, place }))
  }

  function* fittingPool(poolId: number): Generator<Fitting> {
    const pool = compiled.pools.get(poolId)
    // A tag filter is about objects: a grant that has one says nothing about the pool itself.
    for (const entry of pool?.list.entries ?? []) {
      if (!entry.tags && (!entry.ownerOnly || pool?.callerOwns)) yield entry
    }
  }

  function mayPool(right: ContainerRight, poolId: number): boolean {
    const pool = compiled.pools.get(poolId)
    if (!pool) return false
    if (caller.root || pool.callerOwns) return true
    for (const { rights } of fittingPool(poolId)) if (rights[right]) return true
    return false
  }

  function mayRootPool(right: ContainerRight): boolean {
    // Parents come before their children.
    const [root] = compiled.pools.keys()
    return root === undefined ? caller.root : mayPool(right, root)
  }

  function reasonsOnPool(right: ContainerRight, poolId: number): Reason[] {
    const pool = compiled.pools.get(poolId)
    if (!pool) return []
    if (caller.root) return [{ kind: 'root' }]
    const found: Reason[] = pool.callerOwns ? [{ kind: 'owner' }] : []
    for (const { rights, grant, place } of fittingPool(poolId)) {
      if (rights[right]) found.push({ kind: 'grant', grant, place })
    }
    return found
  }

  function knowsPool(poolId: number): boolean {
    const pool = compiled.pools.get(poolId)
    if (!pool) return false
    if (caller.root || pool.callerOwns) return true
    // A grant to owners says something to somebody who owns nothing yet only if it lets them create.
    return pool.list.entries.some((entry) => !entry.ownerOnly || entry.rights.create !== undefined)
  }

  function rightsOnPool(poolId: number): GeneratedRights {
    const pool = compiled.pools.get(poolId)
    if (!pool) return {}
    if (caller.root) return everyRight([...containerRights, ...objectRights])
    const rights = new Map<string, RightItem>()
    for (const { rights: items } of fittingPool(poolId)) addItems(rights, items, () => true)
    if (pool.callerOwns) for (const name of [...containerRights, 'owner']) rights.set(name, {})
    return Object.fromEntries(rights)
  }

  return {
    userId: caller.userId,
    groupIds: caller.groupIds,
    root: caller.root,
    may,
    itemsOn,
    itemsAnywhere,
    rightsOn,
    maskIds,
    mayUseMask(mask, object, right = 'read') {
      if (caller.root) return true
      if (mask.isAllFields && !mask.isStandard) return false
      const allowed = maskIds(object, right)
      return allowed === null || allowed.has(mask.id) || (mask.isStandard && allowed.has('standard'))
    },
    mayCreate,
    masksToCreate,
    mayPool,
    mayRootPool,
    knowsPool,
    rightsOnPool,
    searchFilter: () => searchFilter(compiled),
    reasons,
    reasonsOnPool,
    reasonsToCreate,
    poolIds: () => [...compiled.pools.values()].flatMap((pool) => (pool.holdsObjects ? pool.id : [])),
    maskGrants: (objecttypeId) => maskGrants(compiled, objecttypeId),
    fileGrants: (objecttypeId) => fileGrants(compiled, objecttypeId),
  }
}

/** Of grants on containers only what fits the pool has been compiled. */
function placeFits(item: RightItem, { objecttypeId, poolId }: Guarded): boolean {
  return typeFits(item, objecttypeId) && poolFits(item, poolId)
}

function entryFits(entry: Entry, tags: readonly number[], owned: boolean): boolean {
  return (!entry.ownerOnly || owned) && tagsFit(entry.tags, tags)
}

function everyRight(names: readonly string[]): GeneratedRights {
  return Object.fromEntries(names.map((name) => [name, {}]))
}

function addItems(rights: Map<string, RightItem>, items: Items, fits: (item: RightItem) => boolean): void {
  for (const [name, item] of Object.entries(items)) {
    if (!fits(item)) continue
    const known = rights.get(name)
    rights.set(name, known ? mergeItems(known, item) : item)
  }
}
