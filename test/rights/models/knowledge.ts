import type { Column, Field, Mask, ObjectType, SystemField, Table } from './model.ts'
import type { RawFilter } from './raw.ts'
import { maskNames } from './wire.ts'
import { type Grant, groups, type MaskRef, type Right, type Thing, type Who, type World } from './world.ts'

/**
 * What a caller may know of a world, by the rules of docs/rights-and-pools.md read one by one. Nothing of the service is
 * used here, and nothing is made quick.
 */
export interface Knowledge {
  readonly caller: number
  may(right: Right, index: number): boolean
  /** Whether the object is there for the caller: not in the trash, or one that it may delete. */
  sees(index: number): boolean
  /** The masks with which the object may be read, in the order in which they are preferred. */
  masks(index: number): readonly Mask[]
  mayUse(index: number, mask: Mask): boolean
  maySaveWith(index: number, mask: Mask, right: 'write'): boolean
  mayCreate(type: ObjectType, pool: number | null, tags: readonly number[], mask: Mask | null): boolean
  knows(index: number, column: Column): boolean
  knowsRows(index: number, table: Table): boolean
  knowsSystem(index: number, field: SystemField): boolean
  /** Names of pools, and what stands above them. */
  knowsPool(pool: number): boolean
  /** Whether the pool is there: the caller has any right on it or in it. */
  standardMask(index: number): Mask
}

export function isOf(who: Who | null, caller: number): boolean {
  if (who === null) return false
  if (who === 'all') return true
  const n = Number(who.slice(1))
  return who.startsWith('u') ? n === caller : groups[n]?.includes(caller) === true
}

const isInForce = ({ active, when }: Grant): boolean => active && when !== 'past' && when !== 'future'

export function tagsFit(filter: RawFilter | null, tags: readonly number[]): boolean {
  if (!filter) return true
  const has = (tag: number): boolean => tags.includes(tag)
  return filter.all.every(has) && (filter.any.length === 0 || filter.any.some(has)) && !filter.not.some(has)
}

/** The columns and nested tables that a mask shows of the object itself. */
export function shownBy(fields: readonly Field[]): Set<Column | Table> {
  const shown = new Set<Column | Table>()
  const read = (list: readonly Field[]): void => {
    for (const field of list) {
      if (field.mode === 'off' || field.is === 'below') continue
      shown.add(field.is === 'column' ? field.column : field.table)
      if (field.is === 'nested') read(field.fields)
    }
  }
  read(fields)
  return shown
}

/** Mask preferred in the pool, in the type, in the datamodel: the first one of the list. */
export function standardMaskIn(world: World, type: ObjectType, pool: number | null): Mask {
  for (let at = pool; at !== null; at = world.pools[at]?.parent ?? null) {
    const list = world.pools[at]?.standards[type.index]
    if (list) return type.masks[list[0] as number] as Mask
  }
  return type.standards ? (type.masks[type.standards[0] as number] as Mask) : type.preferred
}

type Guarded = Pick<Thing, 'type' | 'pool' | 'tags' | 'owner' | 'grants' | 'private'> &
  Partial<Pick<Thing, 'index' | 'trashed'>>

