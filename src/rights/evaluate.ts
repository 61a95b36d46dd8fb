/** Answers questions about one caller's rights from the compiled grants; pure, no database. */
import { type ContainerRight, containerRights, type ObjectRight, objectRights, ownerRights } from './catalogue.ts'
import { type Compiled, type Entry, type EntryList, givenBy, isCaller } from './compile.ts'
import { holds, type Personal } from './expression.ts'
import { isInForceOn, type MaskId, masksOf, mergeItems, poolFits, tagsFit, typeFits } from './grants.ts'
import type {
  CallerRights,
  DeleteCondition,
  GeneratedRights,
  Guarded,
  ReadExpression,
  Reason,
  RightItem,
  StoredGrant,
} from './model.ts'
import {
  deletable,
  fileGrants,
  maskGrants,
  principals,
  readable,
  readsAll,
  type ThroughCollections,
} from './read-right.ts'
import { givenByEntry, sharedRights } from './shares/compile.ts'
import { isListed } from './shares/object-set.ts'

type Items = Readonly<Record<string, RightItem>>

/** A grant and its place. */
interface Fitting extends Pick<Entry, 'rights' | 'grant' | 'place'> {
  /** Tells which of its rights the grant gives; absent: all. */
  readonly gives?: (right: string) => boolean
}

