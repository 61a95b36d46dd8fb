import { AppError } from '../../../platform/errors.ts'
import { eachYielding } from '../../../platform/process/cooperative-yield.ts'
import type { Guarded, ObjectRight } from '../../../rights/service.ts'
import { forEachLink } from '../../content/links.ts'
import { maskFits } from '../../masks/filter.ts'
import { standardMask } from '../../masks/preference.ts'
import type { SaveContext } from '../context.ts'
import { exists, guarded } from '../disclosure.ts'
import { guardAfter, guardBefore, type Item } from '../item.ts'
import { unknownTarget } from '../prepare.ts'
import { introducePromise } from '../promises/link.ts'
import { grantsChanged } from '../system-fields.ts'

/** Drafts that callbacks have replaced, by their places. */
type Replaced = Pick<ReadonlyMap<string, unknown>, 'has'>

/**
 * First check of a save: may the caller create or change these objects at all, and with these masks? Callbacks run after it, so a
 * new object is checked as it was sent; the changes by callbacks are checked last (`assertSaveRights`).
 */
export async function assertAccess(context: SaveContext, items: readonly Item[], replaced: Replaced): Promise<void> {
  if (context.rights.root) return
  const check = (item: Item): void => {
    if (!item.draft || (item.mode === 'create' && replaced.has(item.place))) return
    if (item.mode === 'create') assertCreate(context, item)
    else assertMay(context, 'write', item, guarded(guardBefore(item)))
    assertMask(context, item)
  }
  await eachYielding(items, check, context.yielder)
}

function assertCreate({ rights }: SaveContext, item: Item): void {
  if (!rights.mayCreate(item.table.id, item.poolId, item.tags)) throw insufficient(item, 'create')
}

function assertMask({ rights, deps }: SaveContext, item: Item): void {
  // The mask of the object above defines the mask of reverse-nested objects, and was already checked.
  if (item.up) return
  const { mask, table } = item
  const { poolId } = guardBefore(item)
  const use = {
    id: mask.id,
    isAllFields: mask.isAllFields,
    isStandard: mask === standardMask({ deps }, { table, poolId }),
  }
  // The saved object is answered in this mask, so the mask must be allowed for the object.
  const fits = maskFits(deps, mask, guardBefore(item).tags)
  if (!fits || !rights.mayUseMask(use, guarded(guardBefore(item)), item.mode === 'create' ? 'create' : 'write')) {
    throw new AppError(
      'ObjectInsufficientRights',
      { name: item.place, right: 'mask', mask: mask.name, objecttype: table.name },
      { message: `${item.place}: the mask ${mask.name} may not be used` },
    )
  }
}

/**
 * New links require the right to read their targets (OBJ-016 to OBJ-018). Checked before anything looks at the targets. The answer
 * is the same for a target that the caller may not read and for one that does not exist: only root can find out which ids are in
 * use.
 */
export async function assertIntroducedLinks(context: SaveContext, items: readonly Item[]): Promise<void> {
  const { rights, yielder, targets, promises } = context
  const inRequest = new Set(items.map((item) => item.systemObjectId))
  const checkItem = (item: Item): void => {
    const before = new Set<string>()
    if (item.current) {
      forEachLink(item.table, item.current.content, ({ key }, to, row) => before.add(nameOf(key, to, row)))
      for (const parent of item.current.parents) before.add(nameOf('parent', parent))
    }
    const check = (to: number, key: string, field: string, row?: string) => {
      if (to === unknownTarget) throw noTarget(item, field)
      const target = targets.get(to)
      if (promises.linked.has(to)) {
        const stays = before.has(nameOf(key, to, row))
        if (!stays && !introducePromise(context, to, { key, place: item.place })) throw noTarget(item, field)
      }
      if (!target || inRequest.has(to) || (before.size > 0 && before.has(nameOf(key, to, row)))) return
      if (!exists(rights, target)) throw noTarget(item, field)
      if (target.deleted) throw trashedTarget(item, field, to)
    }
    forEachLink(item.table, item.content, ({ key, fullName }, to, row) => check(to, key, fullName, row))
    for (const parent of item.parents) check(parent, 'parent', '_id_parent')
  }
  await eachYielding(items, checkItem, yielder)
}

