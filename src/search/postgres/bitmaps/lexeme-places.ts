/** Which objects of a type have each of some lexemes. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Deadline } from '../../../platform/limits/deadline.ts'
import type { Queryable } from '../../../platform/postgres/db.ts'
import { createYielder } from '../../../platform/process/cooperative-yield.ts'
import { ofObjecttype } from '../document/lexemes.ts'
import { lexically } from '../lexical.ts'
import { microseconds } from '../query/sql/sql.ts'
import { allOf, lexeme, tsquery } from '../query/sql/tsquery.ts'
import type { BitmapStore, ColumnRequest } from './bitmap-store.ts'
import { type LexemeColumn, newBits, type ObjectTable, placeOf, setBit } from './column.ts'
import { atOnce } from './requests.ts'

/** The highest number of lexemes that one statement looks up. */
const mostAtOnce = 500
/**
 * Of a type with fewer objects than this, those with a lexeme are found by the type too: a million objects of another type may have
 * the same word, and each of them would be read.
 */
const fewObjects = 20_000
/** Milliseconds that a search without a deadline waits for one lexeme. */
const longestWait = 60_000
const keyBeginning = 'lexeme '

export interface FoundPlaces {
  readonly columns: ReadonlyMap<string, LexemeColumn>
  /** Moment of the last batch of the index when some were read just now, in microseconds since 1970; null: none were. */
  readonly readAt: number | null
}

/**
 * By lexeme. `most`: the number of objects beyond which the rest of them is not read; so many are enough for whoever asks.
 *
 * A document that has not changed since the moment of the table has the lexemes that it had then, whenever they are read.
 */
export async function placesOf(
  bitmaps: BitmapStore,
  db: Queryable,
  table: ObjectTable,
  { lexemes, most }: { readonly lexemes: Iterable<string>; readonly most: number },
): Promise<FoundPlaces> {
  const keys = Array.from(lexemes, (text) => keyBeginning + text)
  const good = (column: LexemeColumn): boolean =>
    column.kind === 'matches' || column.whole || column.places.length >= most
  let readAt: number | null = null
  const found = await bitmaps.readEach(table, keys, good, async (missing) => {
    const all = new Map<string, LexemeColumn>()
    for (let start = 0; start < missing.length; start += mostAtOnce) {
      readAt = await readPlaces(db, table, { keys: missing.slice(start, start + mostAtOnce), most }, all)
    }
    return all
  })
  return { columns: new Map([...found].map(([key, column]) => [key.slice(keyBeginning.length), column])), readAt }
}

/**
 * Reads the rest of the lexemes of which only some objects are known, until the deadline is over: one lexeme after the other, since
 * each may take a second where most of a million objects have it. The next request goes on where this one has ended.
 */
export async function completePlaces(
  bitmaps: BitmapStore,
  table: ObjectTable,
  lexemes: Iterable<string>,
  deadline: Deadline,
): Promise<void> {
  for (const text of lexemes) {
    const wanted = wholeLexeme(text)
    const known = bitmaps.column(table, wanted)
    if (known?.kind !== 'places' || known.whole) continue
    if (deadline.over) return
    await waitFor(bitmaps.load(table, wanted), deadline)
  }
}

const wholeLexeme = (text: string): ColumnRequest<LexemeColumn> => ({
  key: keyBeginning + text,
  times: atOnce,
  read: (db, table) =>
    lexically(db, async (tx) => {
      const found = new Map<string, LexemeColumn>()
      await readPlaces(tx, table, { keys: [keyBeginning + text], most: table.ids.length }, found)
      return found.get(keyBeginning + text) ?? null
    }),
})

/** Waits for work that goes on when the deadline is over. */
async function waitFor(work: Promise<void>, deadline: Deadline): Promise<void> {
  const begun = performance.now()
  const ended = new AbortController()
  const forget = deadline.onOver(() => ended.abort())
  const over = sleep(Math.min(deadline.left, longestWait), undefined, { ref: false, signal: ended.signal })
  try {
    await Promise.race([work, over.catch(() => {})])
  } finally {
    ended.abort()
    forget()
    deadline.spend(performance.now() - begun)
  }
}

/** Returns the moment of the last batch of the index. */
async function readPlaces(
  db: Queryable,
  { type, ids }: ObjectTable,
  { keys, most }: { readonly keys: readonly string[]; readonly most: number },
  into: Map<string, LexemeColumn>,
): Promise<number> {
  const ofType = ids.length < fewObjects ? [lexeme(ofObjecttype(type))] : []
  const queries = keys.map((key) => tsquery(allOf([lexeme(key.slice(keyBeginning.length)), ...ofType])))
  const { rows } = await db.query<{ n: number; ids: Buffer; asOf: null } | { n: null; ids: null; asOf: number }>(
    `select null as n, null as ids, ${microseconds('changed_at')} as "asOf" from search_state
     union all select w.n::int, m.ids, null from unnest($1::text[]) with ordinality w(query, n) cross join lateral (
       select string_agg(int4send(f.id::int), ''::bytea) as ids from (
         select d.id from search_document d
         where d.lexemes @@ w.query::tsquery and d.objecttype = $2 and not d.deleted limit $3) f) m
     where m.ids is not null`,
    [queries, type, most + 1],
    'search-lexeme-places',
  )
  const yielder = createYielder()
  for (const key of keys) into.set(key, { kind: 'places', places: new Uint32Array(0), whole: true })
  let readAt = 0
  for (const { n, ids: read, asOf } of rows) {
    if (n === null) {
      readAt = asOf
      continue
    }
    const places = new Uint32Array(read.length / 4)
    let count = 0
    for (let start = 0; start < read.length; start += stretch) {
      count = addPlaces(read, start, ids, places, count)
      if (yielder.due()) await yielder.yield()
    }
    into.set(keys[n - 1] as string, columnOf(places.subarray(0, count), ids.length, places.length <= most))
  }
  return readAt
}

/** Bytes of ids that are looked up before other work gets its turn. */
const stretch = 16_384

/** Adds the positions of the ids of one stretch. Returns the number of all so far. */
function addPlaces(read: Buffer, start: number, ids: Uint32Array, places: Uint32Array, before: number): number {
  const end = Math.min(read.length, start + stretch)
  let count = before
  for (let at = start; at < end; at += 4) {
    const place = placeOf(ids, read.readInt32BE(at))
    if (place !== -1) places[count++] = place
  }
  return count
}

function columnOf(places: Uint32Array, objects: number, whole: boolean): LexemeColumn {
  if (!whole || places.length < objects / 32) return { kind: 'places', places: places.slice().sort(), whole }
  const bits = newBits(objects)
  for (const place of places) setBit(bits, place)
  return { kind: 'matches', bits }
}
