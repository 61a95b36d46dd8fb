/**
 * Numbers and dates of all live objects of a type in memory, sorted, for those who may see the same objects together: how many
 * lie in a range is looked up, not counted. PostgreSQL would look at each of them (50 ms for 60,000), for every range anew. A
 * column is read when ranges of it were asked for that find many, and what has changed since is added to what it says (difference.ts).
 */
import type { Logger } from 'pino'
import { createByteCache } from '../../../platform/byte-cache.ts'
import type { Db } from '../../../platform/db.ts'
import { outsideLifetimes } from '../../../platform/lifetime.ts'
import { keySql } from '../slots.ts'
import { type KeyRange, partsSql } from './key-ranges.ts'
import { microseconds } from './sql.ts'

export interface SortedColumns {
  /**
   * How many objects lie in the range in the access sets that `mayRead` (which may not know); null when that is not known.
   */
  count(range: KeyRange, mayRead: (set: number) => boolean | null): RangeCount | null
  /** Sets going that the column is known, or known anew, the next time. */
  want(range: KeyRange): void
  /** Resolves when all that was set going has been read. */
  idle(): Promise<void>
}

export interface RangeCount {
  readonly count: number
  /** Objects that have a value, for whomever. */
  readonly of: number
  /** Moment of the last batch of the index that it has, in microseconds since 1970. */
  readonly asOf: number
}

/** Parts of the keys of the objects of one access set, ascending. */
interface SetOfKeys {
  readonly set: number
  readonly firsts: BigUint64Array
  readonly lasts: BigUint64Array
}

interface Column {
  /** null: there are too many objects. */
  readonly sets: readonly SetOfKeys[] | null
  readonly asOf: number
  readonly bytes: number
  /** Milliseconds since 1970. */
  readonly readAt: number
}

/** Bytes of all columns. */
const maxBytes = 16_000_000
/** Objects of a type of which columns are kept. */
const mostObjects = 500_000
/** Milliseconds until a column is read anew at the earliest, and where there are too many objects. */
const restAfter = 5000
const givenUpFor = 10 * 60_000

export function createSortedColumns({ db, log }: { db: Db; log: Logger }): SortedColumns {
  const columns = createByteCache<string, Column>({
    name: 'search_columns',
    maxBytes,
    maxEntryBytes: maxBytes,
    sizeOf: ({ bytes }) => bytes,
  })
  const reading = new Map<string, Promise<void>>()

  function read(range: KeyRange): void {
    const key = keyOf(range)
    const known = columns.get(key)
    const rest = known?.sets === null ? givenUpFor : restAfter
    if (reading.has(key) || (known && Date.now() < known.readAt + rest)) return
    const done = outsideLifetimes(() => readColumn(db, range))
      .then((column) => void columns.set(key, column))
      .catch((error: unknown) => log.warn({ err: error }, 'a column could not be read for ranges of it'))
      .finally(() => reading.delete(key))
    reading.set(key, done)
  }

  return {
    count(range, mayRead) {
      const column = columns.get(keyOf(range))
      if (!column?.sets || isReversed(range)) return null
      let [count, of] = [0, 0]
      for (const each of column.sets) {
        of += each.firsts.length
        const may = mayRead(each.set)
        if (may === null) return null
        if (may) count += within(each, range)
      }
      return { count, of, asOf: column.asOf }
    },
    want: read,
    idle: async () => void (await Promise.all(reading.values())),
  }
}

const isReversed = ({ atLeast, atMost }: KeyRange): boolean => atLeast !== null && atMost !== null && atLeast > atMost

const keyOf = ({ field, place }: KeyRange): string => `${field.column.table.root.id} ${field.kind} ${place}`

/** Nothing begins after its own end: so nothing lies on both sides of a range that does not either. */
function within({ firsts, lasts }: SetOfKeys, { atLeast, atMost }: KeyRange): number {
  const before = atLeast === null ? 0 : below(lasts, atLeast)
  const behind = atMost === null ? 0 : firsts.length - below(firsts, atMost + 1n)
  return firsts.length - before - behind
}

/** How many are smaller. */
function below(sorted: BigUint64Array, value: bigint): number {
  let [start, end] = [0, sorted.length]
  while (start < end) {
    const middle = (start + end) >> 1
    if ((sorted[middle] as bigint) < value) start = middle + 1
    else end = middle
  }
  return start
}

interface Row {
  asOf: number
  few: boolean
  set: number | null
  firsts: Buffer
  lasts: Buffer | null
}

async function readColumn(db: Db, { field, place }: KeyRange): Promise<Column> {
  const type = field.column.table.root.id
  const { first, last } = partsSql(field, 'key')
  const lasts = field.kind === 'number' ? 'null::bytea' : `string_agg(${last}, ''::bytea order by ${last})`
  const { rows } = await db.query<Row>(
    `with state as materialized (
       select ${microseconds('changed_at')} as as_of,
         (select count(*) from (select from search_document where objecttype = $1 limit $2 + 1) d) <= $2 as few
       from search_state
     )
     select state.as_of as "asOf", state.few, s.set, s.firsts, s.lasts
     from state left join (
       select access_set as set, string_agg(${first}, ''::bytea order by ${first}) as firsts, ${lasts} as lasts
       from (select d.access_set, ${keySql(place, 'd')} as key from search_document d
             where (select few from state) and d.objecttype = $1 and not d.deleted) k
       where key is not null group by access_set
     ) s on true`,
    [type, mostObjects],
  )
  const [{ asOf, few } = { asOf: 0, few: false }] = rows
  const readAt = Date.now()
  if (!few) return { sets: null, asOf, bytes: 0, readAt }
  const sets = rows.flatMap(({ set, firsts, lasts }): SetOfKeys[] => {
    if (set === null) return []
    const parts = toNumbers(firsts)
    return [{ set, firsts: parts, lasts: lasts ? toNumbers(lasts) : parts }]
  })
  const bytes = sets.reduce(
    (sum, { firsts, lasts }) => sum + firsts.byteLength + (lasts === firsts ? 0 : lasts.byteLength) + 200,
    0,
  )
  return { sets, asOf, bytes, readAt }
}

/** Eight bytes each, the highest first. */
function toNumbers(bytes: Buffer): BigUint64Array {
  const own = new Uint8Array(bytes)
  Buffer.from(own.buffer).swap64()
  return new BigUint64Array(own.buffer)
}
