/**
 * Columns of object types in memory. They are read when searches have found much by them, and are what the index was at the moment of
 * their table; what has changed since is looked at in PostgreSQL (since.ts). When that is too much, the table is read anew.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { outsideDeadlines } from '../../../platform/limits/deadline.ts'
import { createByteCache } from '../../../platform/memory/byte-cache.ts'
import type { Shares } from '../../../platform/memory/shares.ts'
import type { Db } from '../../../platform/postgres/db.ts'
import { bytesOfColumn, bytesOfTable, type Column, type ObjectTable } from './column.ts'
import { readTable } from './read.ts'

/** A column that a search could use. */
export interface Wanted<C extends Column = Column> {
  /** Equal for equal columns of a type. */
  readonly key: string
  /** Times that it has to be asked for until it is read; `large`: by searches that found very much. */
  readonly times: { readonly usual: number; readonly large: number }
  /** null: there are too many objects. */
  read(db: Db, table: ObjectTable): Promise<C | null>
}

export interface BitmapStore {
  /** null: nothing is known of the type, or it is to be read anew. */
  table(type: number): ObjectTable | null
  /** null: it is not known. */
  column<C extends Column>(table: ObjectTable, wanted: Wanted<C>): C | null
  /** The same; what is being read at this moment is waited for, but not long. */
  soon<C extends Column>(table: ObjectTable, wanted: Wanted<C>): Promise<C | null>
  /** A column that is made of what is in memory; null: it cannot be. */
  made<C extends Column>(table: ObjectTable, key: string, make: () => Promise<C | null>): Promise<C | null>
  /** These would have helped a search that found `large` or less: what of them was asked for often enough is read. */
  want(type: number, columns: readonly Wanted[], found: 'usual' | 'large'): void
  /** Too much has changed since. */
  outdate(table: ObjectTable): void
  /** The database is another one. */
  forget(): void
  /** Resolves when all that was set going has been read. */
  idle(): Promise<void>
}

/** A column; null: what goes with the objects of a table, or a column that is not there. */
interface Kept {
  readonly column: Column | null
  readonly bytes: number
}

/** A column that is to be read, and how often it was asked for since. */
interface Waiting {
  readonly name: string
  readonly type: number
  readonly wanted: Wanted
  times: number
}

interface Known {
  /** null: there are too many objects. */
  readonly table: ObjectTable | null
  /** In the keys of its columns. */
  readonly number: number
  /** Milliseconds since 1970. */
  readonly readAt: number
  /** Milliseconds that all of it took to be read. */
  took: number
  outdated: boolean
}

/** What is read anew waits at least so many milliseconds, and so many times as long as it took to be read. */
const rest = { least: 5000, times: 20 }
/** Columns that wait to be read; what is asked for then has to be asked for again. */
const mostWaiting = 50
/** Milliseconds that a search waits for a column. */
const patience = 300
/** Milliseconds until a type of too many objects is looked at again. */
const givenUpFor = 10 * 60_000

const nameOf = (type: number, { key }: Wanted): string => `${type} ${key}`

/** Bytes of all columns, and of what is known of those that are not there. */
export type ColumnShares = Pick<Shares, 'columns' | 'columnsAsked'>

