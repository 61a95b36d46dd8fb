/**
 * Conditions of access as numbers of sets (index/access-sets.ts). Comparing forty lexemes with each of 7,000 matches takes
 * PostgreSQL five times as long as looking each one's number up in a list (measured with a caller of 20 pools).
 */
import type { Logger } from 'pino'
import { outsideDeadlines } from '../../../../platform/limits/deadline.ts'
import { createByteCache, stringBytes } from '../../../../platform/memory/byte-cache.ts'
import type { Db } from '../../../../platform/postgres/db.ts'
import { numbersText } from '../../../../platform/postgres/literals.ts'
import type { Expression } from '../../../../rights/service.ts'
import { type AccessKind, accessTables } from '../../index/access-sets.ts'
import { lateQuery } from '../sql/sql.ts'
import type { Node } from '../sql/tsquery.ts'
import { type AskedMember, type AskedSets, askedOf, askedSets } from './access.ts'
import { memberBitsSql, memberSql } from './member.ts'

/** Access sets up to a number, with the result of one condition for each of them. */
export interface KnownSets {
  /** The condition. */
  readonly query: string
  readonly upTo: number
  /** A bit for each number: whether the set fulfils it. Numbered as PostgreSQL's `get_bit` does. */
  readonly bits: Buffer
  /** Numbers of the sets that fulfil the condition, where they are few. */
  readonly few: readonly number[] | null
}

export interface KnownSetsOf {
  readonly is: 'sets'
  readonly kind: AccessKind
  readonly key: string
  readonly sets: KnownSets
  /** The column by which documents are compared when their set is new or not in memory. */
  readonly by: 'access' | 'lexemes'
}

/** A condition that is composed of conditions on the sets of one kind. */
export type AccessSetCondition =
  | KnownSetsOf
  | AskedMember
  | { readonly is: 'and' | 'or'; readonly of: readonly AccessSetCondition[] }
  | { readonly is: 'not'; readonly of: AccessSetCondition }

export interface AccessSets {
  /**
   * The condition by sets that are in memory; null when a part of it is missing. A call starts to read missing parts in the
   * background, for the next time.
   */
  known(expression: Expression): AccessSetCondition | null
  /** The same for lexemes that shared sets have. */
  knownLexemes(node: Node): KnownSetsOf | null
}

export interface AccessSetReader extends AccessSets {
  /** Resolves when all started reading is done. */
  idle(): Promise<void>
}

interface Entry {
  readonly sets: KnownSets
  /** The time of the next check for new sets, in milliseconds since 1970. */
  readonly until: number
}

/**
 * The highest number of sets that are listed, so that an index on them can answer. Planning with more of them takes PostgreSQL
 * longer than looking up the bit of each match: 6,700 numbers 13 ms.
 */
const mostListed = 200
/** Milliseconds until new sets are looked for. Until then, documents with a new set are compared by their lexemes. */
const outdatedAfter = 2000

/** `maxBytes`: of all entries together. */
export function createKnownSets({ db, log, maxBytes }: { db: Db; log: Logger; maxBytes: number }): AccessSetReader {
  const entries = createByteCache<string, Entry>({
    name: 'search_access_sets',
    maxBytes,
    sizeOf: ({ sets }) => sets.bits.length + 8 * (sets.few?.length ?? 0) + stringBytes(sets.query),
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

  function known(asked: AskedSets): AccessSetCondition | null {
    if (asked.is === 'member') return asked
    if (asked.is === 'not') {
      const of = known(asked.of)
      return of && { is: 'not', of }
    }
    if (asked.is !== 'sets') {
      // Calls `known` for all parts, so that all missing ones are read at once.
      const of = asked.of.map(known)
      return isWhole(of) ? { is: asked.is, of } : null
    }
    return setsOf(asked, 'access')
  }

  function setsOf({ kind, query, key }: Extract<AskedSets, { is: 'sets' }>, by: KnownSetsOf['by']): KnownSetsOf | null {
    const entry = entries.get(key)
    if (!entry || Date.now() > entry.until) read(key, kind, query, entry)
    return entry ? { is: 'sets', kind, key, sets: entry.sets, by } : null
  }

  return {
    known: (expression) => known(askedSets(expression)),
    knownLexemes: (node) => setsOf(askedOf('shared', node), 'lexemes'),
    idle: async () => void (await Promise.all(reading.values())),
  }
}

const isWhole = (list: readonly (AccessSetCondition | null)[]): list is readonly AccessSetCondition[] =>
  !list.includes(null)

/** Sets never change: only sets that are new since the last reading are compared. */
async function readSets(db: Db, kind: AccessKind, query: string, before: Entry | undefined): Promise<Entry> {
  const known = before?.sets ?? { query, upTo: 0, bits: Buffer.alloc(0), few: [] }
  const { rows } = await db.query<{ ids: string; upTo: number }>(
    `with newest as materialized (select coalesce(max(id), 0) as id from ${accessTables[kind]})
     select array_to_string(array(
       select id from ${accessTables[kind]}
       where access @@ $1::tsquery and id > $2 and id <= (select id from newest)), ',') as ids, id as "upTo"
     from newest`,
    [query, known.upTo],
    `search-sets-fitting-${kind}`,
  )
  const { ids = '', upTo = 0 } = rows[0] ?? {}
  const until = Date.now() + outdatedAfter
  if (upTo <= known.upTo) return { sets: known, until }
  return { sets: withSets(known, ids === '' ? [] : ids.split(',').map(Number), upTo), until }
}

function withSets({ query, bits: before, few }: KnownSets, ids: readonly number[], upTo: number): KnownSets {
  const bits = Buffer.alloc((upTo >>> 3) + 1)
  before.copy(bits)
  for (const id of ids) bits[id >>> 3] = (bits[id >>> 3] as number) | (1 << (id & 7))
  return { query, upTo, bits, few: few && few.length + ids.length <= mostListed ? [...few, ...ids] : null }
}

const columns: Record<AccessKind, string> = { shared: 'access_set', people: 'people_set' }

/**
 * The condition on documents: by their numbers, by their lexemes where these are new or not known. `value` gives what stands for
 * one; `inline`: in the text of the statement, which shall not become long.
 */
export function knownSetsSql(
  known: AccessSetCondition,
  alias: string,
  value: (value: string | number | Buffer, type: string) => string,
  inline = false,
): string {
  if (known.is === 'member') return inline ? memberSql(known.member, alias) : memberBitsSql(known.member, alias, value)
  if (known.is === 'not') return `not ${knownSetsSql(known.of, alias, value, inline)}`
  if (known.is !== 'sets') {
    const parts = known.of.map((each) => knownSetsSql(each, alias, value, inline))
    return `(${parts.join(` ${known.is} `)})`
  }
  const { query, upTo, bits, few } = known.sets
  const set = `${alias}.${columns[known.kind]}`
  const fits = `${alias}.${known.by} @@ ${lateQuery(value(query, 'text'))}`
  const last = value(upTo, 'int')
  return few
    ? `(${set} = any(${value(numbersText(few), 'int[]')}) or (${set} > ${last} or ${set} = 0) and ${fits})`
    : `case when ${set} between 1 and ${last} then get_bit(${value(bits, 'bytea')}, ${set}) = 1 else ${fits} end`
}

/** Whether a set fulfils the condition; null: it is new, or has no number. */
export function isAmong({ upTo, bits }: KnownSets, set: number): boolean | null {
  if (set === 0 || set > upTo) return null
  return ((bits[set >>> 3] as number) & (1 << (set & 7))) !== 0
}
