import { AppError } from '../platform/errors.ts'
import type { Guarded, ObjectRight, StoredGrant } from '../rights/service.ts'
import { forEachLink } from './content-links.ts'
import type { SaveContext } from './deps.ts'
import { guardAfter, guardBefore, type Item } from './item.ts'
import type { Found } from './resolve.ts'
import { grantsChanged } from './system-fields.ts'

/** First check of a save: may the caller create or change these objects at all, and with these masks? */
export function assertAccess(context: SaveContext, items: readonly Item[]): void {
  if (context.rights.root) return
  for (const item of items) {
    if (!item.draft) continue
    if (item.mode === 'create') assertCreate(context, item)
    else assertMay(context, 'write', item, guarded(guardBefore(item)))
    assertMask(context, item)
  }
}

function assertCreate({ rights }: SaveContext, item: Item): void {
  if (!rights.mayCreate(item.table.id, item.poolId, item.tags)) throw insufficient(item, 'create')
}

function assertMask({ rights }: SaveContext, item: Item): void {
  // Reverse-nested objects are shaped by the mask of the object above them, which was checked.
  if (item.up) return
  const { mask, table } = item
  const use = { id: mask.id, isAllFields: mask.isAllFields, isStandard: mask === table.preferredMask }
  if (!rights.mayUseMask(use, guarded(guardBefore(item)), item.mode === 'create' ? 'create' : 'write')) {
    throw new AppError(
      'ObjectInsufficientRights',
      { name: item.place, right: 'mask', mask: mask.name, objecttype: table.name },
      { message: `${item.place}: the mask ${mask.name} may not be used` },
    )
  }
}

/**
 * Last check before the write, on what the save comes to: new pools, grants, owners, tags, deletions of reverse-nested
 * objects, and the read right on targets that are linked where they were not before (OBJ-016 to OBJ-018).
 */
export function assertSaveRights(
  context: SaveContext,
  items: readonly Item[],
  found: ReadonlyMap<number, Found>,
): void {
  const inRequest = new Set(items.map((item) => item.systemObjectId))
  for (const item of items) {
    if (item.draft) assertIntroducedLinks(context, item, found, inRequest)
    if (context.rights.root || !item.changed) continue
    if (item.mode === 'delete') assertMay(context, 'delete', item, guarded(guardBefore(item)))
    if (!item.draft) continue
    if (!item.current) {
      assertCreate(context, item)
      continue
    }
    const before = guarded(guardBefore(item))
    if (item.poolId !== item.current.poolId) assertCreate(context, item)
    if (grantsChanged(item)) assertMay(context, 'acl', item, before)
    const newOwner = item.ownerUser !== item.current.ownerUser || item.ownerGroup !== item.current.ownerGroup
    if (newOwner && !item.ownerByWorkflow) {
      assertMay(context, 'change_owner', item, before)
    }
  }
}

function assertIntroducedLinks(
  { rights }: SaveContext,
  item: Item,
  found: ReadonlyMap<number, Found>,
  inRequest: ReadonlySet<number>,
): void {
  const before = new Set<string>()
  if (item.current) {
    forEachLink(item.table, item.current.content, (_, to, location) => before.add(`${location}=${to}`))
    for (const parent of item.current.parents) before.add(`parent=${parent}`)
  }
  const check = (to: number, location: string, field: string) => {
    const target = found.get(to)
    if (!target || inRequest.has(to) || before.has(`${location}=${to}`)) return
    if (target.deleted) {
      throw new AppError(
        'LookupNotFound',
        { name: item.place, field, _system_object_id: to, deleted: true },
        { message: `${item.place}: object ${to} is in the trash and cannot be linked` },
      )
    }
    if (!rights.root && !rights.may('read', guarded(target))) {
      throw new AppError(
        'ObjectInsufficientRights',
        { name: item.place, right: 'read', field, _system_object_id: to, objecttype: item.table.name },
        { message: `${item.place}: linking object ${to} needs the right to read it` },
      )
    }
  }
  forEachLink(item.table, item.content, (column, to, location) => check(to, location, column.fullName))
  for (const parent of item.parents) check(parent, 'parent', '_id_parent')
}

/** Whether the caller would shut itself out by the grants or the owner that it sets (DB-008). */
export function losesAccess({ rights }: SaveContext, items: readonly Item[]): Item[] {
  if (rights.root) return []
  return items.filter((item) => {
    if (!item.current || !item.draft || item.mode !== 'update') return false
    const owner = item.ownerUser !== item.current.ownerUser || item.ownerGroup !== item.current.ownerGroup
    if (!owner && !grantsChanged(item)) return false
    const before = guarded(guardBefore(item))
    const after = guarded(guardAfter(item))
    return (['read', 'write'] as const).some((right) => rights.may(right, before) && !rights.may(right, after))
  })
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

type Loose = Omit<Guarded, 'acl'> & { acl: unknown }

/** Grants come from jsonb as they were stored: validated when they were written. */
export function guarded(object: Loose): Guarded {
  return { ...object, acl: (object.acl ?? null) as readonly StoredGrant[] | null }
}
