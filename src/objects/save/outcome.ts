import { forEachLink } from '../content/links.ts'
import { type PreloadedObjects, reverseKey } from '../render/run.ts'
import type { Operation, StoredObject } from '../stored/content.ts'
import { guardOf, type Head, type Loaded } from '../stored/rows.ts'
import type { SaveContext } from './context.ts'
import { type Item, nextVersion } from './item.ts'
import { type Attached, isReverse } from './rules/reverse.ts'

/** The results of a save, built from data that it already has: neither callbacks nor the answer have to read it. */

/** An object of a save, in its new stored state. */
export interface SavedObject {
  readonly item: Item
  readonly object: Loaded
}

const operations: Readonly<Record<Item['mode'], Operation>> = { create: 'i', update: 'u', delete: 'd', undelete: 'r' }

/** The object in the state that the save stores, or would store. */
export function asStored({ actor, at }: Pick<SaveContext, 'actor' | 'at'>, item: Item): Loaded {
  const { current, systemObjectId, table, id, uuid, poolId, ownerUser, ownerGroup, tags, acl, privateAcl, parents } =
    item
  if (current && !item.changed) return loaded(current)
  const version = nextVersion(item)
  return loaded({
    ...{ systemObjectId, table, id, uuid, poolId, ownerUser, ownerGroup, tags, acl, privateAcl, parents },
    version,
    latestVersion: version,
    standard: item.standard,
    childIdx: current?.childIdx ?? null,
    createdAt: current?.createdAt ?? at,
    createdBy: current ? current.createdBy : (item.createdBy ?? actor.userId),
    modifiedAt: at,
    deletedAt: item.mode === 'delete' ? at : null,
    operation: operations[item.mode],
    at,
    byUser: actor.userId,
    comment: item.comment,
    content: item.content,
  })
}

function loaded(object: StoredObject): Loaded {
  return { ...object, guard: guardOf(object) }
}

/** Heads of the saved objects and of the objects that they link to, and the objects below those of `shown`. */
export async function preloadSaved(
  context: SaveContext,
  items: readonly Item[],
  shown: readonly Item[],
  attached: readonly Attached[] | null,
): Promise<PreloadedObjects> {
  const { model, targets, yielder } = context
  const saved = new Map<number, Loaded>()
  for (const item of items) {
    if (yielder.due()) await yielder.yield()
    saved.set(item.systemObjectId, asStored(context, item))
  }
  const heads: Head[] = [...saved.values()]
  for (const {
    objecttypeId,
    ownerUserId: ownerUser,
    ownerGroupId: ownerGroup,
    deleted,
    ...found
  } of targets.values()) {
    const table = model.tablesById.get(objecttypeId)
    if (!table || saved.has(found.systemObjectId)) continue
    const head = { ...found, table, ownerUser, ownerGroup }
    heads.push({ ...head, guard: guardOf(head) })
  }
  const below = attached ? await belowOf(context, saved, shown, attached) : new Map()
  return { heads, below, promised: newPromises(context) }
}

/** The uuids of objects that the save promises, by their provisional ids. */
export function newPromises({ promises }: SaveContext): ReadonlyMap<number, string> {
  return new Map(Array.from(promises.made.values(), ({ id, uuid }) => [id, uuid]))
}

/** Objects below by reverse field; for new objects all fields, otherwise only the fields that were loaded. */
async function belowOf(
  { model, yielder }: SaveContext,
  saved: ReadonlyMap<number, Loaded>,
  shown: readonly Item[],
  attached: readonly Attached[],
): Promise<Map<string, Loaded[]>> {
  const below = new Map<string, Map<number, Loaded>>()
  for (const { mask, mode, systemObjectId } of shown) {
    if (yielder.due()) await yielder.yield()
    for (const field of mask.fields) {
      if (field.kind !== 'reverse') continue
      const column = field.column?.id ?? null
      if (mode === 'create' || isReverse(model, column)) below.set(reverseKey(column, systemObjectId), new Map())
    }
  }
  if (below.size === 0) return new Map()
  const put = (column: number | null, to: number, object: Loaded): void => {
    below.get(reverseKey(column, to))?.set(object.systemObjectId, object)
  }
  for (const { column, to, from, object } of attached) if (!saved.has(from)) put(column, to, loaded(object))
  for (const object of saved.values()) {
    if (yielder.due()) await yielder.yield()
    if (object.deletedAt) continue
    forEachLink(object.table, object.content, (column, to) => put(column.id, to, object))
    for (const parent of object.parents) put(null, parent, object)
  }
  return new Map(Array.from(below, ([key, objects]) => [key, [...objects.values()].sort(asSiblings)]))
}

/** The order of `loadReverses` and `loadChildren`. */
function asSiblings(a: Loaded, b: Loaded): number {
  const place = ({ childIdx }: Loaded) => childIdx ?? Number.POSITIVE_INFINITY
  return place(a) === place(b) ? a.systemObjectId - b.systemObjectId : place(a) - place(b)
}