/** `now` in milliseconds. Grants on objects have their own windows, which are checked at each call. */
export function callerRights(compiled: Compiled, through: ThroughCollections, now: () => number): CallerRights {
  const { shares } = through
  const { caller, owned } = compiled
  let named: readonly string[] | null = null
  let mayRead: ReadExpression | null = null
  let mayDelete: DeleteCondition | null = null
  let pools: readonly number[] | null = null

  const owns = (object: Guarded): boolean => holds(owned, object, container)

  function listOf(poolId: number | null, objecttypeId: number): EntryList | undefined {
    return poolId === null ? compiled.objecttypes.get(objecttypeId) : compiled.pools.get(poolId)?.list
  }

  /** Whether a grant on an object is for the caller. */
  function addressed({ who }: StoredGrant, object: Guarded): boolean {
    if (who === 'owner') return owns(object)
    if (who !== 'contact') return isCaller(caller, who)
    return object.poolId !== null && compiled.pools.get(object.poolId)?.callerIsContact === true
  }

  /** Every grant that applies to the object, regardless of limits by object type. */
  function* fitting(object: Guarded): Generator<Fitting> {
    for (const entry of listOf(object.poolId, object.objecttypeId)?.entries ?? []) {
      if (holds(entry.when, object, container) && (!entry.ownerOnly || owns(object))) yield entry
    }
    yield* ownGrants(object)
    yield* sharedGrants(object)
  }

  /** The same for the collections that contain the object. Of equal grants only one is given, unless `each`. */
  function* sharedGrants(object: Guarded, each = false): Generator<Fitting> {
    if (shares.shares.length === 0 || !shares.member.objects.has(object.systemObjectId)) return
    for (const share of shares.shares) {
      if (!share.member.objects.has(object.systemObjectId)) continue
      const owner = through.ownerOf(share.owner)
      const grants = each
        ? share.collections.flatMap(({ collection, entries }) => (isListed(collection.list.ids, object) ? entries : []))
        : share.entries
      for (const entry of grants) {
        yield { ...entry, gives: (right) => isGiven(givenByEntry(entry, right, owner), object) }
      }
    }
  }

  const isGiven = (where: ReadExpression | null, object: Guarded): boolean =>
    where !== null && holds(where, object, container)

  /** The same for the grants on the object itself. */
  function* ownGrants(object: Guarded): Generator<Fitting> {
    for (const grant of object.acl ?? []) {
      if (addressed(grant, object) && isInForceOn(grant, object, now()))
        yield { rights: grant.rights, grant, place: { kind: 'object', id: object.systemObjectId } }
    }
  }

  function may(right: ObjectRight, object: Guarded): boolean {
    if (caller.root || (ownerRights.has(right) && owns(object))) return true
    const list = listOf(object.poolId, object.objecttypeId)
    if (list && holds(givenBy(list.class, right, owned), object, container)) return true
    if (object.acl !== null && givenByOwn(right, object)) return true
    for (const { gives: given } of sharedGrants(object)) if (given?.(right)) return true
    return false
  }

  function givenByOwn(right: ObjectRight, object: Guarded): boolean {
    for (const { rights } of ownGrants(object)) if (gives(rights, right, object)) return true
    return false
  }

  /** Every grant that gives the right on the object. */
  function* giving(right: ObjectRight, object: Guarded): Generator<Fitting> {
    for (const one of fitting(object)) if (givesRight(one, right, object)) yield one
  }

  function itemsOn(right: ObjectRight, object: Guarded): readonly RightItem[] {
    if (caller.root || (ownerRights.has(right) && owns(object))) return [{}]
    return [...giving(right, object)].flatMap(({ rights }) => rights[right] ?? [])
  }

  function itemsAnywhere(right: ObjectRight): readonly RightItem[] {
    if (caller.root) return [{}]
    const lists = [
      ...[...compiled.pools.values()].map(({ list }) => list),
      ...compiled.objecttypes.values(),
      ...(sharedRights.has(right) ? shares.shares : []),
    ]
    return lists.flatMap(({ entries }) => entries.flatMap(({ rights }) => rights[right] ?? []))
  }

  function reasons(right: ObjectRight, object: Guarded): Reason[] {
    if (caller.root) return [{ kind: 'root' }]
    const found: Reason[] = ownerRights.has(right) && owns(object) ? [{ kind: 'owner' }] : []
    for (const { grant, place } of giving(right, object)) {
      if (place.kind !== 'collection') found.push({ kind: 'grant', grant, place })
    }
    const named = new Set<number>()
    for (const one of sharedGrants(object, true)) {
      const { grant, place } = one
      // A grant that several collections inherit is one reason.
      if (named.has(grant.id) || !givesRight(one, right, object)) continue
      named.add(grant.id)
      found.push({ kind: 'grant', grant, place })
    }
    return found
  }

  function rightsOn(object: Guarded): GeneratedRights {
    if (caller.root) return everyRight(objectRights)
    const rights = new Map<string, RightItem>()
    for (const { rights: items, gives: given } of fitting(object)) {
      addItems(rights, items, (item, name) => placeFits(item, object) && (given?.(name) ?? true))
    }
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

  /** Every grant that allows the creation of such an object. */
  function* creating(objecttypeId: number, poolId: number | null, tags: readonly number[] | null): Generator<Fitting> {
    for (const entry of listOf(poolId, objecttypeId)?.entries ?? []) {
      const item = entry.rights.create
      // The creator of an object owns it, so grants to the owner count.
      if (item && typeFits(item, objecttypeId) && (tags === null || tagsFit(entry.tags, tags))) yield entry
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
    // A tag filter concerns objects: a grant that has one does not apply to the pool itself.
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
    // A grant to owners concerns callers without objects only if it allows them to create some.
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
    owned,
    readable() {
      mayRead ??= readable(compiled, through)
      return mayRead
    },
    readsAll: (type) => readsAll(compiled, type),
    deletable() {
      mayDelete ??= deletable(compiled, through)
      return mayDelete
    },
    principals() {
      named ??= principals(compiled)
      return named
    },
    reasons,
    reasonsOnPool,
    reasonsToCreate,
    poolIds() {
      pools ??= [...compiled.pools.values()].flatMap((pool) => (pool.holdsObjects ? pool.id : []))
      return pools
    },
    poolsOf: compiled.unions.of,
    maskGrants: (objecttypeId) => maskGrants(compiled, through, objecttypeId),
    fileGrants: (objecttypeId) => fileGrants(compiled, through, objecttypeId),
  }
}

/** Conditions of container grants contain nothing personal. */
const container: Personal = { granted: () => [], files: () => [] }

function givesRight({ rights, gives: given }: Fitting, right: string, object: Guarded): boolean {
  return given ? given(right) : gives(rights, right, object)
}

function gives(rights: Items, right: string, object: Guarded): boolean {
  const item = rights[right]
  return item !== undefined && placeFits(item, object)
}

/** Grants on containers are compiled with only the rights that apply in the pool. */
function placeFits(item: RightItem, { objecttypeId, poolId }: Guarded): boolean {
  return typeFits(item, objecttypeId) && poolFits(item, poolId)
}

function everyRight(names: readonly string[]): GeneratedRights {
  return Object.fromEntries(names.map((name) => [name, {}]))
}

function addItems(
  rights: Map<string, RightItem>,
  items: Items,
  fits: (item: RightItem, name: string) => boolean,
): void {
  for (const [name, item] of Object.entries(items)) {
    if (!fits(item, name)) continue
    const known = rights.get(name)
    rights.set(name, known ? mergeItems(known, item) : item)
  }
}
