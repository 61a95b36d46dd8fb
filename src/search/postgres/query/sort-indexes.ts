/**
 * Indexes in the order of sort keys, made when somebody first sorts a large result by them: then its pages, however
 * deep, are read along the index. Nothing is made for orders that nobody asks for, so imports do not pay for them.
 */
import type { PoolClient } from 'pg'
import type { Logger } from 'pino'
import { cutShort, type Db } from '../../../platform/db.ts'
import { outsideLifetimes } from '../../../platform/lifetime.ts'
import type { SearchField } from '../../plan/fields.ts'
import { sortKeySql } from './order.ts'
import type { PostgresPlan } from './postgres-plan.ts'

/** Each costs time at every save. */
const mostIndexes = 24
/** Advisory lock: one process makes one index at a time. */
const buildLock = 7_310_042

export function createSortIndexes({ db, log }: { db: Db; log: Logger }) {
  /** Orders that were looked at by this process: there, being made, or refused. */
  const seen = new Set<string>()
  let building: Promise<void> = Promise.resolve()
  let closed = false
  /** The connection on which something is waited for that may take long. */
  let busy: PoolClient | null = null
  const atLength = async (client: PoolClient, statement: string, values: unknown[] = []): Promise<void> => {
    if (closed) throw new Error('the service stops')
    busy = client
    try {
      await client.query(statement, values)
    } finally {
      busy = null
    }
  }

  return {
    /** Notes that a large result was sorted this way. Returns at once. */
    wanted(plan: PostgresPlan): void {
      const order = indexOf(plan)
      if (!order || seen.has(order.name) || closed) return
      seen.add(order.name)
      building = outsideLifetimes(() =>
        building.then(() => (closed ? undefined : build(db, log, order, atLength))),
      ).catch((error: unknown) => {
        seen.delete(order.name)
        if (!closed) log.warn({ err: error, index: order.name }, 'an index for sorting could not be made')
      })
    },

    /** Resolves when no index is being made. */
    async idle(): Promise<void> {
      await building
    },

    /** Ends what is being made: the next large result sorted this way asks for it again. */
    async close(): Promise<void> {
      closed = true
      await cutShort(db, () => busy, building)
    },
  }
}

interface SortIndex {
  readonly name: string
  readonly columns: string
  readonly predicate: string
}

/** The index that the first sort key could use; null where there is one anyway or none could help. */
function indexOf(plan: PostgresPlan): SortIndex | null {
  const key = plan.sort[0]
  if (!key || (key.field.by !== 'field' && key.field.by !== 'standard')) return null
  const sql = sortKeySql(key.field, plan).replaceAll('d.', '')
  // Whoever sees the values of some objects only sorts by something else.
  if (key.field.by === 'field' && !isOpen(key.field.field, plan)) return null
  if (sql === 'null::bytea' || sql.startsWith('case ')) return null
  const direction = key.descending ? ' desc nulls last' : ''
  const type = key.field.by === 'field' ? key.field.field.column.table.root.id : null
  const slots = [...sql.matchAll(/(far)?_keys\[(\d+)\]/g)].map(([, far = '', slot]) => `${far}${slot}`).join('_')
  const part = key.field.by === 'field' && key.field.end ? '_end' : ''
  return {
    name: `search_sort_${type ?? 'all'}_${slots}${part}${key.descending ? '_desc' : ''}`,
    columns: `(${sql})${direction}, id`,
    predicate: type === null ? '' : ` where objecttype = ${type}`,
  }
}

function isOpen(field: SearchField, { vision }: PostgresPlan): boolean {
  const { target } = field.column
  return vision.column(field) === 'always' && (target === null || vision.titles(target) === 'all')
}

type AtLength = (client: PoolClient, statement: string, values?: unknown[]) => Promise<void>

async function build(db: Db, log: Logger, { name, columns, predicate }: SortIndex, atLength: AtLength): Promise<void> {
  const client = await db.connect()
  try {
    // Building waits for all older transactions; other statements need not wait for the building.
    await client.query('set lock_timeout = 0')
    await atLength(client, 'select pg_advisory_lock($1)', [buildLock])
    const { rows } = await client.query<{ name: string; valid: boolean }>(
      `select c.relname as name, i.indisvalid as valid from pg_index i join pg_class c on c.oid = i.indexrelid
       where i.indrelid = 'search_document'::regclass and c.relname like 'search\\_sort\\_%'`,
    )
    const existing = rows.find((row) => row.name === name)
    if (existing?.valid || rows.length >= mostIndexes) return
    // Left behind by a process that was killed while it made it.
    if (existing) await atLength(client, `drop index concurrently ${name}`)
    const started = Date.now()
    try {
      await atLength(client, `create index concurrently ${name} on search_document (${columns})${predicate}`)
    } catch (error) {
      // Half of an index costs as much at each save as a whole one. Who comes next removes what cannot be removed at once.
      await client.query('set lock_timeout = 500')
      await client.query(`drop index if exists ${name}`).catch(() => {})
      throw error
    }
    await atLength(client, 'analyze search_document')
    log.info({ index: name, ms: Date.now() - started }, 'made an index for sorting')
  } finally {
    // Gives the lock and the setting back, whatever state the connection is in.
    client.release(true)
  }
}
