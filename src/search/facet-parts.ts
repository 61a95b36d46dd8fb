import type { Queryable } from '../platform/postgres/db.ts'
import type { FacetCounts } from './plan/plan.ts'

/** The number of values that are read from the database at once. */
const together = 5000

/** Values at the positions from `from` on, before `to`. */
export interface FacetPart {
  readonly from: number
  readonly to: number
  readonly value: (index: number) => number | string
}

/** The values of a facet whose counts are wanted: all at once when they are in memory, else some thousands at a time. */
export async function* partsOf(
  q: Queryable,
  { counts, value, read }: FacetCounts,
  isWanted: (count: number) => boolean = () => true,
): AsyncGenerator<FacetPart> {
  if (!read) {
    yield { from: 0, to: counts.length, value }
    return
  }
  for (let from = 0, to = 0; from < counts.length; from = to) {
    const wanted: number[] = []
    for (; to < counts.length && wanted.length < together; to++) if (isWanted(counts[to] as number)) wanted.push(to)
    const values = await read(q, wanted)
    const byIndex = new Map(wanted.map((index, place) => [index, values[place] as string]))
    yield { from, to, value: (index) => byIndex.get(index) as string }
  }
}
