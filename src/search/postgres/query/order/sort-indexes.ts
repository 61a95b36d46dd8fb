/**
 * Indexes in the order of sort keys, created by a job when a caller first sorts a large result by them: then its pages, however
 * deep, are read along the index. Unused orders get no index, so they do not slow down imports.
 */
import type { Logger } from 'pino'
import type { Jobs } from '../../../../jobs/service.ts'
import { outsideDeadlines } from '../../../../platform/limits/deadline.ts'
import type { Db, Queryable } from '../../../../platform/postgres/db.ts'
import type { SearchField } from '../../../plan/fields.ts'
import { type Building, building } from '../../index/building.ts'
import type { PostgresPlan } from '../access/postgres-plan.ts'
import { isLong, sortKeySql } from './order.ts'
import { headSql } from './sort-values.ts'

/** The highest number of indexes. Each costs time at every save. */
const mostIndexes = 24
const job = 'search.sort-index'
/** The cause of a failure (a full disk, a transaction that never ends) mostly still exists at the next attempt. */
const maxAttempts = 5

/** Milliseconds. */
const outdatedAfter = 5000

export interface SortIndexesOptions {
  readonly db: Db
  readonly log: Logger
  readonly jobs: Pick<Jobs, 'enqueue'>
}

/** Requests the creation of indexes. */
export function createSortIndexes({ db, log, jobs }: SortIndexesOptions) {
  /** Orders that this process has requested. */
  const seen = new Set<string>()
  let asking: Promise<void> = Promise.resolve()
  /** Names of the existing indexes, as they were last read. */
  let made: { readonly names: Promise<ReadonlySet<string>>; readonly until: number } | null = null

  function names(): Promise<ReadonlySet<string>> {
    if (made && Date.now() < made.until) return made.names
    const read = outsideDeadlines(() => readNames(db))
    const own = { names: read, until: Date.now() + outdatedAfter }
    made = own
    read.catch(() => {
      if (made === own) made = null
    })
    return read
  }

  return {
    /** Whether there is an index in the order of the plan, as of a few seconds ago. */
    async has(plan: PostgresPlan): Promise<boolean> {
      const by = plan.sort[0]?.field.by
      if (by === 'id') return true
      if (by === 'created' || by === 'modified') return plan.fieldVisibility.whole
      const order = indexOf(plan)
      return order !== null && (await names()).has(order.name)
    },

    /** Notes that a large result was sorted in this order. Returns at once. */
    wanted(plan: PostgresPlan): void {
      const order = indexOf(plan)
      if (!order || seen.has(order.name)) return
      seen.add(order.name)
      asking = outsideDeadlines(() =>
        asking
          .then(() =>
            db.transaction((tx) => jobs.enqueue(tx, job, order, { key: `${job}:${order.name}`, maxAttempts })),
          )
          .catch((error: unknown) => {
            seen.delete(order.name)
            log.warn({ err: error, index: order.name }, 'an index for sorting could not be asked for')
          }),
      )
    },

    forget(): void {
      seen.clear()
      made = null
    },

    /** Resolves when all requests are queued. */
    idle: (): Promise<void> => asking,
  }
}

async function readNames(db: Db): Promise<ReadonlySet<string>> {
  const existing = await readIndexes(db)
  return new Set(existing.filter(({ valid }) => valid).map(({ name }) => name))
}

interface Existing {
  readonly name: string
  readonly valid: boolean
}

async function readIndexes(db: Queryable): Promise<readonly Existing[]> {
  const { rows } = await db.query<Existing>(
    `select c.relname as name, i.indisvalid as valid from pg_index i join pg_class c on c.oid = i.indexrelid
     where i.indrelid = 'search_document'::regclass and c.relname like 'search\\_sort\\_%'`,
  )
  return rows
}

/** Registers the job. */
export function registerSortIndexes({ db, log, jobs }: { db: Db; log: Logger; jobs: Pick<Jobs, 'register'> }): void {
  jobs.register<SortIndex>(job, (order, { signal }) => makeSortIndex({ db, log }, order, signal), 'standard')
}

/** Creates the index, unless it exists or there are enough. An index that is being created when `signal` aborts is removed. */
export function makeSortIndex(
  { db, log }: { db: Db; log: Logger },
  order: SortIndex,
  signal: AbortSignal,
): Promise<void> {
  return building(db, signal, (site) => build(site, log, order))
}

export interface SortIndex {
  readonly name: string
  readonly columns: string
  readonly predicate: string
}

/** The index that the first sort key could use; null if that order has a permanent index, or if none could help. */
export function indexOf(plan: PostgresPlan): SortIndex | null {
  const key = plan.sort[0]
  if (!key || (key.field.by !== 'field' && key.field.by !== 'standard')) return null
  if (key.field.path) return null
  if (
    key.field.by === 'field' &&
    (key.field.steps || key.field.others || key.field.width || key.field.digits !== undefined)
  )
    return null
  const whole = sortKeySql(key.field, plan).text.replaceAll('d.', '')
  // A caller who sees the values of some objects only sorts by another expression.
  if (key.field.by === 'field' && !isOpen(key.field.field, plan)) return null
  if (whole === 'null::bytea' || whole.startsWith('case ')) return null
  const long = isLong(key.field)
  const sql = long ? headSql(whole) : whole
  const direction = key.descending ? ' desc nulls last' : ''
  const type = key.field.by === 'field' ? key.field.field.column.table.root.id : null
  const slots = [...whole.matchAll(/(far)?_keys\[(\d+)\]/g)].map(([, far = '', slot]) => `${far}${slot}`).join('_')
  const part = key.field.by === 'field' && key.field.end ? '_end' : ''
  return {
    name: `search_sort_${type ?? 'all'}_${slots}${part}${long ? '_head' : ''}${key.descending ? '_desc' : ''}`,
    columns: `(${sql})${direction}, id`,
    predicate: type === null ? '' : ` where objecttype = ${type}`,
  }
}

function isOpen(field: SearchField, { fieldVisibility }: PostgresPlan): boolean {
  const { target } = field.column
  return fieldVisibility.column(field) === 'always' && (target === null || fieldVisibility.titles(target) === 'all')
}

async function build({ on, atLength }: Building, log: Logger, { name, columns, predicate }: SortIndex): Promise<void> {
  const rows = await readIndexes(on)
  const existing = rows.find((row) => row.name === name)
  if (existing?.valid || rows.length >= mostIndexes) return
  // Left behind by a process that was killed while it created it.
  if (existing) await atLength(`drop index concurrently ${name}`)
  const started = Date.now()
  try {
    await atLength(`create index concurrently ${name} on search_document (${columns})${predicate}`)
  } catch (error) {
    // Half of an index costs as much at each save as a whole one. If it cannot be removed at once, the next job removes it.
    await on.query('set lock_timeout = 500')
    await on.query(`drop index if exists ${name}`).catch(() => {})
    throw error
  }
  await atLength('analyze search_document')
  log.info({ index: name, ms: Date.now() - started }, 'made an index for sorting')
}
