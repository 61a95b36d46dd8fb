import type { Mask, Table } from '../../datamodel/model.ts'
import type { CallerRights } from '../../rights/service.ts'
import { maskFits } from '../masks/filter.ts'
import type { Wire } from '../masks/reader.ts'
import type { Head } from '../read/stored-rows.ts'
import type { RenderDeps, Run, ShownPool, ShownTag } from './run.ts'

/** What says which mask is the standard one. */
type PreferenceDeps = Pick<RenderDeps, 'objecttypeMasks'> & {
  readonly pools: { byId(id: number): Pick<ShownPool, 'effectiveMasks'> | undefined }
}

export type MaskDeps = PreferenceDeps & Pick<RenderDeps, 'maskFilters'>

/** The mask that an object is shown with when none is named: preferred in its pool, in its type, in the datamodel. */
export function standardMask(
  { deps }: { readonly deps: PreferenceDeps },
  { table, poolId }: Pick<Head, 'table' | 'poolId'>,
): Mask {
  for (const id of preferredIds(deps, table, poolId)) {
    const mask = maskById(table, id)
    if (mask) return mask
  }
  return table.preferredMask
}

/** All masks of an object's type, the ones to prefer first, `_all_fields` last. */
export function masksByPreference(
  { deps }: { readonly deps: PreferenceDeps },
  { table, poolId }: Pick<Head, 'table' | 'poolId'>,
): Mask[] {
  const preferred = preferredIds(deps, table, poolId).flatMap((id) => maskById(table, id) ?? [])
  const others = [...table.masks.values()].sort((a, b) => Number(a.isAllFields) - Number(b.isAllFields))
  return [...new Set([...preferred, table.preferredMask, ...others])]
}

function preferredIds(deps: PreferenceDeps, table: Table, poolId: number | null): readonly number[] {
  const ofPool = poolId === null ? undefined : deps.pools.byId(poolId)?.effectiveMasks[table.id]
  return ofPool ?? deps.objecttypeMasks(table.id) ?? []
}

function maskById(table: Table, id: number): Mask | undefined {
  for (const mask of table.masks.values()) if (mask.id === id) return mask
  return undefined
}

/**
 * Whether the caller may see the object with this mask. An inline mask is part of the mask that it stands in. A search
 * decides the same by conditions: see masks/access.ts.
 */
export function mayUseMask(
  context: { readonly deps: MaskDeps; readonly caller: CallerRights },
  mask: Mask,
  object: Pick<Head, 'table' | 'poolId' | 'guard'>,
): boolean {
  if (context.caller.root || mask.isInline) return true
  if (!maskFits(context.deps, mask, object.guard.tags)) return false
  const use = { id: mask.id, isAllFields: mask.isAllFields, isStandard: mask === standardMask(context, object) }
  return context.caller.mayUseMask(use, object.guard)
}

// Pools and tags come from snapshots whose entries are replaced when they change, so their wire form is made once.
const wirePools = new WeakMap<ShownPool, Wire>()
const wireTagsKnown = new WeakMap<ShownTag, Wire>()

/** A pool as objects show it; of one that the caller may not see, only the id. */
export function wirePool({ deps, caller }: Run, poolId: number): Wire {
  const pool = deps.pools.byId(poolId)
  if (!pool || !caller.mayPool('bag_read', poolId)) return { _basetype: 'pool', pool: { _id: poolId } }
  let wire = wirePools.get(pool)
  if (!wire) {
    const { id, name, shortname, reference } = pool
    wire = { _basetype: 'pool', pool: { _id: id, ...(reference === null ? {} : { reference }), name, shortname } }
    wirePools.set(pool, wire)
  }
  return wire
}

export function wireTags({ deps }: Run, { tags }: Head): Wire[] {
  if (tags.length === 0) return []
  const snapshot = deps.tags.snapshot()
  return tags.map((id) => {
    const tag = snapshot.get(id)
    if (!tag) return { _id: id }
    const wire = wireTagsKnown.get(tag) ?? wireTag(tag)
    wireTagsKnown.set(tag, wire)
    return wire
  })
}

function wireTag({ id, displayname, displaytype, reference, shortname }: ShownTag): Wire {
  const names = { ...(reference === null ? {} : { reference }), ...(shortname === null ? {} : { shortname }) }
  return { _id: id, displayname, displaytype, ...names }
}
