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

/** A stored object below an object of the request. */
export interface Attached extends Linker {
  readonly object: StoredObject
}

/**
 * Reconciles reverse-nested objects: objects that are attached to an updated object through a writable field of its mask, but
 * missing from the payload, are moved to the trash; those attached through a read-only field stay (DB-019). Sent objects that did
 * not change get no new version.
 * @returns the objects that stay, per item: for a pool change that they follow.
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

/** A partial change affects a list only when the payload has the list. */
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

/** An object that the caller cannot read was not shown to it: its absence from the payload has no meaning. */
function isVisible({ rights }: SaveContext, object: StoredObject): boolean {
  return rights.root || rights.may('read', guarded(guardOf(object)))
}

/** Whether the object can have other objects below it. */
export function hasBelow({ table, mask }: Pick<Item, 'table' | 'mask'>): boolean {
  return table.reverses.length > 0 || mask.fields.some((field) => field.kind === 'reverse')
}

function shows(field: ReverseField, linker: Linker): boolean {
  return field.kind === 'reverse' && (field.column?.id ?? null) === linker.column
}

/** Whether objects that link through the column are below its target; null: children in the hierarchy. */
export function isReverse(model: Model, column: number | null): boolean {
  return column === null || model.columnsById.get(column)?.reverseEdit === true
}

/**
 * Objects sent as reverse-nested whose content and system fields are as stored were only sent to be kept: no new version. An object
 * in which edits found nothing to change gets no new version either.
 */
export async function markUnchanged(items: readonly Item[], yielder: Yielder): Promise<void> {
  const mark = (item: Item): void => {
    const { current } = item
    const edits = item.draft?.edits ?? null
    if (!(item.up || edits) || !current || item.mode !== 'update') return
    // A comment on edits gives their reason; without a change it has no meaning.
    item.changed = edits ? isOther(item, current) : differs(item, current)
  }
  await eachYielding(items, mark, yielder)
}

/** Whether the new state of an object differs from the stored one. */
export function differs(item: Item, stored: StoredObject): boolean {
  return item.comment !== null || isOther(item, stored)
}

/** Whether they differ, apart from the comment. */
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

/** The data for a decision about a pool change: the reverse objects that could follow, and the mode. */
export interface PoolMove {
  readonly item: Item
  readonly followers: readonly StoredObject[]
}

/** Pool changes of masters with reverse objects whose type has pools. */
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
