/**
 * The fields of objects that a caller sees, as conditions on pool, owner and tags of an object: for searches, which cannot look at
 * every object. Agrees with `mayUseMask` (preference.ts) for every object that the caller may read;
 * test/objects/mask-access.test.ts compares the two.
 */
import type { Column, Mask, MaskField, SystemFieldName, Table } from '../../datamodel/model.ts'
import {
  all,
  any,
  type CallerRights,
  type Expression,
  inPools,
  type MaskId,
  not,
  ofOpen,
  type ReadExpression,
  withoutPool,
} from '../../rights/service.ts'
import { filterOf } from './filter.ts'
import { type MaskDeps, standardMask } from './preference.ts'

/** Of the objects that the caller may read: all, none, or those in a place. */
export type Access<E extends Expression = Expression> =
  | 'always'
  | 'never'
  | {
      readonly place: E
      /** Outside of this the place holds everywhere: few objects, if any, are in it. */
      readonly unless: E | null
    }

/** One source of the read right, with its masks. */
interface Source {
  readonly place: ReadExpression
  readonly masks: readonly Mask[]
}

export interface MaskAccess {
  /** Where the caller may use at least one of these masks of the object type. */
  where(masks: ReadonlySet<Mask>): Access<ReadExpression>
}

const nowhere: ReadonlySet<Mask> = new Set()

/** The pools of a list, grouped by the masks that are preferred in them: computed once for all object types. */
type ByPreference = (ids: readonly number[]) => readonly (readonly [number, ...number[]])[]

export function maskAccess(deps: MaskDeps, caller: CallerRights): (table: Table) => MaskAccess {
  if (caller.root) return () => ({ where: () => 'always' })
  const known = new Map<readonly number[], ReturnType<ByPreference>>()
  const byPreference: ByPreference = (ids) => {
    const found = known.get(ids) ?? [...Map.groupBy(ids, (id) => deps.pools.byId(id)?.effectiveMasks).values()]
    known.set(ids, found as ReturnType<ByPreference>)
    return found as ReturnType<ByPreference>
  }
  // One for all object types: whether there is such an object at all is found out once.
  const limited: ReadExpression = { is: 'granted', who: caller.principals(), masks: 'limited' }
  return (table) => accessTo(deps, caller, table, { byPreference, limited })
}

/** The part that is the same for all object types. */
interface OfCaller {
  readonly byPreference: ByPreference
  /** A grant on the object limits the caller to some masks. */
  readonly limited: ReadExpression
}

function accessTo(deps: MaskDeps, caller: CallerRights, table: Table, { byPreference, limited }: OfCaller): MaskAccess {
  const masks = [...table.masks.values()]
  const usable = (limit: readonly MaskId[] | null, standard: Mask): Mask[] =>
    masks.filter((mask) => {
      if (mask.isAllFields && mask !== standard) return false
      return limit === null || limit.includes(mask.id) || (mask === standard && limit.includes('standard'))
    })
  const standards = standardsOf(deps, caller, table, byPreference)
  const fixed: Source[] = caller.maskGrants(table.id).flatMap(({ poolIds, when, masks: limit }): Source[] => {
    const besides = table.aclTable ? when : ofOpen(when)
    if (poolIds === 'any')
      return standards.all.map(([standard, place]) => ({
        place: all([place, besides]),
        masks: usable(limit, standard),
      }))
    if (poolIds === 'none') return [{ place: all([withoutPool, besides]), masks: usable(limit, standards.without) }]
    return standards.among(poolIds).map(([standard, ids]) => {
      return { place: all([inPools(ids), besides]), masks: usable(limit, standard) }
    })
  })
  const unlimited = usable(null, standards.without)
  fixed.push({ place: caller.owned, masks: unlimited })
  const who = caller.principals()
  const byGrant: Source[] = table.aclTable ? sourcesByGrant(masks, who, unlimited, standards) : []

  /**
   * The condition that one source of the read right adds: `null` nothing, `whole` when the masks add no condition on the object.
   */
  function part(
    { place, masks: given }: Source,
    wanted: ReadonlySet<Mask>,
  ): { place: ReadExpression; whole: boolean } | null {
    const found = given.filter((mask) => wanted.has(mask))
    if (found.length === 0) return null
    const filters = found.map((mask) => filterOf(deps, mask))
    if (filters.includes(null)) return { place, whole: true }
    const fits = filters.flatMap((filter): ReadExpression[] => (filter ? [{ is: 'tags', filter }] : []))
    return { place: all([place, any(fits)]), whole: false }
  }

  return {
    where(wanted) {
      const parts = fixed.map((source) => part(source, wanted))
      const everywhere = parts.every((each) => each?.whole === true)
      if (everywhere && byGrant.length === 0) return 'always'
      const possible = [...parts, ...byGrant.map((source) => part(source, wanted))].filter((each) => each !== null)
      if (possible.length === 0) return 'never'
      const places = any(possible.map((each) => each.place))
      if (!everywhere) return { place: places, unless: null }
      // Only a grant on the object can give less than full access.
      return { place: any([not(limited), places]), unless: limited }
    },
  }
}

