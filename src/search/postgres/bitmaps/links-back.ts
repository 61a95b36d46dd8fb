/**
 * Orders and facets by objects that link to the matches, from columns of these objects: the sets of their links, and their values
 * (facets) or the ranks of their values (orders). One walk through them takes the place of a look-up for each match.
 */
import type { Queryable } from '../../../platform/postgres/db.ts'
import { createYielder } from '../../../platform/process/cooperative-yield.ts'
import type { FacetCounts, Which } from '../../plan/plan.ts'
import { type createFacetSetCache, type FacetSetMembers, numberedCounts } from '../query/facets/facet-sets.ts'
import { clearBit, hasBit, type NumberColumn, type ObjectTable, placeOf } from './column.ts'
import type { ChangedSide } from './linking-since.ts'
import { type IdOrder, idsByRanks, type PartOfOrder } from './page-groups.ts'

/** Objects at the other end of a link: as far as the caller may see them, without changed ones. */
export interface Side {
  readonly table: ObjectTable
  readonly bits: Uint32Array
  /** Sets of their values, or the ranks of their values. */
  readonly values: NumberColumn
  readonly since: ChangedSide
}

/** Objects that link to the matches, with the sets of their links. */
export interface Linking extends Side {
  readonly links: NumberColumn
  readonly members: FacetSetMembers
}

export interface Matches {
  readonly table: ObjectTable
  readonly bits: Uint32Array
}

export type FacetSetCache = ReturnType<typeof createFacetSetCache>

/** The places of the objects that the sets of links lead to and that match, by the place of the set in its column. */
function placesOf({ links, members }: Linking, matches: Matches): (set: number) => readonly number[] {
  const known: (readonly number[] | undefined)[] = new Array(links.numbers.length)
  return (set) => {
    const before = known[set]
    if (before) return before
    const places = targetsOf(members, links.numbers[set] as number, matches)
    known[set] = places
    return places
  }
}

/** The places of matches that a set leads to. */
function targetsOf({ values, of }: FacetSetMembers, set: number, { table, bits }: Matches): number[] {
  const places: number[] = []
  for (const member of of(set)) {
    const place = placeOf(table.ids, values[member] as number)
    if (place !== -1 && hasBit(bits, place)) places.push(place)
  }
  return places
}

export interface BackPage {
  readonly which: Which
  readonly descending: boolean
  readonly ids: IdOrder
  readonly from: number
  readonly to: number
}

/** Matches that changed objects link to, or did: PostgreSQL puts them in their places. They are taken out of the bits. */
export function takeAffected({ table, links, members, since }: Linking, matches: Matches): number[] {
  const affected = new Set<number>()
  const add = (set: number): void => {
    for (const place of targetsOf(members, set, matches)) affected.add(place)
  }
  for (const id of since.changed) {
    const place = placeOf(table.ids, id)
    const set = place === -1 ? 0 : (links.placeOf[place] as number)
    if (set !== 0) add(links.numbers[set] as number)
  }
  for (const row of since.rows) if (row.links !== null) add(row.links)
  for (const place of affected) clearBit(matches.bits, place)
  return [...affected].map((place) => matches.table.ids[place] as number)
}

/** The matches of a page, by the least or the greatest rank of the objects that link to each. */
export async function idsByLinking(linking: Linking, matches: Matches, page: BackPage): Promise<PartOfOrder | null> {
  const ranks = await ranksOf(linking, matches, page.which)
  return idsByRanks(matches.bits, matches.table, { ...page, keys: ranks, rankOf: null })
}

/** By match: the rank that counts; 0: none. */
async function ranksOf(linking: Linking, matches: Matches, which: Which): Promise<Int32Array> {
  const { bits, links, values } = linking
  const decides = (rank: number, other: number): boolean =>
    other === 0 || (which === 'greatest' ? rank > other : rank < other)
  const bySet = new Int32Array(links.numbers.length)
  await eachBit(bits, (place) => {
    const set = links.placeOf[place] as number
    const rank = values.numbers[values.placeOf[place] as number] as number
    if (set !== 0 && rank !== 0 && decides(rank, bySet[set] as number)) bySet[set] = rank
  })
  const ranks = new Int32Array(matches.table.ids.length)
  const places = placesOf(linking, matches)
  const yielder = createYielder()
  for (let set = 1; set < bySet.length; set++) {
    const rank = bySet[set] as number
    if (rank === 0) continue
    for (const place of places(set)) if (decides(rank, ranks[place] as number)) ranks[place] = rank
    if (yielder.due()) await yielder.yield()
  }
  return ranks
}

/** The highest number of linking objects, and of pairs of a match and a value, that are counted in memory. */
const mostCounted = 500_000

/**
 * How many of the matches are linked to by an object with each value; `place`: of the values in documents. null: there are too many.
 */
export async function countLinking(
  db: Queryable,
  sets: FacetSetCache,
  linking: Linking,
  { matches, place }: { readonly matches: Matches; readonly place: number },
): Promise<FacetCounts | null> {
  const { bits, links, values, members, since } = linking
  if (linking.table.ids.length > mostCounted) return null
  const pairs = new Set<number>()
  await eachBit(bits, (at) => {
    const [set, value] = [links.placeOf[at] as number, values.placeOf[at] as number]
    if (set !== 0 && value !== 0) pairs.add(set * values.numbers.length + value)
  })
  const changed = since.rows.flatMap((row) =>
    row.links !== null && row.values !== null ? [[row.links, row.values]] : [],
  )
  const valueSets = Int32Array.from([...values.numbers.slice(1), ...changed.map(([, value]) => value as number)])
  const labels = await sets.members(db, place, valueSets)
  if (!labels) return null
  const counts = new Int32Array(labels.values.length)
  // A match counts once for a value, however many objects with it link there.
  const seen = new Set<number>()
  const count = (places: readonly number[], value: number): void => {
    for (const label of labels.of(value)) {
      for (const target of places) {
        const key = target * counts.length + label
        if (seen.has(key)) continue
        seen.add(key)
        counts[label] = (counts[label] as number) + 1
      }
    }
  }
  const places = placesOf(linking, matches)
  const yielder = createYielder()
  for (const pair of pairs) {
    const value = pair % values.numbers.length
    count(places((pair - value) / values.numbers.length), values.numbers[value] as number)
    if (seen.size > mostCounted) return null
    if (yielder.due()) await yielder.yield()
  }
  for (const [set, value] of changed) count(targetsOf(members, set as number, matches), value as number)
  return numberedCounts(labels, counts)
}

/** Words of bits that are processed before other work gets its turn. */
const stretch = 256

async function eachBit(bits: Uint32Array, act: (place: number) => void): Promise<void> {
  const yielder = createYielder()
  for (let start = 0; start < bits.length; start += stretch) {
    const end = Math.min(bits.length, start + stretch)
    for (let index = start; index < end; index++) {
      for (let word = bits[index] as number; word !== 0; word &= word - 1) {
        act((index << 5) + 31 - Math.clz32(word & -word))
      }
    }
    if (yielder.due()) await yielder.yield()
  }
}
