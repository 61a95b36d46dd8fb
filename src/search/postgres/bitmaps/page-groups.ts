/** Pages in an order by a few keys that many matches share: the matches with the same key are a group. */
import { createYielder } from '../../../platform/process/cooperative-yield.ts'
import { hasBit, type ObjectTable } from './column.ts'

/** Matches with the same key. */
export interface Group {
  /** The number of matches with keys before this one. */
  readonly before: number
  readonly count: number
}

/** The direction of the ids, where these come next in the order; null: other keys come before them. */
export type IdOrder = 'ascending' | 'descending' | null

export interface PageOfGroups {
  /** Places in the order of all matches. */
  readonly from: number
  readonly to: number
  readonly ids: IdOrder
  /** The groups with matches between these places. */
  readonly groups: readonly Group[]
  /** By object: its key, and by key: the index of its group; -1: the key is not on the page. */
  readonly keys: Int32Array
  readonly groupOf: Int32Array
}

export interface PartOfOrder {
  readonly ids: readonly number[]
  /** The place of the first of them in the order of all matches. */
  readonly from: number
}

/** The highest number of objects with the same key that are sorted by further keys. */
const mostAlike = 2000
/** Words of bits that are processed before other work gets its turn. */
const stretch = 1024

/** The matches of a page, perhaps with some before and behind. null: too many have the same key. */
export async function idsOfPage(
  bits: Uint32Array,
  table: ObjectTable,
  page: PageOfGroups,
): Promise<PartOfOrder | null> {
  const ranges = page.groups.map((group) => rangeIn(group, page))
  const sum = ranges.reduce((total, { from, to }) => total + to - from, 0)
  if (page.ids === null && sum > mostAlike) return null
  const first = page.groups[0]
  if (!first) return { ids: [], from: page.from }
  const ids = await idsWithin(bits, table, page, ranges)
  return { ids, from: page.ids === null ? first.before : Math.max(first.before, page.from) }
}

export interface RankedPage extends Pick<PageOfGroups, 'from' | 'to' | 'ids'> {
  readonly descending: boolean
  /** By object: its rank, or what has a rank. */
  readonly keys: Int32Array
  /** By key: its rank, 0: none; null: the keys are the ranks. */
  readonly rankOf: Int32Array | null
}

/** The matches of a page by ranks. Objects without a rank come last. */
export async function idsByRanks(
  bits: Uint32Array,
  table: ObjectTable,
  { keys, rankOf, descending, ...page }: RankedPage,
): Promise<PartOfOrder | null> {
  const highest = highestOf(rankOf ?? keys)
  const counts = new Int32Array(highest + 1)
  for (let place = 0; place < keys.length; place++) {
    if (!hasBit(bits, place)) continue
    const key = keys[place] as number
    const rank = rankOf ? (rankOf[key] as number) : key
    counts[rank] = (counts[rank] as number) + 1
  }
  const groups: Group[] = []
  const byRank = new Int32Array(highest + 1).fill(-1)
  let before = 0
  for (let step = 1; step <= highest + 1; step++) {
    const rank = step > highest ? 0 : descending ? highest + 1 - step : step
    const count = counts[rank] as number
    if (count > 0 && before < page.to && before + count > page.from) byRank[rank] = groups.push({ before, count }) - 1
    before += count
  }
  const groupOf = rankOf ? rankOf.map((rank) => byRank[rank] as number) : byRank
  return idsOfPage(bits, table, { ...page, groups, keys, groupOf })
}

function highestOf(ranks: Int32Array): number {
  let highest = 0
  for (let index = 0; index < ranks.length; index++)
    if ((ranks[index] as number) > highest) highest = ranks[index] as number
  return highest
}

interface Range {
  readonly from: number
  readonly to: number
}

/** The places of the wanted objects within a group, counted by ascending ids. */
function rangeIn({ before, count }: Group, { ids, from, to }: PageOfGroups): Range {
  if (ids === null) return { from: 0, to: count }
  const first = Math.max(0, from - before)
  const end = Math.min(count, to - before)
  return ids === 'ascending' ? { from: first, to: end } : { from: count - end, to: count - first }
}

async function idsWithin(
  bits: Uint32Array,
  { ids }: ObjectTable,
  { keys, groupOf }: PageOfGroups,
  ranges: readonly Range[],
): Promise<number[]> {
  const passed = new Int32Array(ranges.length)
  const found: number[] = []
  const yielder = createYielder()
  for (let start = 0; start < bits.length; start += stretch) {
    const end = Math.min(bits.length, start + stretch)
    for (let index = start; index < end; index++) {
      for (let word = bits[index] as number; word !== 0; word &= word - 1) {
        const place = (index << 5) + 31 - Math.clz32(word & -word)
        const group = groupOf[keys[place] as number] as number
        if (group === -1) continue
        const at = passed[group] as number
        passed[group] = at + 1
        const { from, to } = ranges[group] as Range
        if (at >= from && at < to) found.push(ids[place] as number)
      }
    }
    if (yielder.due()) await yielder.yield()
  }
  return found
}