function sourcesByGrant(
  masks: readonly Mask[],
  who: readonly string[],
  unlimited: readonly Mask[],
  standards: Standards,
): Source[] {
  const named = masks.filter((mask) => !mask.isAllFields)
  return [
    { place: { is: 'granted', who, masks: 'all' }, masks: unlimited },
    ...named.map((mask): Source => ({ place: { is: 'granted', who, masks: mask.id }, masks: [mask] })),
    ...standards.all.map(
      ([standard, place]): Source => ({
        place: all([{ is: 'granted', who, masks: 'standard' }, place]),
        masks: [standard],
      }),
    ),
  ]
}

/** The standard mask of the type by pool. */
interface Standards {
  readonly without: Mask
  /** The pools of a list by their standard mask. */
  readonly among: (ids: readonly number[]) => readonly (readonly [Mask, readonly number[]])[]
  /** Each mask that is the standard somewhere, with the place where. */
  readonly all: readonly (readonly [Mask, ReadExpression])[]
}

function standardsOf(deps: MaskDeps, caller: CallerRights, table: Table, byPreference: ByPreference): Standards {
  const without = standardMask({ deps }, { table, poolId: null })
  const among: Standards['among'] = (ids) => {
    const byMask = Map.groupBy(byPreference(ids), ([poolId]) => standardMask({ deps }, { table, poolId }))
    if (byMask.size === 1) return [...byMask.keys()].map((mask) => [mask, ids])
    return [...byMask].map(([mask, lists]) => [mask, caller.poolsOf(lists)])
  }
  const others = among(caller.poolIds()).filter(([mask]) => mask !== without)
  const elsewhere = any(others.map(([, ids]) => inPools(ids)))
  return {
    without,
    among,
    all: [[without, not(elsewhere)], ...others.map(([mask, ids]) => [mask, inPools(ids)] as const)],
  }
}

/** The masks of an object type that show a column or nested table; no mask shows one that is in no list. */
export interface ShowingMasks {
  column(column: Column): ReadonlySet<Mask>
  rows(nested: Table): ReadonlySet<Mask>
  system(field: SystemFieldName): ReadonlySet<Mask>
  readonly any: ReadonlySet<Mask>
}

const showing = new WeakMap<Table, ShowingMasks>()

export function showingMasks(table: Table): ShowingMasks {
  const known = showing.get(table)
  if (known) return known
  const columns = new Map<Column | Table, Set<Mask>>()
  const note = (what: Column | Table, mask: Mask): void => {
    const masks = columns.get(what) ?? new Set()
    columns.set(what, masks.add(mask))
  }
  const read = (fields: readonly MaskField[], mask: Mask): void => {
    for (const field of fields) {
      if (field.mode === 'off') continue
      if (field.kind === 'column') note(field.column, mask)
      else if (field.kind === 'nested') {
        note(field.table, mask)
        read(field.fields, mask)
      }
    }
  }
  const masks = [...table.masks.values()]
  for (const mask of masks) read(mask.fields, mask)
  const system = (field: SystemFieldName): Set<Mask> =>
    new Set(masks.filter((mask) => mask.system[field].output !== 'off'))
  const result: ShowingMasks = {
    column: (column) => columns.get(column) ?? nowhere,
    rows: (nested) => columns.get(nested) ?? nowhere,
    system,
    any: new Set(masks),
  }
  showing.set(table, result)
  return result
}
