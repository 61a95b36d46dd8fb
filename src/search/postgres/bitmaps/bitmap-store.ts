/**
 * Columns of object types in memory. A column is read once enough searches with many matches would have used it. It has the state
 * of the index at the moment of its table; later changes are read from PostgreSQL (since.ts). When there are too many of them, the
 * table is read anew.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { currentDeadline, outsideDeadlines } from '../../../platform/limits/deadline.ts'
import { createShares } from '../../../platform/limits/shares.ts'
import { createByteCache } from '../../../platform/memory/byte-cache.ts'
import type { Shares } from '../../../platform/memory/shares.ts'
import type { Db } from '../../../platform/postgres/db.ts'
import { bytesOfColumn, bytesOfTable, type Column, type ObjectTable } from './column.ts'
import { readTable } from './read.ts'

/** A column that a search could use. */
export interface ColumnRequest<C extends Column = Column> {
  /** Equal for equal columns of a type. */
  readonly key: string
  /** The number of requests after which it is read; `large`: by searches with very many matches. */
  readonly times: { readonly usual: number; readonly large: number }
  /** null: there are too many objects. */
  read(db: Db, table: ObjectTable): Promise<C | null>
}

export interface BitmapStore {
  /** null: the type has no table yet, or it is due to be read again. */
  table(type: number): ObjectTable | null
  /** null: it has not been read. */
  column<C extends Column>(table: ObjectTable, wanted: ColumnRequest<C>): C | null
  /** The same, but waits a short time for a column that is just being read. */
  soon<C extends Column>(table: ObjectTable, wanted: ColumnRequest<C>): Promise<C | null>
  /** A column that is computed from others in memory; null: it cannot be computed. */
  made<C extends Column>(table: ObjectTable, key: string, make: () => Promise<C | null>): Promise<C | null>
  /**
   * Reads a column for all that wait for it: one column after the other, callers in turns, and to its end, even if nobody waits any
   * more. Does nothing where the caller, or all together, want too many already.
   */
  load(table: ObjectTable, wanted: ColumnRequest): Promise<void>
  /** Columns by their keys. Those that are not in memory, or not `good` enough, are read together. */
  readEach<C extends Column>(
    table: ObjectTable,
    keys: readonly string[],
    good: (column: C) => boolean,
    read: (missing: readonly string[]) => Promise<ReadonlyMap<string, C>>,
  ): Promise<ReadonlyMap<string, C>>
  /**
   * Asks for columns that would have helped a search with `large` or fewer matches. Columns that were asked for often enough are
   * read.
   */
  want(type: number, columns: readonly ColumnRequest[], found: 'usual' | 'large'): void
  /** Marks a table as out of date, because too many changes happened since. */
  outdate(table: ObjectTable): void
  /** Forgets everything, because the database was replaced by another one. */
  forget(): void
  /** Resolves when all started reading is done. */
  idle(): Promise<void>
}

/** A column. `null`: an entry of the table itself, or of a column that could not be read. */
interface Kept {
  readonly column: Column | null
  readonly bytes: number
}

/** A column that waits to be read, and the number of requests for it. */
interface Waiting {
  readonly name: string
  readonly type: number
  readonly wanted: ColumnRequest
  times: number
}

interface Known {
  /** null: there are too many objects. */
  readonly table: ObjectTable | null
  /** Part of the keys of its columns. */
  readonly number: number
  /** Milliseconds since 1970. */
  readonly readAt: number
  /** Milliseconds that the reading of all of it took. */
  took: number
  outdated: boolean
}

/** The pause before a table is read anew: at least so many milliseconds, and so many times the duration of the previous reading. */
const rest = { least: 5000, times: 20 }
/** The highest number of columns that wait to be read. Beyond it, requests are dropped and must be repeated. */
const mostWaiting = 50
/** The highest number of columns that one caller waits for. */
const mostOfOne = 10
/** Milliseconds that a search waits for a column. */
const patience = 300
/** Milliseconds until a type with too many objects is tried again. */
const givenUpFor = 10 * 60_000

const nameOf = (type: number, { key }: ColumnRequest): string => `${type} ${key}`

