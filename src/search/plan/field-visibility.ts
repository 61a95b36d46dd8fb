/**
 * The parts of readable objects that one caller sees: which columns, system fields and rows of nested tables in which pools, and
 * the titles of which objects. Everything that a search does with a value asks here first. A hidden value is treated as if the
 * object had none.
 */
import { hash } from 'node:crypto'
import type { Column, Mask, SystemFieldName, Table } from '../../datamodel/model.ts'
import { type Access, type FileVisibility, type MaskAccess, showingMasks } from '../../objects/service.ts'
import { all, type CallerRights, type Expression, everything, isEverything, ofOpen } from '../../rights/service.ts'
import type { FieldPart, NestedFields, SearchField } from './fields.ts'

/** Visibility among the objects that the caller may read: in all of them, in none, or in those that a condition selects. */
export type Visibility =
  | 'always'
  | 'never'
  | { readonly place: Expression; readonly unless: { readonly table: Table; readonly place: Expression } | null }

/** The objects of a type whose titles the caller may know: the objects that they may read. */
export type Titles =
  | 'all'
  /** All but the titles of objects without pool, of which there may be none. */
  | 'all in pools'
  | { readonly rights: Expression }

export interface FieldVisibility {
  /** Unique for each field visibility. Results that are cached for one caller are never given to a caller who sees less. */
  readonly key: string
  /** Whether nothing is hidden. */
  readonly whole: boolean
  column(field: SearchField): Visibility
  rows(nested: NestedFields): Visibility
  system(table: Table, field: SystemFieldName): Visibility
  /** Data that every mask shows, such as the times of changes. */
  any(table: Table): Visibility
  titles(table: Table): Titles
  /** The pools whose existence the caller may know, out of this pool and the pools below it; `all`: none of them is hidden. */
  poolsWithin(id: number): 'all' | readonly number[]
  readonly rights: Expression
  /** Objects that the index still shows to the caller, although they have become invisible. They count as absent. */
  readonly without: readonly number[]
  /** Whether the visible part of an object of the type depends on its pool or on other conditions. */
  depends(table: Table): boolean
}

/**
 * The field visibility of a caller who has just lost some objects. It gets a key of its own, so that the two field visibilities
 * share no cached results.
 */
export function fieldVisibilityWithout(fieldVisibility: FieldVisibility, without: readonly number[]): FieldVisibility {
  if (without.length === 0) return fieldVisibility
  return {
    ...fieldVisibility,
    key: `${fieldVisibility.key} without ${hash('sha256', without.join(), 'base64')}`,
    without,
  }
}

export const everythingVisible: FieldVisibility = {
  key: 'whole',
  whole: true,
  column: () => 'always',
  rows: () => 'always',
  system: () => 'always',
  any: () => 'always',
  titles: () => 'all',
  poolsWithin: () => 'all',
  rights: everything,
  without: [],
  depends: () => false,
}

let made = 0

export interface FieldVisibilityOptions {
  readonly caller: CallerRights
  /** The masks of an object type that the caller may use, and the conditions for each. */
  readonly maskAccess: (table: Table) => MaskAccess
  /** The conditions under which the caller may see files of objects of the type. */
  readonly fileAccess: (table: Table) => FileVisibility
  /** Ids from the root pool down to the pool. */
  readonly poolPath: (id: number) => readonly number[]
}

/**
 * The approximate size of a field visibility in bytes, including the data that is derived from the same rights for lists and
 * `_has_children`. Lists of pools are shared by all object types. A field visibility is kept as long as the rights that it is
 * derived from, and is counted with them.
 */
export function fieldVisibilityBytes(objecttypes: number, pools: number): number {
  return 4000 + 4000 * objecttypes + 250 * pools
}

