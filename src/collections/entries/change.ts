/** Changes of lists: their entries and the places of these. The caller must have locked the collections. */
import type { Tx } from '../../platform/postgres/db.ts'
import type { Collection } from '../model.ts'
import { type Gap, room, type Spread, spread, widen } from './ranks.ts'
import * as store from './store.ts'

/** The entries added to a list and removed from it. Entries that only moved are in neither. */
export interface Changed {
  readonly added: readonly number[]
  readonly removed: readonly number[]
}

export type Listed = Pick<Collection, 'id' | 'objectCount'>

/** Removes `length` entries at a position and inserts others there; entries that are already in the list are moved. */
export async function splice(
  tx: Tx,
  list: Listed,
  {
    index,
    length,
    entries,
  }: { readonly index: number; readonly length: number; readonly entries: readonly store.NewEntry[] },
): Promise<Changed> {
  const ids = entries.map(({ objectId }) => objectId)
  const known = ids.length === 0 ? new Set<number>() : await store.entriesAmong(tx, list.id, ids)
  const gap = await store.gapOf(tx, list.id, { index, length, count: list.objectCount })
  const removed = length === 0 ? [] : await store.removeRange(tx, list.id, gap, ids)
  if (entries.length > 0) {
    const at = await roomIn(tx, { id: list.id, objectCount: list.objectCount - removed.length }, gap, entries.length)
    await store.putEntries(tx, [{ collectionId: list.id, spread: at, entries }])
  }
  return { added: ids.filter((id) => !known.has(id)), removed }
}

/** Ranks for new entries in a gap. If it is too narrow, entries around it get new ranks: a few, many, or all of the list. */
async function roomIn(tx: Tx, { id, objectCount }: Listed, gap: Gap, count: number): Promise<Spread> {
  const narrow = spread(gap, count)
  if (narrow) return narrow
  const wide =
    widen(await store.windowsAround(tx, id, gap, [64, 1024]), count) ??
    widen(
      [...(await store.windowsAround(tx, id, gap, [16_384])), { after: null, before: null, entries: objectCount }],
      count,
    )
  if (!wide) throw new Error('a whole list has no room')
  const front = await store.spreadWindow(tx, id, { ...wide, behind: gap.after, count })
  return { first: wide.spread.first + wide.spread.step * front, step: wide.spread.step }
}

/** Replaces whole lists: entries that are not named are removed. */
export async function replace(
  tx: Tx,
  lists: readonly { readonly list: Listed; readonly entries: readonly store.NewEntry[] }[],
): Promise<Changed[]> {
  const before = await store.entriesOf(
    tx,
    lists.map(({ list }) => list.id),
  )
  const changes = lists.map(({ list, entries }) => {
    const known = before.get(list.id) ?? new Set<number>()
    const sent = new Set(entries.map(({ objectId }) => objectId))
    return { added: [...sent].filter((id) => !known.has(id)), removed: [...known].filter((id) => !sent.has(id)) }
  })
  await store.removeFrom(
    tx,
    lists.map(({ list }, index) => ({ collectionId: list.id, objectIds: changes[index]?.removed ?? [] })),
  )
  await store.putEntries(
    tx,
    lists.map(({ list, entries }) => ({ collectionId: list.id, spread: { first: 0, step: room }, entries })),
  )
  return changes
}