export function createBitmapStore({
  db,
  log,
  memory,
}: {
  readonly db: Db
  readonly log: Logger
  readonly memory: ColumnShares
}): BitmapStore {
  const cache = createByteCache<string, Kept>({
    name: 'search_columns',
    maxBytes: memory.columns,
    maxEntryBytes: memory.columns / 2,
    sizeOf: ({ bytes }) => bytes,
  })
  /** How often columns were asked for that are not known. */
  const asked = createByteCache<string, { times: number }>({
    name: 'search_columns_asked',
    maxBytes: memory.columnsAsked,
    sizeOf: () => 8,
  })
  const types = new Map<number, Known>()
  const waiting = new Map<string, Waiting>()
  let current: { readonly name: string; readonly done: Promise<void> } | null = null
  let numbers = 0
  let reading: Promise<void> = Promise.resolve()
  let isReading = false

  const keyOf = ({ number }: Known, { key }: Wanted): string => `${number} ${key}`

  function isDue(known: Known): boolean {
    const least = known.table ? Math.max(rest.least, rest.times * known.took) : givenUpFor
    return (known.outdated || !known.table) && Date.now() >= known.readAt + least
  }

  /** One after the other, what is asked for most often first: searches go on meanwhile. */
  function read(type: number, wanted: Wanted): void {
    const name = nameOf(type, wanted)
    const known = waiting.get(name)
    if (known) known.times++
    else if (current?.name !== name && waiting.size < mostWaiting) waiting.set(name, { name, type, wanted, times: 1 })
    if (!isReading) reading = readAll()
  }

  async function readAll(): Promise<void> {
    isReading = true
    for (let next = mostAsked(); next; next = mostAsked()) {
      const { name } = next
      waiting.delete(name)
      const done = readOne(next)
      current = { name, done }
      await done
      current = null
    }
    isReading = false
  }

  function mostAsked(): Waiting | null {
    let most: Waiting | null = null
    for (const each of waiting.values()) if (!most || each.times > most.times) most = each
    return most
  }

  function readOne({ type, wanted }: Waiting): Promise<void> {
    return outsideDeadlines(async () => {
      try {
        const known = await tableOf(type)
        if (!known.table || cache.has(keyOf(known, wanted))) return
        const begun = Date.now()
        // What could not be read is not asked for again by each search, but with the next table.
        cache.set(keyOf(known, wanted), { column: null, bytes: 0 })
        const column = await wanted.read(db, known.table)
        known.took += Date.now() - begun
        if (column) cache.set(keyOf(known, wanted), { column, bytes: bytesOfColumn(column) })
      } catch (error) {
        log.warn({ err: error }, 'a column could not be read for searches')
      }
    })
  }

  async function tableOf(type: number): Promise<Known> {
    const known = types.get(type)
    if (known && !isDue(known)) return known
    const begun = Date.now()
    const table = await readTable(db, type)
    const fits = table && bytesOfTable(table) <= memory.columns / 4 ? table : null
    const fresh = { table: fits, number: ++numbers, readAt: Date.now(), took: Date.now() - begun, outdated: false }
    types.set(type, fresh)
    if (fits) cache.set(`${fresh.number}`, { column: null, bytes: bytesOfTable(fits) })
    return fresh
  }

  function isTimely(type: number, wanted: Wanted, times: number): boolean {
    if (times <= 1) return true
    const name = nameOf(type, wanted)
    const before = asked.get(name)?.times ?? 0
    asked.set(name, { times: before + 1 })
    return before + 1 >= times
  }

  function columnOf<C extends Column>(table: ObjectTable, wanted: Wanted<C>): C | null {
    const known = types.get(table.type)
    if (known?.table !== table) return null
    return (cache.get(keyOf(known, wanted))?.column as C | null | undefined) ?? null
  }

  return {
    table(type) {
      const known = types.get(type)
      if (!known?.table || known.outdated) return null
      if (cache.get(`${known.number}`)) return known.table
      // There was no room for it any more; it is read anew, but not over and over.
      known.outdated = true
      return null
    },
    column: columnOf,
    async soon(table, wanted) {
      const known = columnOf(table, wanted)
      if (known || current?.name !== nameOf(table.type, wanted)) return known
      await Promise.race([current.done, sleep(patience, undefined, { ref: false })])
      return columnOf(table, wanted)
    },
    async made<C extends Column>(table: ObjectTable, key: string, make: () => Promise<C | null>): Promise<C | null> {
      const known = types.get(table.type)
      if (known?.table !== table) return make()
      const name = `${known.number} ${key}`
      const kept = cache.get(name)?.column as C | null | undefined
      if (kept) return kept
      const column = await make()
      if (column) cache.set(name, { column, bytes: bytesOfColumn(column) })
      return column
    },
    want(type, columns, found) {
      const known = types.get(type)
      if (known && (known.outdated || !known.table) && !isDue(known)) return
      for (const wanted of columns) {
        if (known?.table && !known.outdated && cache.has(keyOf(known, wanted))) continue
        if (isTimely(type, wanted, wanted.times[found])) read(type, wanted)
      }
    },
    outdate(table) {
      const known = types.get(table.type)
      if (known?.table === table) known.outdated = true
    },
    forget: () => types.clear(),
    idle: () => reading,
  }
}
