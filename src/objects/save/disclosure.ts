import type { Column, Table } from '../../datamodel/model.ts'
import type { CallerRights, Guarded, ObjectRight, StoredGrant } from '../../rights/service.ts'
import { showingMasks } from '../masks/access.ts'
import { type MaskDeps, mayUseMask } from '../masks/preference.ts'
import type { SaveContext } from './context.ts'
import { guardAfter, guardBefore, type Item } from './item.ts'

/**
 * Rules about which objects a caller may learn of. An object that the caller may not read is answered like one that does not exist,
 * wherever a request names it: the rest of a save relies on these functions for that.
 */

type Loose = Omit<Guarded, 'acl'> & { acl: unknown }

/** Grants come from jsonb as they were stored: validated when they were written. */
export function guarded(object: Loose): Guarded {
  return { ...object, acl: (object.acl ?? null) as readonly StoredGrant[] | null }
}

/**
 * Whether the object exists for the caller: it may read it, or has the right `right` on it. Objects in the trash exist for callers
 * that may delete them.
 */
export function exists(
  rights: CallerRights,
  object: Loose & { readonly deleted: boolean },
  right: ObjectRight = 'read',
): boolean {
  if (rights.root) return true
  const guard = guarded(object)
  if (object.deleted && !rights.may('delete', guard)) return false
  return rights.may('read', guard) || rights.may(right, guard)
}

/**
 * Whether one of the masks that the caller may use on the object shows the column, so that the caller may look for it by this
 * column.
 */
export function showsColumn(
  { deps, rights }: Pick<SaveContext, 'rights'> & { readonly deps: MaskDeps },
  table: Table,
  object: Loose,
  column: Column,
): boolean {
  if (rights.root) return true
  const head = { table, poolId: object.poolId, guard: guarded(object) }
  return showingMasks(table)
    .column(column)
    .values()
    .some((mask) => mayUseMask({ deps, caller: rights }, mask, head))
}

/** Whether the caller may see that the object links through the column; null: that it has a parent. */
export function showsLink(
  context: Pick<SaveContext, 'deps' | 'rights'>,
  table: Table,
  object: Loose,
  column: Column | null | undefined,
): boolean {
  if (context.rights.root) return true
  if (column === undefined || !exists(context.rights, { ...object, deleted: false })) return false
  return column === null || showsColumn(context, table, object, column)
}

interface MaskContext {
  readonly deps: MaskDeps
  readonly rights: CallerRights
}

/** How much of an object the caller may see in a mask: the fields of the mask, the title, or only the ids. */
export type Showable = 'whole' | 'short' | 'nothing'

/**
 * How much of an object the answer to a save may show: whatever the caller could read before the save, or can read now. New objects
 * were sent by the caller itself.
 */
export function showable(context: MaskContext, item: Item): Showable {
  if (context.rights.root || !item.current) return 'whole'
  const found = [guardBefore(item), guardAfter(item)].map((object) => inMask(context, item, object))
  if (found.includes('whole')) return 'whole'
  return found.includes('short') ? 'short' : 'nothing'
}

/** Whether the caller may know the stored values of the mask with which it writes. */
export function knowsStored(context: MaskContext, item: Item): boolean {
  return context.rights.root || inMask(context, item, guardBefore(item)) === 'whole'
}

function inMask({ deps, rights }: MaskContext, { mask, table, up }: Item, object: Loose): Showable {
  const guard = guarded(object)
  if (!rights.may('read', guard)) return 'nothing'
  // The mask of the object above defines the mask of reverse-nested objects.
  return up || mayUseMask({ deps, caller: rights }, mask, { table, poolId: object.poolId, guard }) ? 'whole' : 'short'
}
