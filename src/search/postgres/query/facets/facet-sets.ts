/**
 * Facet sets in memory: the engine counts how often each set occurs among the matches, and the counts are added up by members here.
 * Sets never change, so nothing is read twice; missing sets are read with one statement.
 */
import { observeCache, stringBytes } from '../../../../platform/memory/byte-cache.ts'
import type { Queryable } from '../../../../platform/postgres/db.ts'
import { createYielder } from '../../../../platform/process/cooperative-yield.ts'
import type { FacetCounts } from '../../../plan/plan.ts'

/** Counts of one column, as the statements return them. */
export interface CountedText {
  readonly values: string | null
  readonly counts: string | null
}

export interface CountedSets {
  readonly sets: Int32Array
  readonly counts: Int32Array
}

/** Unused sets were removed (index/prune-sets.ts) after they had been counted. */
export class SetsGone extends Error {}

/** The sets in memory. The arena is replaced as a whole, so that running code keeps consistent data. */
interface Arena {
  /** Values of all facets, each with a number. */
  readonly numbers: Map<string | number, number>
  readonly values: (string | number)[]
  /**
   * By set: position of its members in `members`; 0 for unknown ones. Pages are created on demand, because numbers are never
   * reused: after years, the existing sets may be a few among millions of numbers.
   */
  readonly starts: (Int32Array | undefined)[]
  startBytes: number
  members: Int32Array<ArrayBuffer>
  used: number
  /** Bytes of the values. */
  valueBytes: number
}

const newArena = (): Arena => ({
  numbers: new Map(),
  values: [],
  starts: [],
  startBytes: 0,
  members: new Int32Array(16_384),
  used: 1,
  valueBytes: 0,
})

const bytesOf = ({ startBytes, members, valueBytes }: Arena): number => startBytes + members.byteLength + valueBytes

/** The number of sets of a page, as a number of bits. */
const pageBits = 10
const withinPage = (1 << pageBits) - 1

/** Position of the members of a set; 0: the set is not in memory. */
const startOf = ({ starts }: Arena, set: number): number => starts[set >> pageBits]?.[set & withinPage] ?? 0

function unknownOf(arena: Arena, sets: Iterable<number>): number[] {
  const unknown: number[] = []
  for (const set of sets) if (startOf(arena, set) === 0) unknown.push(set)
  return unknown
}

function setStart(arena: Arena, set: number, start: number): void {
  const number = set >> pageBits
  while (number > arena.starts.length) arena.starts.push(undefined)
  let page = arena.starts[number]
  if (!page) {
    page = new Int32Array(1 << pageBits)
    arena.starts[number] = page
    arena.startBytes += page.byteLength
  }
  page[set & withinPage] = start
}

/** `onForget`: called when sets are dropped, because results that are cached elsewhere still refer to them. */
export function createFacetSetCache({
  mostBytes,
  onForget,
}: {
  readonly mostBytes: number
  readonly onForget: () => void
}) {
  const current = {
    arena: newArena(),
    /** Facets whose values had no room, by their place in documents, with the number of their sets at that time. */
    tooMany: new Map<number, number>(),
    /** Sets that were counted and no longer exist. */
    gone: new Set<number>(),
  }
  observeCache('facet_sets', current, {
    sizeOf: ({ arena }) => ({ bytes: bytesOf(arena), entries: arena.values.length }),
    clear(all) {
      all.arena = newArena()
      all.tooMany.clear()
      all.gone.clear()
    },
  })

  /** Stores a set as its length and the numbers of its members. */
  function keep(arena: Arena, set: number, list: readonly (string | number)[]): void {
    if (startOf(arena, set) > 0) return
    while (arena.used + list.length + 1 > arena.members.length) arena.members = grown(arena.members)
    setStart(arena, set, arena.used)
    arena.members[arena.used++] = list.length
    for (const value of list) {
      let number = arena.numbers.get(value)
      if (number === undefined) {
        number = arena.values.length
        arena.numbers.set(value, number)
        arena.values.push(value)
        arena.valueBytes += 60 + stringBytes(value)
      }
      arena.members[arena.used++] = number
    }
  }

  /** Whether there was room for all of it, and the number of bytes it took. */
  async function load(db: Queryable, arena: Arena, missing: readonly number[]) {
    const yielder = createYielder()
    let taken = 0
    for (let start = 0; start < missing.length; start += loadedAtOnce) {
      if (bytesOf(arena) > mostBytes) return { fits: false, taken }
      const { rows } = await db.query<{ id: number; ids: string | null; labels: string[] | null }>(
        `select id, array_to_string(ids, ',') as ids, labels from search_facet_set where id = any($1::int[])`,
        [missing.slice(start, start + loadedAtOnce)],
        'search-facet-sets',
      )
      for (const { id, ids, labels } of rows) {
        const before = bytesOf(arena)
        keep(arena, id, ids === null ? (labels ?? []) : ids.split(',').map(Number))
        taken += bytesOf(arena) - before
        if (yielder.due()) await yielder.yield()
      }
    }
    return { fits: bytesOf(arena) <= mostBytes, taken }
  }

  function startAnew(): void {
    current.arena = newArena()
    onForget()
  }

  /** The arena with all these sets; null: there is no room for them. */
  async function loaded(db: Queryable, place: number, sets: Int32Array): Promise<Arena | null> {
    if (sets.length > fewer * (current.tooMany.get(place) ?? Number.POSITIVE_INFINITY)) return null
    for (let attempt = 1; attempt <= mostAttempts; attempt++) {
      const { arena } = current
      const missing = unknownOf(arena, sets)
      const { fits, taken } = await load(db, arena, missing)
      if (fits) {
        const gone = unknownOf(arena, missing)
        for (const set of gone) keep(arena, set, [])
        noteGone(gone)
        return arena
      }
      if (current.arena === arena) startAnew()
      if (taken <= mostBytes / 2) continue
      current.tooMany.set(place, sets.length)
      return null
    }
    return null
  }

  /**
   * Numbers are never reused: removed sets count as sets without members when they are counted again.
   * @throws {SetsGone}
   */
  function noteGone(sets: Iterable<number>): void {
    const fresh = [...sets].filter((set) => !current.gone.has(set))
    if (fresh.length === 0) return
    if (current.gone.size > mostGone) current.gone.clear()
    for (const set of fresh) current.gone.add(set)
    throw new SetsGone()
  }

  return {
    /**
     * The number of matches with each value; null: there is no room for its values. One facet may use at most half of the memory.
     * `place`: of the facet in documents.
     * @throws {SetsGone} once for each removed set: then the sets must be counted again.
     */
    async add(db: Queryable, place: number, { sets, counts }: CountedSets): Promise<FacetCounts | null> {
      const arena = await loaded(db, place, sets)
      if (!arena) return null
      const { members } = arena
      const totals = new Int32Array(arena.values.length)
      const seen: number[] = []
      for (let i = 0; i < sets.length; i++) {
        const start = startOf(arena, sets[i] as number)
        const end = start + 1 + (members[start] as number)
        const count = counts[i] as number
        for (let j = start + 1; j < end; j++) {
          const member = members[j] as number
          if (totals[member] === 0) seen.push(member)
          totals[member]! += count
        }
      }
      const found = new Int32Array(seen.length)
      for (let i = 0; i < seen.length; i++) found[i] = totals[seen[i] as number] as number
      return new NumberedCounts(arena.values, Int32Array.from(seen), found)
    },

    /**
     * The members of sets, as numbers of values; null: there is no room for them.
     * @throws {SetsGone} as `add` does.
     */
    async members(db: Queryable, place: number, sets: Int32Array): Promise<FacetSetMembers | null> {
      const arena = await loaded(db, place, sets)
      if (!arena) return null
      const of = (set: number): Int32Array => {
        const start = startOf(arena, set)
        return arena.members.subarray(start + 1, start + 1 + (arena.members[start] as number))
      }
      return { values: arena.values, of }
    },

    /**
     * Notes that these sets no longer exist.
     * @throws {SetsGone} as `add` does.
     */
    noteGone,
  }
}

