import type { PoolClient } from 'pg'
import type { Logger } from 'pino'
import { keepTalking } from '../platform/postgres/connection-watch.ts'
import type { Db } from '../platform/postgres/db.ts'
import { takeOver } from './local-jobs.ts'

export interface Liveness {
  close(): Promise<void>
}

export interface LivenessOptions {
  db: Db
  log: Logger
  /**
   * Names of this process: `locked_by` of the jobs that its pools of workers have taken, `begun_by` of those that it runs itself.
   */
  names: readonly string[]
  /** Names of jobs with a record that tells how they went. */
  recorded: readonly string[]
  /** Ids of the jobs that are running or have just ended. */
  activeJobs: () => readonly number[]
  /** Milliseconds between two looks for abandoned jobs. */
  interval: number
  /** The pools hold jobs that they do not run: they have to end, so that others can take them. */
  onStuck: () => void
  /** Looks for jobs that are stored as begun here but were not begun; returns their number. */
  reclaim: () => Promise<number>
}

/** Distinguishes our advisory locks on pools from others. */
const LIVENESS_SEED = 0x73747267
/** A pool takes its lock right after its start, and a job ends a moment after its handler: for this time it is not checked. */
const SETTLE_SECONDS = 3

/**
 * Holds an advisory lock for each name of this process, one for each pool of workers, for as long as it lives, and gives back
 * abandoned jobs: those of pools whose lock is free (PostgreSQL drops the lock the moment a process dies). A pool with jobs that it
 * does not run (the connection broke while the job was taken or ended) has to end, and then its jobs are abandoned, too. So
 * abandoned jobs run again within seconds; the queue itself would wait four hours.
 */
export async function keepLiveness(options: LivenessOptions): Promise<Liveness> {
  const { db, log, names, interval, onStuck } = options
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()

  const schedule = (delay: number): void => {
    clearTimeout(timer)
    if (!closed) timer = setTimeout(tick, delay)
  }
  const tick = (): void => {
    running = beat()
      .catch((error: unknown) => log.warn({ err: error }, 'abandoned jobs could not be given back'))
      .then(() => schedule(holder === null ? 500 : interval))
  }
  const onLost = (error: Error): void => {
    // Closed by this service: a server that stops at the same moment may end the connection first.
    if (closed) return
    log.warn({ err: error }, 'the connection that shows this process as alive is lost')
    holder?.release(true)
    holder = null
    schedule(100)
  }
  let holder: PoolClient | null = await hold(db, names, onLost)

  async function beat(): Promise<void> {
    holder ??= await hold(db, names, onLost)
    const { freed, stuck } = await release()
    const begun = await takeOver(db, LIVENESS_SEED, names)
    if (begun > 0) log.warn({ jobs: begun }, 'jobs that an ended process had begun were put into the queue')
    const lost = await options.reclaim()
    if (lost > 0) log.warn({ jobs: lost }, 'jobs that were to begin here were put into the queue')
    if (freed.length > 0) log.warn({ jobs: freed }, 'abandoned jobs were given back')
    if (stuck.length === 0) return
    log.warn({ jobs: stuck }, 'jobs were taken that nobody runs; their workers end')
    onStuck()
  }

  function release(): Promise<{ freed: number[]; stuck: number[] }> {
    return db.transaction(async (tx) => {
      const { rows } = await tx.query<{ freed: number[]; stuck: number[] }>(RELEASE_SQL, [
        LIVENESS_SEED,
        SETTLE_SECONDS,
        names,
        options.activeJobs(),
      ])
      const { freed = [], stuck = [] } = rows[0] ?? {}
      await tx.query(ONCE_MORE_SQL, [options.recorded, freed])
      return { freed, stuck }
    })
  }

  schedule(SETTLE_SECONDS * 1000 + 250)
  return {
    async close() {
      if (closed) return
      closed = true
      clearTimeout(timer)
      await running
      holder?.release(true)
      holder = null
    },
  }
}

async function hold(db: Db, names: readonly string[], onLost: (error: Error) => void): Promise<PoolClient> {
  const client = await db.connect()
  try {
    await client.query('select pg_advisory_lock(hashtextextended(id, $2)) from unnest($1::text[]) as pools(id)', [
      names,
      LIVENESS_SEED,
    ])
    client.once('error', onLost)
    keepTalking(client)
    return client
  } catch (error) {
    client.release(true)
    throw error
  }
}

/** Gives back the jobs of dead pools; returns these pools, and the jobs that our pools hold without running them. */
const RELEASE_SQL = `
  with held as materialized (
    select id, locked_by from graphile_worker.jobs where locked_at < now() - make_interval(secs => $2)
  ), dead as materialized (
    select locked_by from (select distinct locked_by from held where locked_by <> all($3::text[])) as others
     where pg_try_advisory_xact_lock(hashtextextended(locked_by, $1))
  ), freed as materialized (
    select graphile_worker.force_unlock_workers(array_agg(locked_by)) from dead having count(*) > 0
  )
  select array(select id from held where locked_by in (select locked_by from dead) and exists (select from freed)) as freed,
    array(select id from held where locked_by = any($3::text[]) and id <> all($4::bigint[])) as stuck`

/**
 * Gives jobs whose process was killed in the last attempt one more, which only records that (`BrokenOff`). A job that never failed
 * with an error was killed in each attempt. Without a key it was replaced by another one, which continues its work.
 */
const ONCE_MORE_SQL = `
  select again.id
  from graphile_worker.jobs j
  cross join lateral graphile_worker.reschedule_jobs(array[j.id], run_at := now(), max_attempts := j.max_attempts + 1) again
  where j.task_identifier = any($1::text[]) and j.key is not null and j.locked_at is null and j.attempts >= j.max_attempts
    and (j.id = any($2::bigint[]) or j.last_error is null)`
