/**
 * The access lexemes of an object (`access` of its document) as two small numbers. Objects of a collection share the same lexemes,
 * so searches compare the rights of a caller with sets of lexemes. The lexemes that name people have a number of their own, because
 * each owner would double the number of other sets. A set never changes.
 */
import { hash } from 'node:crypto'
import type { Queryable } from '../../../platform/postgres/db.ts'

/** Beyond this number all are forgotten, and read again by one statement. */
const mostKnown = 20_000
/** Tables of sets, each with its advisory lock: numbers ascend in the order in which they become visible. */
export const accessTables = { shared: 'search_access_set', people: 'search_people_set' } as const
const locks = { shared: 7_310_043, people: 7_310_044 } as const
export type AccessKind = keyof typeof accessTables

export interface AccessSets {
  /** Makes sure that all these have numbers; at most three statements. */
  load(db: Queryable, sets: Iterable<Buffer>): Promise<void>
  /** Forgets the numbers, because sets may have been removed since they were loaded. */
  forget(): void
  /** Number of a set that was loaded. */
  number(set: Buffer): number
}

export function createAccessSets(kind: AccessKind): AccessSets {
  const known = new Map<string, number>()
  return {
    async load(db, sets) {
      if (known.size > mostKnown) known.clear()
      const missing = new Map<string, Buffer>()
      for (const set of sets) {
        const name = nameOf(set)
        if (!known.has(name) && !missing.has(name)) missing.set(name, set)
      }
      if (missing.size === 0) return
      const names = new Map([...missing.keys()].map((name) => [hash('md5', name), name]))
      for (const { id, key } of await intern(db, kind, names, missing)) known.set(names.get(key) as string, id)
    },
    forget: () => known.clear(),
    number: (set) => known.get(nameOf(set)) as number,
  }
}

const nameOf = (set: Buffer): string => set.toString('latin1')

interface Row {
  readonly id: number
  readonly key: string
}

async function intern(
  db: Queryable,
  kind: AccessKind,
  names: ReadonlyMap<string, string>,
  sets: ReadonlyMap<string, Buffer>,
): Promise<Row[]> {
  const wanted = [...names.keys()]
  const existing = await find(db, kind, wanted)
  const present = new Set(existing.map(({ key }) => key))
  const fresh = wanted.filter((key) => !present.has(key))
  if (fresh.length === 0) return existing
  const lexemes = fresh.map((key) => JSON.stringify(lexemesOf(sets.get(names.get(key) as string) as Buffer)))
  const { rows } = await db.query<Row>(
    `with alone as materialized (select pg_advisory_xact_lock($3))
     insert into ${accessTables[kind]} (key, access)
     select key::uuid, array_to_tsvector(array(select json_array_elements_text(lexemes::json)))
     from alone, unnest($1::text[], $2::text[]) as x(key, lexemes)
     on conflict (key) do nothing returning id, replace(key::text, '-', '') as key`,
    [fresh, lexemes, locks[kind]],
    `search-sets-add-${kind}`,
  )
  if (rows.length === fresh.length) return [...existing, ...rows]
  // Another process may have inserted some of them in the meantime.
  return find(db, kind, wanted)
}

async function find(db: Queryable, kind: AccessKind, keys: readonly string[]): Promise<Row[]> {
  const { rows } = await db.query<Row>(
    `select id, replace(key::text, '-', '') as key from ${accessTables[kind]} where key = any($1::uuid[])`,
    [keys],
    `search-sets-find-${kind}`,
  )
  return rows
}

/** The lexemes of a `tsvector` in binary form, as `LexemeSet` writes it. */
function lexemesOf(set: Buffer): string[] {
  const lexemes: string[] = []
  let at = 4
  for (let left = set.readInt32BE(0); left > 0; left--) {
    const end = set.indexOf(0, at)
    lexemes.push(set.toString('utf8', at, end))
    at = end + 3 + 2 * set.readUInt16BE(end + 1)
  }
  return lexemes
}