export interface FacetSetMembers {
  /** By their numbers. */
  readonly values: readonly (string | number)[]
  of(set: number): Int32Array
}

/** Values by their numbers in `known`, which only grows; null: the numbers are the values. */
class NumberedCounts implements FacetCounts {
  readonly known: readonly (string | number)[] | null
  readonly numbers: Int32Array
  readonly counts: Int32Array

  constructor(known: readonly (string | number)[] | null, numbers: Int32Array, counts: Int32Array) {
    this.known = known
    this.numbers = numbers
    this.counts = counts
  }

  get bytes(): number {
    return this.counts.byteLength + this.numbers.byteLength
  }

  /** An arrow function, so that it can be used without the object. */
  readonly value = (index: number): string | number => {
    const number = this.numbers[index] as number
    return this.known ? (this.known[number] as string | number) : number
  }
}

/** Counts of numbers that are values themselves. */
/** Counts by the numbers of values. */
export function numberedCounts({ values }: FacetSetMembers, counts: Int32Array): FacetCounts {
  const numbers = Int32Array.from(counts.keys()).filter((number) => (counts[number] as number) > 0)
  return new NumberedCounts(
    values,
    numbers,
    numbers.map((number) => counts[number] as number),
  )
}

export const directCounts = ({ sets, counts }: CountedSets): FacetCounts => new NumberedCounts(null, sets, counts)

/**
 * Adds changes to earlier counts; null when their numbers differ, because everything was forgotten meanwhile.
 */
export function sumOf(before: FacetCounts, change: FacetCounts): FacetCounts | null {
  if (!(before instanceof NumberedCounts && change instanceof NumberedCounts)) return null
  if (before.known !== change.known) return null
  const changes = new Map<number, number>()
  for (const [index, number] of change.numbers.entries()) changes.set(number, change.counts[index] as number)
  const numbers: number[] = []
  const counts: number[] = []
  const add = (number: number, count: number): void => {
    if (count <= 0) return
    numbers.push(number)
    counts.push(count)
  }
  for (const [index, number] of before.numbers.entries()) {
    add(number, (before.counts[index] as number) + (changes.get(number) ?? 0))
    changes.delete(number)
  }
  for (const [number, count] of changes) add(number, count)
  return new NumberedCounts(before.known, Int32Array.from(numbers), Int32Array.from(counts))
}

/** Sets that one statement reads. Between two statements the remaining room is checked. */
const loadedAtOnce = 5000
/** The part of the sets that is tried again after they had no room. */
const fewer = 0.7
/** The highest number of removed sets that are remembered. */
const mostGone = 10_000
/** How often sets are loaded while sets of other facets take the memory. */
const mostAttempts = 3

function grown(array: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(array.length * 2)
  larger.set(array)
  return larger
}

/** Numbers of a text like `12,-5,7`. */
export function parseIntegers(text: string | null): Int32Array {
  if (text === null || text === '') return new Int32Array(0)
  let length = 1
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) === 44) length++
  const numbers = new Int32Array(length)
  let at = 0
  let number = 0
  let sign = 1
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === 44) {
      numbers[at++] = sign * number
      number = 0
      sign = 1
    } else if (unit === 45) sign = -1
    else number = number * 10 + unit - 48
  }
  numbers[at] = sign * number
  return numbers
}
