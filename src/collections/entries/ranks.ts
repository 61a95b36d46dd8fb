/**
 * Entries are in the order of numbers with room between them, so that one goes between two others without a change of these.
 * Where the room is used up, the entries around are spread anew: as few of them as have enough room together.
 */

/** Room that new entries leave at the ends of a list, and after all of it was spread. */
export const room = 2 ** 20
/** Ranks stay in here: a number of JavaScript holds them exactly, with the room of a whole list beyond. */
const lowest = -(2 ** 51)
const highest = 2 ** 51
/** Room that is left between neighbours where some of a list are spread, so that it is not soon done again. */
const least = 2 ** 8

/** Ranks of the neighbours; null: the list ends there. */
export interface Gap {
  readonly after: number | null
  readonly before: number | null
}

/** The ranks of `count` new entries in a gap, as one for the first and a step; null: they have no room there. */
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

/** How the first of the windows is spread that has room for its entries and `count` more; null: none has. */
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
