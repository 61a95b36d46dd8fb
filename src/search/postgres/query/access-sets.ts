/**
 * The rights of callers as numbers of access sets (index/access-sets.ts). To compare forty lexemes with each of 7,000 matches
 * takes PostgreSQL five times as long as to look each one's number up in a list (measured with a caller of 20 pools).
 */
import type { Logger } from 'pino'
import { outsideDeadlines } from '../../../platform/limits/deadline.ts'
import { createByteCache, stringBytes } from '../../../platform/memory/byte-cache.ts'
import type { Db } from '../../../platform/postgres/db.ts'
import type { Parameters } from './sql.ts'
import { lastingQuery, type Node } from './tsquery.ts'

/** Sets among which some fulfil a condition: those up to a number. */
export interface KnownSets {
  /** The condition. */
  readonly query: string
  /** Numbers of the sets that fulfil it, as PostgreSQL reads an array. */
  readonly ids: string
  readonly upTo: number
}

export interface AccessSets {
  /**
   * What is known of the sets that fulfil a condition on `access`, at once; null when nothing is yet, or there are too many
   * sets to be of use. Asking for it sets going that more is known the next time.
   */
  known(rights: Node): KnownSets | null
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
const mostSets = 5000
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

  function read(query: string, before: Entry | undefined): void {
    if (reading.has(query)) return
    const done = outsideDeadlines(() => readSets(db, query, before))
      .then((entry) => void entries.set(query, entry))
      .catch((error: unknown) => log.warn({ err: error }, 'the sets that a caller may see could not be read'))
      .finally(() => reading.delete(query))
    reading.set(query, done)
  }

  return {
    known(rights) {
      const query = lastingQuery(rights)
      const entry = entries.get(query)
      if (!entry || Date.now() > entry.until) read(query, entry)
      return entry?.sets ?? null
    },
    idle: async () => void (await Promise.all(reading.values())),
  }
}

/** Sets never change: only those are compared that came since. */
async function readSets(db: Db, query: string, before: Entry | undefined): Promise<Entry> {
  const known = before?.sets ?? { query, ids: '{}', upTo: 0 }
  const { rows } = await db.query<{ ids: string | null; count: number; upTo: number | null }>(
    `select array_agg(id) filter (where fits)::text as ids, (count(*) filter (where fits))::int as count, max(id) as "upTo"
     from (select id, access @@ $1::tsquery as fits from search_access_set where id > $2) s`,
    [query, known.upTo],
    'search-access-sets-fitting',
  )
  const { ids = null, count: more = 0, upTo = null } = rows[0] ?? {}
  const count = more + (before?.sets ? before.count : 0)
  if (count > mostSets) return { sets: null, count, until: Date.now() + givenUpFor }
  const until = Date.now() + outdatedAfter
  if (upTo === null) return { sets: known, count, until }
  return { sets: { query, ids: joined(known.ids, ids ?? '{}'), upTo }, count, until }
}

/** Two arrays as PostgreSQL writes them. */
function joined(a: string, b: string): string {
  return `{${[a, b]
    .map((each) => each.slice(1, -1))
    .filter((each) => each !== '')
    .join()}}`
}

/** The condition on documents: by their number, by their lexemes where that is new or not known. */
export function knownSetsSql({ query, ids, upTo }: KnownSets, alias: string, parameters: Parameters): string {
  const set = `${alias}.access_set`
  const fits = `${alias}.access @@ ${parameters.add(query, 'tsquery')}`
  const last = parameters.add(upTo, 'int')
  return `(${set} = any(${parameters.add(ids, 'int[]')}) or ${set} > ${last} and ${fits} or ${set} = 0 and ${fits})`
}

const memberships = new WeakMap<KnownSets, ReadonlySet<number>>()

/** Whether a set fulfils the condition; null: it is new, or not known at all. */
export function isAmong(known: KnownSets, set: number): boolean | null {
  if (set === 0 || set > known.upTo) return null
  const members = memberships.get(known) ?? new Set(known.ids.slice(1, -1).split(',').map(Number))
  memberships.set(known, members)
  return members.has(set)
}
