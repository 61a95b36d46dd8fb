import type { Model, ReverseField } from '../../../datamodel/model.ts'
import { eachYielding, type Yielder } from '../../../platform/process/cooperative-yield.ts'
import { sameContent } from '../../masks/writer.ts'
import type { StoredObject } from '../../stored/content.ts'
import type { SaveContext } from '../context.ts'
import { guarded } from '../disclosure.ts'
import { guardOf, type Item, itemOf } from '../item.ts'
import { grantsChanged } from '../system-fields.ts'
import { lockObjects } from '../write/store.ts'
import { type Linker, planDelete } from './deletion.ts'

/** A stored object that stands below one of the request. */
export interface Attached extends Linker {
  readonly object: StoredObject
}

/**
 * Reconciles reverse-nested objects: those attached to an updated object through a field that its mask lets be written,
 * but missing from the payload, go to the trash; those reached through a read-only field stay (DB-019). Sent ones
 * that did not change get no new version.
 * @returns those that stay, per item: for a pool change that they follow.
 */
export async function reconcileReverse(
  context: SaveContext,
  items: Item[],
  attached: readonly Attached[],
): Promise<ReadonlyMap<Item, readonly StoredObject[]>> {
  const byId = new Map(items.map((item) => [item.systemObjectId, item]))
  const doomed: StoredObject[] = []
  const kept = new Map<Item, StoredObject[]>()
  const decide = ({ object, ...linker }: Attached): void => {
    const item = byId.get(linker.to)
    if (!item || byId.has(object.systemObjectId) || object.deletedAt || !isVisible(context, object)) return
    const field = item.mask.fields.find((candidate): candidate is ReverseField =>
      shows(candidate as ReverseField, linker),
    )
    if (field?.mode === 'edit' && saysAll(item, field)) doomed.push(object)
    else kept.set(item, [...(kept.get(item) ?? []), object])
  }
  await eachYielding(attached, decide, context.yielder)
  if (doomed.length > 0) {
    const plan = await planDelete(context, doomed, 'refuse', new Set(byId.keys()))
    items.push(...plan.deleted, ...plan.cleared.filter((item) => !byId.has(item.systemObjectId)))
  }
  return kept
}

/** A change of some fields says something of a list only when it has it. */
function saysAll({ draft }: Item, field: ReverseField): boolean {
  return !draft?.partial || draft.sent.block[field.wireKey] !== undefined
}

/** Stored objects that are reverse-nested under objects of the request. */
export async function attachedObjects(context: SaveContext, linkers: readonly Linker[]): Promise<Attached[]> {
  const relevant = linkers.filter((linker) => isReverse(context.model, linker.column))
  const stored = await lockObjects(
    context,
    relevant.map((linker) => linker.from),
    { forDelete: true },
  )
  return relevant.flatMap((linker) => {
    const object = stored.get(linker.from)
    return object ? [{ ...linker, object }] : []
  })
}

/** What the caller cannot read was not shown to it either: that it is not sent back says nothing. */
function isVisible({ rights }: SaveContext, object: StoredObject): boolean {
  return rights.root || rights.may('read', guarded(guardOf(object)))
}

/** Whether others can stand below the object. */
export function hasBelow({ table, mask }: Pick<Item, 'table' | 'mask'>): boolean {
  return table.reverses.length > 0 || mask.fields.some((field) => field.kind === 'reverse')
}

function shows(field: ReverseField, linker: Linker): boolean {
  return field.kind === 'reverse' && (field.column?.id ?? null) === linker.column
}

/** Whether what links through the column stands below its target; null: children in the hierarchy do. */
export function isReverse(model: Model, column: number | null): boolean {
  return column === null || model.columnsById.get(column)?.reverseEdit === true
}

/**
 * Objects sent as reverse-nested whose content and system fields are as stored were only sent to be kept: no new
 * version. Nor is there one of an object in which edits found nothing to change.
 */
export async function markUnchanged(items: readonly Item[], yielder: Yielder): Promise<void> {
  const mark = (item: Item): void => {
    const { current } = item
    const edits = item.draft?.edits ?? null
    if (!(item.up || edits) || !current || item.mode !== 'update') return
    // A comment on edits says why; where they find nothing to change it says nothing.
    item.changed = edits ? isOther(item, current) : differs(item, current)
  }
  await eachYielding(items, mark, yielder)
}

/** Whether an object comes to something else than is stored of it. */
export function differs(item: Item, stored: StoredObject): boolean {
  return item.comment !== null || isOther(item, stored)
}

/** The same, whatever its comment says. */
function isOther(item: Item, stored: StoredObject): boolean {
  return (
    item.poolId !== stored.poolId ||
    item.ownerUser !== stored.ownerUser ||
    item.ownerGroup !== stored.ownerGroup ||
    !sameContent(item.tags, stored.tags) ||
    grantsChanged(item) ||
    !sameContent(item.parents, stored.parents) ||
    !sameContent(item.content, stored.content)
  )
}

/** What a pool change asks for: how many reverse objects could follow, and by which mode. */
export interface PoolMove {
  readonly item: Item
  readonly followers: readonly StoredObject[]
}

/** Reverse objects of pooled types whose master gets another pool. */
export async function poolMoves(
  items: readonly Item[],
  kept: ReadonlyMap<Item, readonly StoredObject[]>,
  yielder: Yielder,
): Promise<PoolMove[]> {
  const moves: PoolMove[] = []
  const sentUnder = Map.groupBy(
    items.filter((item) => item.up && item.current && item.mode === 'update'),
    (item) => item.up?.item,
  )
  const look = (item: Item): void => {
    if (!item.current || item.mode !== 'update' || item.poolId === item.current.poolId || item.poolId === null) return
    const sent = sentUnder.get(item) ?? []
    const followers = [...sent.flatMap((other) => other.current ?? []), ...(kept.get(item) ?? [])].filter(
      (object) => object.table.poolLink && object.poolId !== item.poolId,
    )
    if (followers.length > 0) moves.push({ item, followers })
  }
  await eachYielding(items, look, yielder)
  return moves
}

/** Moves the followers into the pool of their master; followers that the payload does not have become items. */
export function movePools(items: Item[], moves: readonly PoolMove[]): void {
  const byId = new Map(items.map((item) => [item.systemObjectId, item]))
  for (const { item, followers } of moves) {
    for (const object of followers) {
      let follower = byId.get(object.systemObjectId)
      if (!follower) {
        follower = itemOf(object, 'update')
        byId.set(object.systemObjectId, follower)
        items.push(follower)
      }
      follower.poolId = item.poolId
      follower.changed = true
    }
  }
}
