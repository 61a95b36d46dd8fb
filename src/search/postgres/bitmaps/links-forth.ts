/**
 * Orders and facets by what the matches link to, from columns of the linked objects: there are far fewer of these than matches, so
 * the matches are counted by their links first.
 */
import type { Queryable } from '../../../platform/postgres/db.ts'
import { createYielder, mapYielding } from '../../../platform/process/cooperative-yield.ts'
import type { FacetCounts } from '../../plan/plan.ts'
import { type CountedText, numberedCounts, parseIntegers } from '../query/facets/facet-sets.ts'
import { clearBit, hasBit, type NumberColumn, placeOf } from './column.ts'
import type { FacetSetCache, Matches, Side } from './links-back.ts'

/** Matches that link to objects that have changed: PostgreSQL puts them in their places. They are taken out of the bits. */
export function takeChanged({ since }: Side, targets: NumberColumn, matches: Matches, most: number): number[] | null {
  const changed = new Set(since.changed)
  const isChanged = targets.numbers.map((id) => id !== 0 && changed.has(id))
  if (!isChanged.includes(true)) return []
  const places: number[] = []
  for (let place = 0; place < targets.placeOf.length; place++) {
    if (!isChanged[targets.placeOf[place] as number] || !hasBit(matches.bits, place)) continue
    if (places.push(place) > most) return null
  }
  for (const place of places) clearBit(matches.bits, place)
  return places.map((place) => matches.table.ids[place] as number)
}

/** By place of a linked object in its column: the rank of its value, where the caller may read it; 0: none. */
export async function ranksOfTargets({ table, bits, values }: Side, targets: NumberColumn): Promise<Int32Array> {
  const rankOf = (id: number): number => {
    const place = id === 0 ? -1 : placeOf(table.ids, id)
    if (place === -1 || !hasBit(bits, place)) return 0
    return values.numbers[values.placeOf[place] as number] as number
  }
  return Int32Array.from(await mapYielding(targets.numbers, rankOf, createYielder()))
}

/** How many matches link to an object with each value, given how many have each set of links. null: there is no room. */
export async function countTargets(
  db: Queryable,
  sets: FacetSetCache,
  { table, bits, values, since }: Side,
  { counted, places }: { readonly counted: CountedText; readonly places: { links: number; values: number } },
): Promise<FacetCounts | null> {
  const [linkSets, numbers] = [parseIntegers(counted.values), parseIntegers(counted.counts)]
  const links = await sets.members(db, places.links, linkSets)
  const changed = new Map(since.rows.map((row) => [row.id, row.values ?? 0]))
  const valueSets = [...values.numbers.slice(1), ...changed.values()].filter((set) => set !== 0)
  const labels = await sets.members(db, places.values, Int32Array.from(valueSets))
  if (!links || !labels) return null
  const counts = new Int32Array(labels.values.length)
  /** By label: the last set of links that it was counted for, and its place in the list. */
  const last = new Int32Array(counts.length).fill(-1)
  const yielder = createYielder()
  for (const [index, set] of linkSets.entries()) {
    for (const member of links.of(set)) {
      const id = links.values[member] as number
      const place = placeOf(table.ids, id)
      const value =
        changed.get(id) ??
        (place !== -1 && hasBit(bits, place) ? (values.numbers[values.placeOf[place] as number] as number) : 0)
      if (value === 0) continue
      for (const label of labels.of(value)) {
        if (last[label] === index) continue
        last[label] = index
        counts[label] = (counts[label] as number) + (numbers[index] as number)
      }
    }
    if (yielder.due()) await yielder.yield()
  }
  return numberedCounts(labels, counts)
}
