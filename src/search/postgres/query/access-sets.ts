/**
 * Conditions on who may see an object as numbers of sets (index/access-sets.ts). To compare forty lexemes with each of 7,000 matches
 * takes PostgreSQL five times as long as to look each one's number up in a list (measured with a caller of 20 pools).
 */
import type { Logger } from 'pino'
import { outsideDeadlines } from '../../../platform/limits/deadline.ts'
import { createByteCache, stringBytes } from '../../../platform/memory/byte-cache.ts'
import type { Db } from '../../../platform/postgres/db.ts'
import type { Expression } from '../../../rights/service.ts'
import { type AccessKind, accessTables } from '../index/access-sets.ts'
import { type AskedSets, askedSets } from './access.ts'

/** Sets among which some fulfil a condition: those up to a number. */
export interface KnownSets {
  /** The condition. */
  readonly query: string
  /** Numbers of the sets that fulfil it, ascending, as PostgreSQL reads an array. */
  readonly ids: string
  readonly upTo: number
}

/** A condition, put together from those on the sets of one kind. */
export type KnownAccess =
  | { readonly is: 'sets'; readonly kind: AccessKind; readonly sets: KnownSets }
  | { readonly is: 'and' | 'or'; readonly of: readonly KnownAccess[] }
  | { readonly is: 'not'; readonly of: KnownAccess }

export interface AccessSets {
  /**
   * What is known of the sets that fulfil a condition, at once; null when not all of it is yet, or there are too many sets to be
   * of use. Asking for it sets going that more is known the next time.
   */
  known(expression: Expression): KnownAccess | null
}

export interface AccessSetReader extends AccessSets {
  /** Resolves when all that was set going has been read. */
  idle(): Promise<void>
}

interface Entry {
  /** null: there are too many. */
  readonly sets: KnownSets | null
  readonly count: number
  /** When new ones are looked for, in milliseconds since 1970. */
  readonly until: number
}

/** Bytes of all lists. */
const maxBytes = 8_000_000
/** A longer list takes longer to be sent and read than it saves. */
const mostSets = 20_000
/** Milliseconds until new sets are looked for; what has one of these is compared by its lexemes until then. */
const outdatedAfter = 2000
/** The same where there are too many: all would have to be compared again. */
const givenUpFor = 10 * 60_000

export function createKnownSets({ db, log }: { db: Db; log: Logger }): AccessSetReader {
  const entries = createByteCache<string, Entry>({
    name: 'search_access_sets',
    maxBytes,
    sizeOf: ({ sets }) => (sets ? stringBytes(sets.ids) + stringBytes(sets.query) : 0),
  })
  const reading = new Map<string, Promise<void>>()

  function read(key: string, kind: AccessKind, query: string, before: Entry | undefined): void {
    if (reading.has(key)) return
    const done = outsideDeadlines(() => readSets(db, kind, query, before))
      .then((entry) => void entries.set(key, entry))
      .catch((error: unknown) => log.warn({ err: error }, 'the sets that a caller may see could not be read'))
      .finally(() => reading.delete(key))
    reading.set(key, done)
  }

  function known(asked: AskedSets): KnownAccess | null {
    if (asked.is === 'not') {
      const of = known(asked.of)
      return of && { is: 'not', of }
    }
    if (asked.is !== 'sets') {
      // All of them, so that what is not known yet is read at once.
      const of = asked.of.map(known)
      return isWhole(of) ? { is: asked.is, of } : null
    }
    const { kind, query } = asked
    const key = `${kind} ${query}`
    const entry = entries.get(key)
    if (!entry || Date.now() > entry.until) read(key, kind, query, entry)
    return entry?.sets ? { is: 'sets', kind, sets: entry.sets } : null
  }

  return {
    known: (expression) => known(askedSets(expression)),
    idle: async () => void (await Promise.all(reading.values())),
  }
}

const isWhole = (list: readonly (KnownAccess | null)[]): list is readonly KnownAccess[] => !list.includes(null)

/** Sets never change: only those are compared that came since. */
async function readSets(db: Db, kind: AccessKind, query: string, before: Entry | undefined): Promise<Entry> {
  const known = before?.sets ?? { query, ids: '{}', upTo: 0 }
  const { rows } = await db.query<{ ids: string | null; count: number; upTo: number | null }>(
    `with newest as materialized (select coalesce(max(id), 0) as id from ${accessTables[kind]})
     select array_agg(s.id order by s.id)::text as ids, count(*)::int as count, (select id from newest) as "upTo"
     from ${accessTables[kind]} s
     where s.access @@ $1::tsquery and s.id > $2 and s.id <= (select id from newest)`,
    [query, known.upTo],
    `search-sets-fitting-${kind}`,
  )
  const { ids = null, count: more = 0, upTo = null } = rows[0] ?? {}
  const count = more + (before?.sets ? before.count : 0)
  if (count > mostSets) return { sets: null, count, until: Date.now() + givenUpFor }
  const until = Date.now() + outdatedAfter
  if (upTo === null || upTo <= known.upTo) return { sets: known, count, until }
  return { sets: { query, ids: joined(known.ids, ids ?? '{}'), upTo }, count, until }
}

/** Two arrays as PostgreSQL writes them. */
function joined(a: string, b: string): string {
  return `{${[a, b]
    .map((each) => each.slice(1, -1))
    .filter((each) => each !== '')
    .join()}}`
}

const columns: Record<AccessKind, string> = { shared: 'access_set', people: 'people_set' }

/**
 * The condition on documents: by their numbers, by their lexemes where these are new or not known. `value` gives what stands for
 * one.
 */
export function knownSetsSql(
  known: KnownAccess,
  alias: string,
  value: (value: string | number, type: string) => string,
): string {
  if (known.is === 'not') return `not ${knownSetsSql(known.of, alias, value)}`
  if (known.is !== 'sets') {
    const parts = known.of.map((each) => knownSetsSql(each, alias, value))
    return `(${parts.join(` ${known.is} `)})`
  }
  const { query, ids, upTo } = known.sets
  const set = `${alias}.${columns[known.kind]}`
  const fits = `${alias}.access @@ ${value(query, 'tsquery')}`
  const last = value(upTo, 'int')
  return `(${set} = any(${value(ids, 'int[]')}) or (${set} > ${last} or ${set} = 0) and ${fits})`
}

const memberships = new WeakMap<KnownSets, Int32Array>()

/** Whether a set fulfils the condition; null: it is new, or not known at all. */
export function isAmong(known: KnownSets, set: number): boolean | null {
  if (set === 0 || set > known.upTo) return null
  const members = memberships.get(known) ?? membersOf(known)
  let [start, end] = [0, members.length]
  while (start < end) {
    const middle = (start + end) >>> 1
    if ((members[middle] as number) < set) start = middle + 1
    else end = middle
  }
  return members[start] === set
}

function membersOf(known: KnownSets): Int32Array {
  const members = known.ids === '{}' ? new Int32Array() : Int32Array.from(known.ids.slice(1, -1).split(','), Number)
  memberships.set(known, members)
  return members
}
