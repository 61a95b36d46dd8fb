import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { AppError } from '../../../platform/errors.ts'
import type { Queryable } from '../../../platform/postgres/db.ts'

/**
 * Large backlogs. Keeping the indexes of lexemes up to date takes seven eighths of PostgreSQL's time for a document: 17 s of 19 s
 * for the 89,520 objects of the Tate collection, against 3.5 s for building them once at the end. So while more objects wait than
 * are indexed (a first import), these indexes are dropped. Searches stay right meanwhile, only slower. If a crash or a stop leaves
 * them missing, the next indexer continues and builds them.
 */
export const lexemeIndexes = [
  {
    name: 'search_document_lexemes_idx',
    create: 'on search_document using gin (lexemes) with (gin_pending_list_limit = 2048)',
  },
  {
    name: 'search_nested_lexemes_idx',
    create: 'on search_nested using gin (lexemes) with (gin_pending_list_limit = 1024)',
  },
] as const

/** Smaller backlogs are indexed without dropping indexes. */
const leastBacklog = 3000
/** Batches between two checks of the backlog. */
const lookEvery = 8
/** Milliseconds that a bulk load waits for more entries between two full batches: an import fills the queue in bursts. */
const patience = 1500
/** Milliseconds that dropping an index waits for searches that read it: all other searches wait behind it meanwhile. */
const longestHold = 100
/** Milliseconds between two checks for more entries. */
const lookPause = 50

export type Bulk = Awaited<ReturnType<typeof openBulk>>

/** The bulk load of one run of the indexer; continues one that a crash or a stop interrupted. */
export async function openBulk(db: Queryable, log: Logger) {
  let active = (await missingIndexes(db)).length > 0
  let batches = 0
  let patienceLeft = patience

  return {
    /** To be called before each batch of `size` entries. Only the indexer writes documents. */
    async before(size: number, fullSize: number): Promise<void> {
      if (size < fullSize) return
      patienceLeft = patience
      if (active || batches++ % lookEvery !== 0 || !(await isBacklogLarge(db))) return
      for (const { name } of lexemeIndexes) active = (await putAside(db, name)) || active
    },

    /**
     * Whether it pays to wait for `more` entries before the run ends. A steady flow of small saves does not delay the indexes
     * forever: the waiting time adds up until a batch is full again.
     */
    async awaits(more: () => Promise<boolean>): Promise<boolean> {
      const begun = performance.now()
      const until = begun + patienceLeft
      while (active && performance.now() < until) {
        if (await more()) {
          patienceLeft -= performance.now() - begun
          return true
        }
        await sleep(lookPause)
      }
      return false
    },

    /** Builds the indexes that are missing. */
    async end(): Promise<void> {
      if (!active) return
      const begun = performance.now()
      const missing = await missingIndexes(db)
      for (const { name, create } of missing) await db.query(`create index if not exists ${name} ${create}`)
      if (missing.length === lexemeIndexes.length) await db.query('update search_state set rewritten = 0')
      await db.query('analyze search_document, search_nested')
      active = false
      log.info({ ms: Math.round(performance.now() - begun) }, 'search indexes were built anew after a large backlog')
    },
  }
}

/** False when searches hold the table: then the index stays and is kept up to date. */
async function putAside(db: Queryable, name: string): Promise<boolean> {
  await db.query('begin')
  try {
    // One index at a time, so that no search can hold one table and wait for the other.
    await db.query(`set local lock_timeout = ${longestHold}`)
    await db.query(`drop index if exists ${name}`)
    await db.query('commit')
    return true
  } catch (error) {
    await db.query('rollback')
    if (error instanceof AppError && error.code === 'DatabaseLockError') return false
    throw error
  }
}

/** Whether indexes are dropped or being built: until they exist, searches for words read all documents. */
export async function isBulkOpen(db: Queryable): Promise<boolean> {
  return (await missingIndexes(db)).length > 0
}

/** The dropped indexes. */
export async function missingIndexes(db: Queryable) {
  const { rows } = await db.query<{ name: string }>(
    'select name from unnest($1::text[]) as t(name) where to_regclass(name) is null',
    [lexemeIndexes.map((index) => index.name)],
    'search-indexes-missing',
  )
  const missing = new Set(rows.map((row) => row.name))
  return lexemeIndexes.filter((index) => missing.has(index.name))
}

/**
 * Whether more objects wait to be indexed for the first time than are indexed already. Objects that wait again (a reindex, a save
 * of an indexed object) can be searched meanwhile, so they do not count here. The waiting entries are counted first, which is quick
 * and mostly decides.
 */
async function isBacklogLarge(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ large: boolean }>(
    `select waiting >= $1 and waiting > indexed and (
       select count(*) from (
         select distinct q.system_object_id from index_queue q
         where not exists (select from search_document d where d.id = q.system_object_id) limit indexed + $1
       ) as unseen
     ) >= greatest($1, indexed + 1) as large
     from (select count(*) as waiting from (select from index_queue limit 1000000) as q) as w
     cross join lateral (select count(*) as indexed from (select from search_document limit waiting + 1) as d) as i`,
    [leastBacklog],
  )
  return rows[0]?.large ?? false
}
