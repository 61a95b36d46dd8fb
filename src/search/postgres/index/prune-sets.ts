/**
 * Removes sets (facet-sets.ts, access-sets.ts) that no document has any more, once a day. An indexer has numbers of sets in memory
 * and is about to write documents with them, so sets are never removed while a batch is written: both change the row of
 * `search_state` first. A batch that was built before sets were removed detects this by `set_removals` and is built anew
 * (target.ts). A number is never reused: for readers, a removed number is one that no document has.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Jobs } from '../../../jobs/service.ts'
import type { Db, Queryable } from '../../../platform/postgres/db.ts'
import { numbersText } from '../../../platform/postgres/literals.ts'
import { createPeriodic, type Periodic } from '../../../platform/process/periodic.ts'
import { accessTables } from './access-sets.ts'

const job = 'search.prune-sets'
const hour = 3_600_000
/** The highest number of unused sets of a kind that are held in memory. */
const mostFound = 200_000
/** Sets that are removed at once: batches of the index wait for that, 0.15 s beside thousands of changed documents. */
const removedAtOnce = 5000
/** The pause after that, in milliseconds: batches that were being built are written meanwhile. */
const rest = 1000

/** Sets that documents share: their table, and the numbers that a document `d` has. */
const kinds = [
  { table: 'search_facet_set', numbers: 'unnest(d.facets)' },
  { table: accessTables.shared, numbers: 'd.access_set' },
  { table: accessTables.people, numbers: 'd.people_set' },
] as const
type Kind = (typeof kinds)[number]

export interface PruningDeps {
  readonly db: Db
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly jobs: Pick<Jobs, 'register' | 'enqueue'>
}

/** Registers the job, and checks every hour whether it is due. */
export function schedulePruning({ db, log, jobs }: PruningDeps): Pick<Periodic, 'close'> {
  jobs.register<null>(job, (_, { signal }) => pruneSets({ db, log }, signal), 'standard')
  return createPeriodic({
    every: hour,
    paused: () => false,
    work: async () => {
      if (await isDue(db)) await db.transaction((tx) => jobs.enqueue(tx, job, null, { key: job }))
    },
    onFailure: (error) => log.warn({ err: error }, 'the removal of unused sets could not be asked for'),
  })
}

/** Not twice a day, and not if nothing has changed, because it reads all documents. */
async function isDue(db: Queryable): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from search_state
     where sets_pruned_at is null or sets_pruned_at < now() - interval '1 day' and sets_pruned_at < changed_at`,
  )
  return rowCount > 0
}

async function pruneSets({ db, log }: Pick<PruningDeps, 'db' | 'log'>, signal: AbortSignal): Promise<void> {
  // Another process may have done it since it was requested.
  if (!(await isDue(db))) return
  const removed: Record<string, number> = {}
  for (const kind of kinds) removed[kind.table] = await pruneKind(db, kind, signal)
  // The last step: work that a stop or a crash has interrupted is done by the next attempt.
  await db.query('update search_state set sets_pruned_at = now()')
  log.info(removed, 'removed sets that no document has any more')
}

async function pruneKind(db: Db, kind: Kind, signal: AbortSignal): Promise<number> {
  let removed = 0
  for (;;) {
    signal.throwIfAborted()
    const unused = await findUnused(db, kind)
    for (let start = 0; start < unused.ids.length; start += removedAtOnce) {
      if (start > 0) await sleep(rest, undefined, { signal })
      removed += await remove(db, kind, unused.ids.slice(start, start + removedAtOnce), unused.since)
    }
    if (unused.ids.length < mostFound) return removed
  }
}

interface Unused {
  readonly ids: readonly number[]
  /** The last change of the index before the search for unused sets. Later changes are not covered. */
  readonly since: string
}

/** Reads all documents (8 to 16 s for a million with 29 facets each), but does not block writers. */
async function findUnused(db: Queryable, { table, numbers }: Kind): Promise<Unused> {
  const { rows } = await db.query<Unused>(
    `select changed_at::text as since, array(
       select s.id from ${table} s
       where not exists (select from (select ${numbers} as id from search_document d) used where used.id = s.id)
       limit ${mostFound}) as ids
     from search_state`,
  )
  return rows[0] as Unused
}

/** Removes the sets that no document has started to use since they were found unused. */
function remove(db: Db, { table, numbers }: Kind, ids: readonly number[], since: string): Promise<number> {
  return db.transaction(async (tx) => {
    // A statement of its own: the next one must see everything that was written until this one could begin. Previous versions of
    // documents (previous-documents.ts) may have had these sets, so cached results may not be updated from them.
    await tx.query('update search_state set set_removals = set_removals + 1, previous_since = changed_at')
    const { rowCount } = await tx.query(
      `delete from ${table} s where s.id = any($1::int[]) and not exists (
         select from (select ${numbers} as id from search_document d where d.changed_at > $2::timestamptz) used
         where used.id = s.id)`,
      [numbersText(ids), since],
    )
    return rowCount
  })
}
