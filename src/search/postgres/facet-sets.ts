/**
 * Facet sets in memory: the engine counts how often each set occurs among the matches, and the members are added up
 * here. Sets never change, so nothing has to be asked again; what is not known yet is read with one statement.
 */
import type { Queryable } from '../../platform/db.ts'
import type { FacetCounts } from '../plan.ts'

/** Members of all kept sets together; above that everything is forgotten and read again as needed. */
const mostMembers = 4_000_000

export interface CountedSets {
  readonly sets: Int32Array
  readonly counts: Int32Array
}

export function createFacetSetCache() {
  /** Values of all facets, each with a number. */
  let numbers = new Map<string | number, number>()
  let values: (string | number)[] = []
  /** By set: where its members stand in `members`; 0 for unknown ones. */
  let starts = new Int32Array(1024)
  let members = new Int32Array(16_384)
  let used = 1

  function forget(): void {
    numbers = new Map()
    values = []
    starts = new Int32Array(1024)
    members = new Int32Array(16_384)
    used = 1
  }

  /** Stores a set as its length and the numbers of its members. */
  function keep(set: number, list: readonly (string | number)[]): void {
    while (set >= starts.length) starts = grown(starts)
    while (used + list.length + 1 > members.length) members = grown(members)
    starts[set] = used
    members[used++] = list.length
    for (const value of list) {
      let number = numbers.get(value)
      if (number === undefined) {
        number = values.length
        numbers.set(value, number)
        values.push(value)
      }
      members[used++] = number
    }
  }

  async function load(db: Queryable, missing: readonly number[]): Promise<void> {
    const { rows } = await db.query<{ id: number; ids: string | null; labels: string[] | null }>(
      `select id, array_to_string(ids, ',') as ids, labels from search_facet_set where id = any($1::int[])`,
      [missing],
      'search-facet-sets',
    )
    for (const { id, ids, labels } of rows) keep(id, ids === null ? (labels ?? []) : ids.split(',').map(Number))
  }

  return {
    /** How many matches each value has. */
    async add(db: Queryable, { sets, counts }: CountedSets): Promise<FacetCounts> {
      if (used > mostMembers) forget()
      const missing: number[] = []
      for (const set of sets) if (!starts[set]) missing.push(set)
      if (missing.length > 0) await load(db, missing)
      const totals = new Int32Array(values.length)
      const seen: number[] = []
      for (let i = 0; i < sets.length; i++) {
        const start = starts[sets[i] as number] as number
        if (!start) continue
        const end = start + 1 + (members[start] as number)
        const count = counts[i] as number
        for (let j = start + 1; j < end; j++) {
          const member = members[j] as number
          if (totals[member] === 0) seen.push(member)
          totals[member]! += count
        }
      }
      // `values` is never changed but by adding to it.
      const [known, shown] = [values, Int32Array.from(seen)]
      const found = new Int32Array(seen.length)
      for (let i = 0; i < seen.length; i++) found[i] = totals[seen[i] as number] as number
      return { counts: found, value: (index) => known[shown[index] as number] as number | string }
    },
  }
}

function grown(array: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(array.length * 2)
  larger.set(array)
  return larger
}

/** Numbers of a text like `12,5,7`. */
export function parseIntegers(text: string | null): Int32Array {
  if (text === null || text === '') return new Int32Array(0)
  let length = 1
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) === 44) length++
  const numbers = new Int32Array(length)
  let at = 0
  let number = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === 44) {
      numbers[at++] = number
      number = 0
    } else number = number * 10 + unit - 48
  }
  numbers[at] = number
  return numbers
}