/** A target at a location. */
function nameOf(key: string, to: number, row = ''): string {
  return `${row}/${key}=${to}`
}

export function noTarget(item: Item, field: string): AppError {
  return new AppError(
    'ObjectInsufficientRights',
    { name: item.place, right: 'read', field, objecttype: item.table.name },
    { message: `${item.place}: the target of ${field} does not exist, or the right to read it is missing` },
  )
}

function trashedTarget(item: Item, field: string, to: number): AppError {
  return new AppError(
    'LookupNotFound',
    { name: item.place, field, _system_object_id: to, deleted: true },
    { message: `${item.place}: object ${to} is in the trash and cannot be linked` },
  )
}

/**
 * Last check before the write, on the result of the save: new pools, grants, owners, tags, deletions of reverse-nested objects, and
 * changes of objects that were not sent.
 */
export async function assertSaveRights(
  context: SaveContext,
  items: readonly Item[],
  replaced: Replaced,
): Promise<void> {
  if (context.rights.root) return
  const check = (item: Item): void => {
    if (!item.changed) return
    if (!item.current) {
      assertCreate(context, item)
      if (replaced.has(item.place)) assertMask(context, item)
      return
    }
    if (!item.draft) assertMayOther(context, item.mode === 'delete' ? 'delete' : 'write', item)
    if (item.mode === 'delete') return
    const before = guarded(guardBefore(item))
    if (item.poolId !== item.current.poolId) {
      if (item.current.poolId !== null) assertMay(context, 'unlink', item, before)
      assertCreate(context, item)
    }
    if (grantsChanged(item)) assertMay(context, 'acl', item, before)
    const newOwner = item.ownerUser !== item.current.ownerUser || item.ownerGroup !== item.current.ownerGroup
    if (newOwner && !item.ownerByWorkflow) assertMay(context, 'change_owner', item, before)
  }
  await eachYielding(items, check, context.yielder)
}

/**
 * Checks the right on an object that is changed or deleted because of others. If the caller may not see the object, the error only
 * says that there is one.
 */
export function assertMayOther(context: SaveContext, right: ObjectRight, item: Item): void {
  const { rights } = context
  const guard = guardBefore(item)
  if (rights.root || rights.may(right, guarded(guard))) return
  if (!item.untold && exists(rights, { ...guard, deleted: false })) throw insufficient(item, right)
  throw new AppError(
    'ObjectInsufficientRights',
    { right },
    { message: `An object that these are linked with would change too, and the right ${right} on it is missing.` },
  )
}

/** Whether the caller would lose its own access through the grants or the owner that it sets (DB-008). */
export async function losesAccess({ rights, yielder }: SaveContext, items: readonly Item[]): Promise<Item[]> {
  if (rights.root) return []
  const loses = (item: Item): boolean => {
    if (!item.current || !item.draft || item.mode !== 'update') return false
    const owner = item.ownerUser !== item.current.ownerUser || item.ownerGroup !== item.current.ownerGroup
    if (!owner && !grantsChanged(item)) return false
    const before = guarded(guardBefore(item))
    const after = guarded(guardAfter(item))
    return (['read', 'write'] as const).some((right) => rights.may(right, before) && !rights.may(right, after))
  }
  const lost: Item[] = []
  await eachYielding(items, (item) => void (loses(item) && lost.push(item)), yielder)
  return lost
}

export function assertMay({ rights }: SaveContext, right: ObjectRight, item: Item, object: Guarded): void {
  if (!rights.root && !rights.may(right, object)) throw insufficient(item, right)
}

function insufficient(item: Item, right: string): AppError {
  return new AppError(
    'ObjectInsufficientRights',
    {
      name: item.place,
      right,
      objecttype: item.table.name,
      ...(item.current ? { _id: item.id, _system_object_id: item.systemObjectId } : {}),
    },
    { message: `${item.place}: the right ${right} is missing` },
  )
}