export function knowledgeOf(world: World, caller: number): Knowledge {
  const { things, pools } = world

  /** The grants on a pool, and those that come down from the pools above it. */
  function grantsIn(start: number): Grant[] {
    const found: Grant[] = []
    let cut = false
    for (let at: number | null = start; at !== null; at = pools[at]?.parent ?? null) {
      const grants = pools[at]?.grants ?? []
      found.push(...grants.filter(({ sticky }) => !cut || sticky))
      cut ||= pools[at]?.private === true
    }
    return [...found, ...world.rootGrants.filter(({ sticky }) => !cut || sticky)]
  }

  function reaches(grant: Grant, owner: Who | null, pool: number | null, person: number): boolean {
    if (grant.who === 'owner') return isOf(owner, person)
    if (grant.who === 'contact') return pool !== null && isOf(pools[pool]?.contact ?? null, person)
    return isOf(grant.who, person)
  }

  function grantsOn(thing: Guarded): Grant[] {
    const own = thing.grants.map((grant) => ({ ...grant, rights: grant.rights.filter((r) => r !== 'create') }))
    return [...fitting(own, thing, caller), ...containing(thing, caller), ...shared(thing)]
  }

  /** The grants of what holds it. */
  function containing(thing: Guarded, person: number): Grant[] {
    const { type, pool } = thing
    const container = pool === null ? (world.typeGrants[type.index] ?? []) : grantsIn(pool)
    return fitting(
      container.filter(({ sticky }) => !thing.private || sticky),
      thing,
      person,
    )
  }

  function fitting(grants: readonly Grant[], { type, pool, owner, tags }: Guarded, person: number): Grant[] {
    return grants.filter(
      (grant) =>
        isInForce(grant) &&
        reaches(grant, owner, pool, person) &&
        tagsFit(grant.filter, tags) &&
        (grant.types === null || grant.types.includes(type.index)),
    )
  }

  /** What collections give: never more than their owners may pass on. */
  function shared(thing: Guarded): Grant[] {
    if (thing.index === undefined || thing.trashed) return []
    return world.shares.flatMap(({ owner, things: listed }, at) =>
      listed.includes(thing.index as number) ? sharedBy(at).flatMap((grant) => within(grant, owner, thing)) : [],
    )
  }

  function sharedBy(start: number): Grant[] {
    const found: Grant[] = []
    let cut = false
    for (let at: number | null = start; at !== null; at = world.shares[at]?.parent ?? null) {
      found.push(...(world.shares[at]?.grants ?? []).filter(({ sticky }) => !cut || sticky))
      cut ||= world.shares[at]?.private === true
    }
    return found
  }

  function within(grant: Grant, owner: Who | null, thing: Guarded): Grant[] {
    const { type, tags } = thing
    const mine = grant.who === 'owner' ? owner !== null && isOf(owner, caller) : isOf(grant.who, caller)
    if (!mine || !isInForce(grant) || (thing.private && !grant.sticky)) return []
    if (!tagsFit(grant.filter, tags) || (grant.types && !grant.types.includes(type.index))) return []
    const given = (['read', 'write', 'delete', 'acl'] as const).filter((right) => grant.rights.includes(right))
    return [{ ...grant, rights: given.filter((right) => owner === null || mayPassOn(owner, grant, right, thing)) }]
  }

  /** What is the owner's, and what the owner has as grantable in the pool, or without pool, with these masks at least. */
  function mayPassOn(owner: Who, grant: Grant, right: Right, thing: Guarded): boolean {
    const person = Number(owner.slice(1))
    if (isOf(thing.owner, person)) return true
    return containing(thing, person).some((held) => {
      if (!held.grantable || !held.rights.includes(right)) return false
      const [own, wanted] = [refsOf(held, right, thing), refsOf(grant, right, thing)]
      return own === null || (wanted?.every((ref) => own.includes(ref)) ?? false)
    })
  }

  /** The masks that a grant names for a right, both limits together; null: all. */
  function refsOf({ masks, moreMasks }: Grant, right: Right, { type }: Guarded): readonly MaskRef[] | null {
    const named = right === 'read' || right === 'write' ? (masks[type.index] ?? null) : null
    const more = moreMasks?.[type.index] ?? null
    if (named === null || more === null) return named ?? more
    return named.filter((ref) => more.includes(ref))
  }

  const owns = ({ owner }: Guarded): boolean => isOf(owner, caller)

  function mayDo(right: Right, thing: Guarded): boolean {
    return (right !== 'create' && owns(thing)) || grantsOn(thing).some(({ rights }) => rights.includes(right))
  }

  const standardOf = (thing: Guarded): Mask => standardMaskIn(world, thing.type, thing.pool)

  /** The masks that go with a right: of each grant those that it names, of several grants all. */
  function given(right: Right, thing: Guarded): Set<Mask> {
    const { type } = thing
    const all = type.masks.length > 0 ? type.masks : [type.allFields]
    const named = (refs: readonly MaskRef[] | null): readonly Mask[] =>
      refs?.map((ref) => (ref === 'standard' ? standardOf(thing) : (type.masks[ref] as Mask))) ?? all
    const found = new Set<Mask>(right !== 'create' && owns(thing) ? all : [])
    for (const grant of grantsOn(thing)) {
      if (!grant.rights.includes(right)) continue
      const more = grant.moreMasks ? named(grant.moreMasks[type.index] ?? null) : all
      for (const mask of named(grant.masks[type.index] ?? null)) if (more.includes(mask)) found.add(mask)
    }
    return found
  }

  const usable = things.map((thing) => {
    const masks = given('read', thing)
    return [...masks].filter(({ filter }) => tagsFit(filter, thing.tags))
  })
  const readable = things.map((thing) => mayDo('read', thing))
  const sees = things.map((thing, index) => readable[index] === true && (!thing.trashed || mayDo('delete', thing)))

  function shows(index: number, what: (mask: Mask) => boolean): boolean {
    return sees[index] === true && (usable[index] ?? []).some(what)
  }

  return {
    caller,
    may: (right, index) => mayDo(right, things[index] as Thing),
    sees: (index) => sees[index] === true,
    masks: (index) => {
      const { type } = things[index] as Thing
      const standard = standardOf(things[index] as Thing)
      const order = [standard, type.preferred, ...maskNames(type)]
      return [...new Set(order)].filter((mask) => usable[index]?.includes(mask))
    },
    mayUse: (index, mask) => usable[index]?.includes(mask) === true,
    maySaveWith(index, mask, right) {
      const thing = things[index] as Thing
      return given(right, thing).has(mask) && tagsFit(mask.filter, thing.tags)
    },
    mayCreate(type, pool, tags, mask) {
      const owner: Who = `u${caller}`
      const thing = { type, pool, tags, owner, grants: [], private: false }
      if (!mayDo('create', thing)) return false
      return mask === null || (given('create', thing).has(mask) && tagsFit(mask.filter, tags))
    },
    knows: (index, column) => shows(index, ({ fields }) => shownBy(fields).has(column)),
    knowsRows: (index, table) => shows(index, ({ fields }) => shownBy(fields).has(table)),
    knowsSystem: (index, field) => shows(index, ({ without }) => !without.has(field)),
    knowsPool: (pool) =>
      grantsIn(pool).some(
        (grant) => grant.bagRead && grant.filter === null && isInForce(grant) && reaches(grant, null, pool, caller),
      ),
    standardMask: (index) => standardOf(things[index] as Thing),
  }
}
