import type { Mask, Table } from '../../datamodel/model.ts'
import type { Pool } from '../../pools/model.ts'
import type { CallerRights } from '../../rights/service.ts'
import type { Head } from '../stored/rows.ts'
import { type MaskFilters, maskFits } from './filter.ts'

/** The settings that decide which mask is the standard one. */
interface PreferenceDeps {
  /** Standard masks from the settings of an object type, best first; null: no preference. */
  readonly objecttypeMasks: (tableId: number) => readonly number[] | null
  readonly pools: { byId(id: number): Pick<Pool, 'effectiveMasks'> | undefined }
}

export interface MaskDeps extends PreferenceDeps {
  /** Tag filters of the masks of an object type. */
  readonly maskFilters: (tableId: number) => MaskFilters
}

/** The default mask of an object: preferred in its pool, in its type, in the datamodel. */
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
 * Whether the caller may see the object with this mask. An inline mask is part of the mask that contains it. For searches the same
 * rule exists as conditions: see access.ts.
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

/**
 * The first mask by preference that the caller may use and whose tag filter matches; for root, if there is none, the first one
 * whose filter does not match.
 */
export function bestMask(
  deps: MaskDeps,
  caller: CallerRights,
  object: Head,
  preferred: readonly Mask[] = masksByPreference({ deps }, object),
): Mask | null {
  let possible: Mask | null = null
  for (const mask of preferred) {
    if (!mayUseMask({ deps, caller }, mask, object)) continue
    if (maskFits(deps, mask, object.guard.tags)) return mask
    possible ??= mask
  }
  return possible
}
