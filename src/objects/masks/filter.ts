/** `_maskfilters` of an object type: a mask with a filter is only used for objects whose tags match it. */
import type { Mask } from '../../datamodel/model.ts'
import { type TagFilter, tagsFit } from '../../rights/service.ts'

/** The filters in the settings of an object type: by mask id. */
export type MaskFilters = Readonly<Record<string, Readonly<Record<string, unknown>>>>

export interface MaskFilterDeps {
  readonly maskFilters: (tableId: number) => MaskFilters
}

const read = new WeakMap<object, TagFilter | null>()

/** null: any object. */
export function filterOf({ maskFilters }: MaskFilterDeps, { id, table }: Mask): TagFilter | null {
  const wire = maskFilters(table.id)[String(id)]?.tagfilter
  if (typeof wire !== 'object' || wire === null) return null
  let filter = read.get(wire)
  if (filter === undefined) {
    filter = parse(wire as Record<string, unknown>)
    read.set(wire, filter)
  }
  return filter
}

export function maskFits(deps: MaskFilterDeps, mask: Mask, tags: readonly number[]): boolean {
  return tagsFit(filterOf(deps, mask), tags)
}

function parse(wire: Record<string, unknown>): TagFilter | null {
  const list = (slot: string): number[] => (Array.isArray(wire[slot]) ? (wire[slot] as number[]) : [])
  const filter = { all: list('all'), any: list('any'), not: list('not') }
  return filter.all.length + filter.any.length + filter.not.length === 0 ? null : filter
}