/** Bytes of all columns, and of the counters of columns that have not been read. */
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
  /** How often searches asked for columns that have not been read. */
  const asked = createByteCache<string, { times: number }>({
    name: 'search_columns_asked',
    maxBytes: memory.columnsAsked,
    sizeOf: () => 8,
  })
  const types = new Map<number, Known>()
  const waiting = new Map<string, Waiting>()
  const loading = new Map<string, Promise<void>>()
  const loads = createShares(1, undefined, 0)
  let current: { readonly name: string; readonly done: Promise<void> } | null = null
  let numbers = 0
  let reading: Promise<void> = Promise.resolve()
  let isReading = false

  const keyOf = ({ number }: Known, { key }: ColumnRequest): string => `${number} ${key}`

  function isDue(known: Known): boolean {
    const least = known.table ? Math.max(rest.least, rest.times * known.took) : givenUpFor
    return (known.outdated || !known.table) && Date.now() >= known.readAt + least
  }

  /** Reads columns one after the other, the most requested first. Searches go on meanwhile. */
  function read(type: number, wanted: ColumnRequest): void {
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
        // A column that could not be read is not requested again by each search, but only with the next table.
        cache.set(keyOf(known, wanted), { column: null, bytes: 0 })
        const column = await wanted.read(db, known.table)
        known.took += Date.now() - begun
        if (column) cache.set(keyOf(known, wanted), { column, bytes: bytesOfColumn(column) })
      } catch (error) {
        log.warn({ err: error }, 'a column could not be read for searches')
      }
    })
  }

  function loadOne(key: string, table: ObjectTable, wanted: ColumnRequest): Promise<void> {
    return outsideDeadlines(async () => {
      try {
        const column = await wanted.read(db, table)
        if (column) cache.set(key, { column, bytes: bytesOfColumn(column) })
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

  function isTimely(type: number, wanted: ColumnRequest, times: number): boolean {
    if (times <= 1) return true
    const name = nameOf(type, wanted)
    const before = asked.get(name)?.times ?? 0
    asked.set(name, { times: before + 1 })
    return before + 1 >= times
  }

  function columnOf<C extends Column>(table: ObjectTable, wanted: ColumnRequest<C>): C | null {
    const known = types.get(table.type)
    if (known?.table !== table) return null
    return (cache.get(keyOf(known, wanted))?.column as C | null | undefined) ?? null
  }

  return {
    table(type) {
      const known = types.get(type)
      if (!known?.table || known.outdated) return null
      if (cache.get(`${known.number}`)) return known.table
      // There was no room for it any more; it is read again, but with pauses.
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
    async load(table, wanted) {
      const known = types.get(table.type)
      if (known?.table !== table) return
      const key = keyOf(known, wanted)
      const { who } = currentDeadline()
      const other = loading.get(key)
      if (other || loading.size >= mostWaiting || loads.of(who) >= mostOfOne) return other
      const loaded = loads.run(who, () => loadOne(key, table, wanted)).finally(() => loading.delete(key))
      loading.set(key, loaded)
      await loaded
    },
    async readEach<C extends Column>(
      table: ObjectTable,
      keys: readonly string[],
      good: (column: C) => boolean,
      read: (missing: readonly string[]) => Promise<ReadonlyMap<string, C>>,
    ): Promise<ReadonlyMap<string, C>> {
      const known = types.get(table.type)
      const found = new Map<string, C>()
      const nameOf = (key: string): string => `${known?.number} ${key}`
      const isKept = known?.table === table
      for (const key of keys) {
        const column = isKept ? (cache.get(nameOf(key))?.column as C | null | undefined) : null
        if (column && good(column)) found.set(key, column)
      }
      const missing = keys.filter((key) => !found.has(key))
      if (missing.length === 0) return found
      for (const [key, column] of await read(missing)) {
        found.set(key, column)
        if (isKept) cache.set(nameOf(key), { column, bytes: bytesOfColumn(column) })
      }
      return found
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
    async idle() {
      await reading
      await Promise.all(loading.values())
    },
  }
}
