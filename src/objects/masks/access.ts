/**
 * Which fields of which objects a caller sees, as conditions on where an object is, whose it is and how it is tagged:
 * for searches, which cannot look at every object. Agrees with `mayUseMask` (preference.ts) for every object that the
 * caller may read; test/objects/mask-access.test.ts holds the two together.
 */
import type { Column, Mask, MaskField, SystemFieldName, Table } from '../../datamodel/model.ts'
import type { CallerRights, MaskId, TagFilter } from '../../rights/service.ts'
import { filterOf } from './filter.ts'
import { type MaskDeps, standardMask } from './preference.ts'

/**
 * What the index knows of the preferred files of a column: `image`; `image.preview`; who may see any version by a grant on the
 * object or as their uploader; who may see the originals in this way.
 */
export type FileMark = 'class' | 'version' | 'seer' | 'originalSeer'

/** A condition on an object, as the search index can answer it. */
export type Place =
  | { readonly is: 'pools'; readonly ids: readonly number[]; readonly none: boolean }
  | { readonly is: 'tags'; readonly filter: TagFilter }
  /** Only its own grants count, and sticky ones. */
  | { readonly is: 'private' }
  /** `u5`, `g3` */
  | { readonly is: 'owner'; readonly who: readonly string[] }
  /** A grant on the object itself lets one of these read it, with all masks, with this one, or limited to some. */
  | { readonly is: 'granted'; readonly who: readonly string[]; readonly masks: 'all' | 'limited' | MaskId }
  /** All preferred files of a column have this class, or a version of this name, or may be seen by one of these. */
  | { readonly is: 'files'; readonly column: Column; readonly by: FileMark; readonly names: readonly string[] }
  | { readonly is: 'and' | 'or'; readonly of: readonly Place[] }
  | { readonly is: 'not'; readonly of: Place }

/** Of the objects that the caller may read: all, none, or those in a place. */
export type Access =
  | 'always'
  | 'never'
  | {
      readonly place: Place
      /** Outside of this the place holds everywhere: few objects, if any, are in it. */
      readonly unless: Place | null
    }

/** One way to the read right, and the masks that come with it. */
interface Source {
  readonly place: Place
  readonly masks: readonly Mask[]
}

export interface MaskAccess {
  /** Where the caller may use at least one of these masks of the object type. */
  where(masks: ReadonlySet<Mask>): Access
}

const nowhere: ReadonlySet<Mask> = new Set()

export function maskAccess(deps: MaskDeps, caller: CallerRights, table: Table): MaskAccess {
  if (caller.root) return { where: () => 'always' }
  const masks = [...table.masks.values()]
  const usable = (limit: readonly MaskId[] | null, standard: Mask): Mask[] =>
    masks.filter((mask) => {
      if (mask.isAllFields && mask !== standard) return false
      return limit === null || limit.includes(mask.id) || (mask === standard && limit.includes('standard'))
    })
  const standards = standardsOf(deps, caller, table)
  const fixed: Source[] = caller
    .maskGrants(table.id)
    .flatMap(({ poolIds, tags, masks: limit, reachesPrivate }): Source[] => {
      const tagged: Place[] = tags ? [{ is: 'tags', filter: tags }] : []
      if (table.aclTable && !reachesPrivate) tagged.push({ is: 'not', of: { is: 'private' } })
      if (poolIds === 'none') {
        const place = all([{ is: 'pools', ids: [], none: true }, ...tagged])
        return [{ place, masks: usable(limit, standards.without) }]
      }
      return [...Map.groupBy(poolIds, standards.inPool)].map(([standard, ids]) => {
        return { place: all([{ is: 'pools', ids, none: false }, ...tagged]), masks: usable(limit, standard) }
      })
    })
  const owner = [`u${caller.userId}`, ...caller.groupIds.map((id) => `g${id}`)]
  const unlimited = usable(null, standards.without)
  fixed.push({ place: { is: 'owner', who: owner }, masks: unlimited })
  const filter = caller.searchFilter()
  const who = filter.all ? [] : filter.principals
  const byGrant: Source[] = table.aclTable ? sourcesByGrant(masks, who, unlimited, standards) : []

  /** What a way to the object adds: null nothing, `whole` that the masks ask nothing more of the object. */
  function part({ place, masks: given }: Source, wanted: ReadonlySet<Mask>): { place: Place; whole: boolean } | null {
    const found = given.filter((mask) => wanted.has(mask))
    if (found.length === 0) return null
    const filters = found.map((mask) => filterOf(deps, mask))
    if (filters.includes(null)) return { place, whole: true }
    const fits = filters.map((each): Place => ({ is: 'tags', filter: each as TagFilter }))
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
      // Only a grant on the object can be narrower than what shows everything.
      const unless: Place = { is: 'granted', who, masks: 'limited' }
      return { place: any([{ is: 'not', of: unless }, places]), unless }
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
        place: all([{ is: 'granted', who, masks: 'standard' }, ...(place ? [place] : [])]),
        masks: [standard],
      }),
    ),
  ]
}

/** The standard mask of the type by pool. */
interface Standards {
  readonly without: Mask
  readonly inPool: (id: number) => Mask
  /** Each mask that is the standard somewhere, with the place where; null: everywhere. */
  readonly all: readonly (readonly [Mask, Place | null])[]
}

function standardsOf(deps: MaskDeps, caller: CallerRights, table: Table): Standards {
  const without = standardMask({ deps }, { table, poolId: null })
  const inPool = (poolId: number): Mask => standardMask({ deps }, { table, poolId })
  const byMask = Map.groupBy(caller.poolIds(), inPool)
  const others = [...byMask].filter(([mask]) => mask !== without)
  const elsewhere: Place = { is: 'pools', ids: others.flatMap(([, ids]) => ids), none: false }
  return {
    without,
    inPool,
    all: [
      [without, others.length === 0 ? null : { is: 'not', of: elsewhere }],
      ...others.map(([mask, ids]) => [mask, { is: 'pools', ids, none: false }] as const),
    ],
  }
}

export function all(of: readonly Place[]): Place {
  return of.length === 1 ? (of[0] as Place) : { is: 'and', of }
}

export function any(of: readonly Place[]): Place {
  return of.length === 1 ? (of[0] as Place) : { is: 'or', of }
}

/** Which masks of an object type show what; what stands in no list no mask shows. */
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
