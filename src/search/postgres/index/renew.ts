/**
 * The indexes of lexemes are built anew when most documents have been written once more, as after a reindex. What was removed
 * leaves places behind in them. When the first page of the places of a common lexeme has become empty, PostgreSQL takes it for
 * the rarest one of a condition and goes through all of its places: a search for a word that nine of 69,202 artworks have took
 * 8.6 ms and not 0.7, searches of the bench by words 9.9 ms of PostgreSQL's processor time and not 2.6. Building them took 7 s, beside
 * everything else.
 */
import type { Logger } from 'pino'
import type { Jobs } from '../../../jobs/service.ts'
import type { Db, Queryable } from '../../../platform/postgres/db.ts'
import { createPeriodic, type Periodic } from '../../../platform/process/periodic.ts'
import { building } from './building.ts'
import { lexemeIndexes, missingIndexes } from './bulk.ts'

const job = 'search.renew-indexes'
const hour = 3_600_000
/** Fewer documents that were rewritten take less than a millisecond of a search. */
const leastRewritten = 10_000

export interface RenewalDeps {
  readonly db: Db
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly jobs: Pick<Jobs, 'register' | 'enqueue'>
}

export interface Renewal extends Pick<Periodic, 'close'> {
  /** To be called when much has been indexed: has the indexes built anew, if it is time for it. */
  look(): Promise<void>
}

/** Gives the job its code, and looks whether it is time for it, also every hour. */
export function scheduleRenewal({ db, log, jobs }: RenewalDeps): Renewal {
  jobs.register<null>(job, (_, { signal }) => renewIndexes({ db, log }, signal), 'standard')
  const { run, close } = createPeriodic({
    every: hour,
    paused: () => false,
    work: async () => {
      if (await isDue(db)) await db.transaction((tx) => jobs.enqueue(tx, job, null, { key: job }))
    },
    onFailure: (error) => log.warn({ err: error }, 'new indexes for searches could not be asked for'),
  })
  return { look: () => run(), close }
}

/** Half of the documents, as PostgreSQL has counted them last, or more. */
async function isDue(db: Queryable): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from search_state where rewritten >= greatest($1, (
       select reltuples / 2 from pg_class where oid = 'search_document'::regclass))`,
    [leastRewritten],
    'search-renewal-due',
  )
  return rowCount > 0
}

function renewIndexes({ db, log }: Pick<RenewalDeps, 'db' | 'log'>, signal: AbortSignal): Promise<void> {
  return building(db, signal, async ({ on, atLength }) => {
    // Another process may have done it since it was asked for; and what is put aside is built anyway.
    if (!(await isDue(on)) || (await missingIndexes(on)).length > 0) return
    const started = Date.now()
    for (const name of await readLeftovers(on)) await atLength(`drop index concurrently if exists ${name}`)
    const { rows } = await on.query<{ rewritten: number }>('select rewritten from search_state')
    for (const { name } of lexemeIndexes) await atLength(`reindex index concurrently ${name}`)
    await on.query('update search_state set rewritten = rewritten - $1', [rows[0]?.rewritten ?? 0])
    log.info({ ms: Date.now() - started }, 'search indexes were built anew after most documents had changed')
  })
}

/** Halves of indexes that a process left which was killed meanwhile: each costs as much at every save as a whole one. */
async function readLeftovers(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indexrelid
     where not i.indisvalid and i.indrelid in ('search_document'::regclass, 'search_nested'::regclass)
       and c.relname ~ '^search_(document|nested)_lexemes_idx_cc(new|old)[0-9]*$'`,
  )
  return rows.map(({ name }) => name)
}