export function createFieldVisibility({
  caller,
  maskAccess,
  fileAccess,
  poolPath,
}: FieldVisibilityOptions): FieldVisibility {
  if (caller.root) return everythingVisible
  const byTable = new Map<Table, MaskAccess>()
  const seen = new Map<unknown, Visibility>()
  const accessTo = (table: Table): MaskAccess => {
    const access = byTable.get(table) ?? maskAccess(table)
    byTable.set(table, access)
    return access
  }
  /** Columns that the same masks show share one visibility. */
  const visibilities = new Map<Table, Map<string, Visibility>>()
  function visibility(table: Table, masks: ReadonlySet<Mask>): Visibility {
    const known = visibilities.get(table) ?? new Map<string, Visibility>()
    visibilities.set(table, known)
    const name = [...masks].map((mask) => mask.id).join()
    const found = known.get(name) ?? toVisibility(table, accessTo(table).where(masks))
    known.set(name, found)
    return found
  }
  function once(what: unknown, make: () => Visibility): Visibility {
    const found = seen.get(what) ?? make()
    seen.set(what, found)
    return found
  }
  /** `always`: every mask and every file is visible in every place. */
  function placeOfAny(table: Table): Visibility {
    const access = accessTo(table)
    const masks = [...table.masks.values()].map((mask) => access.where(new Set([mask])))
    if (masks.some((each) => typeof each !== 'string')) return 'never'
    const files = fileAccess(table)
    const columns = fileColumns(table).flatMap((column) => [files(column, 'any'), files(column, 'original')])
    return columns.some((each) => typeof each !== 'string') ? 'never' : 'always'
  }
  const fileVisibilities = new Map<string, Visibility>()
  const filesOf = new Map<Table, FileVisibility>()
  /** Visibility of file data: the mask shows the column, and the caller may see the files in it. */
  function fileVisibility(root: Table, { of, level }: FieldPart): Visibility {
    const key = `${of.id} ${level}`
    const known = fileVisibilities.get(key)
    if (known) return known
    const access = filesOf.get(root) ?? fileAccess(root)
    filesOf.set(root, access)
    const found = bothVisibilities(
      visibility(root, showingMasks(root).column(of)),
      toVisibility(root, access(of, level)),
    )
    fileVisibilities.set(key, found)
    return found
  }
  const rights = caller.readable()
  const titles = new Map<Table, Titles>()
  return {
    key: `${caller.userId}.${++made}`,
    whole: false,
    column({ column, part }) {
      const { root } = column.table
      if (part?.fileValues) return fileVisibility(root, part)
      const shown = part?.of ?? column
      return once(shown, () => visibility(root, showingMasks(root).column(shown)))
    },
    rows({ table }) {
      return once(table, () => visibility(table.root, showingMasks(table.root).rows(table)))
    },
    system: (table, field) => visibility(table, showingMasks(table).system(field)),
    any: (table) => visibility(table, showingMasks(table).any),
    titles(table) {
      const found = titles.get(table) ?? titlesOf(table, caller, rights)
      titles.set(table, found)
      return found
    },
    poolsWithin: (id) => poolsWithin(caller, poolPath, id),
    rights,
    without: [],
    depends: (table) => once(`depends ${table.id}`, () => placeOfAny(table)) !== 'always',
  }
}

function bothVisibilities(one: Visibility, other: Visibility): Visibility {
  if (one === 'never' || other === 'never') return 'never'
  if (one === 'always') return other
  if (other === 'always') return one
  return { place: all([one.place, other.place]), unless: null }
}

const fileColumns = (table: Table): Column[] => [
  ...table.columns.filter(({ type }) => type === 'eas'),
  ...table.nested.flatMap(fileColumns),
]

function toVisibility(table: Table, access: Access): Visibility {
  if (typeof access === 'string') return access
  return { place: access.place, unless: access.unless && { table, place: access.unless } }
}

/**
 * A caller who may see a pool also sees the pools above it. Of other pools the caller knows at most the id. Computed anew each
 * time: the lists for all pools would take more memory than all other cached data of a caller.
 */
function poolsWithin(
  caller: CallerRights,
  poolPath: FieldVisibilityOptions['poolPath'],
  id: number,
): 'all' | readonly number[] {
  const known = [id]
  let hidden = false
  for (const pool of caller.poolIds()) {
    if (pool === id || !poolPath(pool).includes(id)) continue
    if (caller.mayPool('bag_read', pool)) known.push(pool)
    else hidden = true
  }
  return hidden ? known : 'all'
}

function titlesOf(table: Table, caller: CallerRights, rights: Expression): Titles {
  const unconditional = caller
    .maskGrants(table.id)
    .filter(({ when }) => isEverything(table.aclTable ? when : ofOpen(when)))
  const withoutPool = unconditional.some((grant) => grant.poolIds === 'none')
  if (!table.poolLink) return withoutPool ? 'all' : { rights }
  const pools = caller.poolsOf(unconditional.flatMap(({ poolIds }) => (typeof poolIds === 'string' ? [] : [poolIds])))
  if (pools.length < caller.poolIds().length) return { rights }
  return withoutPool ? 'all' : 'all in pools'
}
