/**
 * The lanes of the queue. Entries that were queued alone or with few others go before entries that were queued with many, so that a
 * change of many objects never holds up a change of one. Entries of many still make progress beside a steady flow of single ones.
 */

/** One reason to index an object; an object can have several at a time. */
export interface QueueEntry {
  readonly id: number
  readonly seq: number
  /** 0 saves, 1 objects that depend on a changed one, 2 a reindex. */
  readonly priority: 0 | 1 | 2
  /** Whether it was queued with many others. */
  readonly bulk: boolean
}

export type Lane = Pick<QueueEntry, 'priority' | 'bulk'>

/** The lanes, in the order in which they are indexed. */
export const lanes = [
  { priority: 0, bulk: false },
  { priority: 1, bulk: false },
  { priority: 0, bulk: true },
  { priority: 1, bulk: true },
  { priority: 2, bulk: false },
] as const satisfies readonly Lane[]

/** Place of a lane in the list. */
export function laneOf({ priority, bulk }: Lane): number {
  return priority === 2 ? 4 : priority + (bulk ? 2 : 0)
}

const isSingle = (entry: Lane): boolean => laneOf(entry) < 2

/**
 * Picks the entries of the next batch from the next entries of each lane. Single entries go alone, so that they do not wait for the
 * others of their batch; but not twice in a row while others wait (`singlesBefore`). Saves of many objects share a batch with
 * objects that link to changed ones. A reindex gets the rest.
 */
export function nextBatch(
  waiting: readonly QueueEntry[],
  { size, singlesBefore }: { readonly size: number; readonly singlesBefore: boolean },
): { readonly entries: QueueEntry[]; readonly singles: boolean } {
  const of = lanes.map((_, lane) => waiting.filter((entry) => laneOf(entry) === lane))
  const single = [...(of[0] ?? []), ...(of[1] ?? [])].slice(0, size)
  const many = of.slice(2)
  if (single.length > 0 && (!singlesBefore || many.every((list) => list.length === 0))) {
    return { entries: single, singles: true }
  }
  const [saved = [], linked = [], reindexed = []] = many
  const room = size - Math.min(single.length, size >> 1)
  const ofSaved = Math.min(saved.length, Math.max(room >> 1, room - linked.length))
  const shared = [...single.slice(0, size - room), ...saved.slice(0, ofSaved), ...linked.slice(0, room - ofSaved)]
  return { entries: [...shared, ...reindexed].slice(0, size), singles: shared.length > 0 && shared.every(isSingle) }
}
