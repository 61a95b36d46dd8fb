/**
 * Sets of facet values as small numbers. Objects of a collection share the same sets, so counting sets and then adding up their
 * members is much less work than counting members. A set never changes.
 */
import { hash } from 'node:crypto'
import type { Queryable } from '../../../platform/postgres/db.ts'
import type { FacetSet } from '../document/draft.ts'

/**
 * Beyond this number all are forgotten. Keeping them in order of use would make every look-up take one and a half to two times as
 * long (measured with 60,000 sets), and missing sets are read by the one statement that a batch with a new set sends anyway.
 */
const mostKnown = 60_000

export interface FacetSets {
  /** Makes sure that all these sets have numbers; at most three statements. */
  load(db: Queryable, sets: Iterable<FacetSet>): Promise<void>
  /** Forgets the numbers, because sets may have been removed since they were loaded. */
  forget(): void
  /** Number of a set that was loaded. */
  number(set: FacetSet): number
}

export function createFacetSets(): FacetSets {
  const known = new Map<string, number>()
  return {
    async load(db, sets) {
      if (known.size > mostKnown) known.clear()
      const missing = new Map<string, FacetSet>()
      for (const set of sets) if (!known.has(set.name)) missing.set(set.name, set)
      if (missing.size === 0) return
      const keys = new Map([...missing.values()].map((set) => [hash('md5', set.name), set]))
      for (const { id, key } of await intern(db, keys)) known.set((keys.get(key) as FacetSet).name, id)
    },
    forget: () => known.clear(),
    number: (set) => known.get(set.name) as number,
  }
}

async function intern(db: Queryable, keys: ReadonlyMap<string, FacetSet>): Promise<{ id: number; key: string }[]> {
  const wanted = [...keys.keys()]
  const existing = await find(db, wanted)
  const present = new Set(existing.map((row) => row.key))
  const fresh = wanted.filter((key) => !present.has(key))
  if (fresh.length === 0) return existing
  const sets = fresh.map((key) => keys.get(key) as FacetSet)
  const json = (type: 'number' | 'string') =>
    sets.map(({ members }) => (typeof members[0] === type ? JSON.stringify(members) : null))
  const { rows } = await db.query<{ id: number; key: string }>(
    `insert into search_facet_set (field, key, ids, labels)
     select field, key::uuid,
       case when ids is not null then array(select json_array_elements_text(ids::json)::bigint) end,
       case when labels is not null then array(select json_array_elements_text(labels::json)) end
     from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as x(field, key, ids, labels)
     on conflict (key) do nothing returning id, replace(key::text, '-', '') as key`,
    [sets.map((set) => set.field), fresh, json('number'), json('string')],
    'search-facet-sets-add',
  )
  if (rows.length === fresh.length) return [...existing, ...rows]
  // Another process may have inserted some of them in the meantime.
  return find(db, wanted)
}

async function find(db: Queryable, keys: readonly string[]): Promise<{ id: number; key: string }[]> {
  const { rows } = await db.query<{ id: number; key: string }>(
    `select id, replace(key::text, '-', '') as key from search_facet_set where key = any($1::uuid[])`,
    [keys],
    'search-facet-sets-find',
  )
  return rows
}
