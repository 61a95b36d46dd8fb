/**
 * Entries are ordered by numbers with gaps between them, so that an entry can be inserted without changing its
 * neighbours. Where a gap is used up, the entries around it get new ranks: as few entries as have enough room together.
 */

/** The gap that new entries leave at the ends of a list, and after the whole list got new ranks. */
export const room = 2 ** 20
/** Limits of ranks: JavaScript numbers are exact within them, with the room of a whole list beyond. */
const lowest = -(2 ** 51)
const highest = 2 ** 51
/** The least gap between neighbours after some entries of a list got new ranks, so that this is not needed again soon. */
const least = 2 ** 8

/** Ranks of the neighbours; null: the end of the list. */
export interface Gap {
  readonly after: number | null
  readonly before: number | null
}

/** The ranks of `count` new entries in a gap: the first one and a step; null: the gap is too narrow. */
export interface Spread {
  readonly first: number
  readonly step: number
}

export function spread({ after, before }: Gap, count: number): Spread | null {
  if (after === null && before === null) return { first: 0, step: room }
  if (before === null) {
    const last = (after as number) + room * count
    return last <= highest ? { first: (after as number) + room, step: room } : null
  }
  if (after === null) {
    const first = before - room * count
    return first >= lowest ? { first, step: room } : null
  }
  const step = Math.floor((before - after) / (count + 1))
  return step >= 1 ? { first: after + step, step } : null
}

/** Entries on both sides of a gap, and the ranks of the next entries beyond them; null: there are none. */
export interface Window extends Gap {
  readonly entries: number
}

/** The new ranks for the first window with room for its entries and `count` more; null: there is no such window. */
export function widen(
  windows: readonly Window[],
  count: number,
): { readonly window: Window; readonly spread: Spread } | null {
  for (const window of windows) {
    const found = spread(window, window.entries + count)
    if (found && found.step >= least) return { window, spread: found }
  }
  return null
}
