import type { PoolClient } from 'pg'
import type { Logger } from 'pino'
import type { Db } from '../platform/db.ts'

export interface Liveness {
  close(): Promise<void>
}

/** First half of the advisory lock that says "the pool of this id is alive"; the second is a hash of the id. */
const LIVENESS_SEED = 0x73747267
const INTERVAL = 15_000
/** A pool takes its lock right after its start; until then its jobs are left alone. */
const SETTLE_SECONDS = 5

/**
 * Holds an advisory lock named after a pool of workers for as long as its process lives, and gives back the jobs of
 * pools whose lock nobody holds: PostgreSQL drops the lock the moment a process dies, so a job of a killed process
 * is tried again within seconds. (The queue itself would wait four hours.)
 */
export async function keepLiveness(db: Db, log: Logger, poolId: string): Promise<Liveness> {
  let holder: PoolClient | null = await hold(db, poolId)
  let closed = false

  const beat = async (): Promise<void> => {
    try {
      if (holder === null) holder = await hold(db, poolId)
      await holder.query('select 1')
    } catch (error) {
      log.warn({ err: error }, 'the connection that shows this process as alive is lost')
      holder?.release(true)
      holder = null
      return
    }
    const { rows } = await db.query<{ id: string }>(RELEASE_SQL, [LIVENESS_SEED, SETTLE_SECONDS, poolId])
    if (rows.length > 0) log.warn({ pools: rows.map((row) => row.id) }, 'jobs of ended processes were given back')
  }

  let running: Promise<void> = Promise.resolve()
  const tick = (): void => {
    running = beat().catch((error: unknown) =>
      log.warn({ err: error }, 'jobs of ended processes could not be given back'),
    )
  }
  const timer = setInterval(tick, INTERVAL)
  const first = setTimeout(tick, SETTLE_SECONDS * 1000 + 500)
  tick()
  return {
    async close() {
      if (closed) return
      closed = true
      clearInterval(timer)
      clearTimeout(first)
      await running
      holder?.release(true)
      holder = null
    },
  }
}

async function hold(db: Db, poolId: string): Promise<PoolClient> {
  const client = await db.connect()
  try {
    client.on('error', () => {})
    await client.query('select pg_advisory_lock(hashtextextended($1, $2))', [poolId, LIVENESS_SEED])
    return client
  } catch (error) {
    client.release(true)
    throw error
  }
}

const RELEASE_SQL = `
  with dead as materialized (
    select locked_by as id
      from (select distinct locked_by from graphile_worker.jobs
             where locked_at < now() - make_interval(secs => $2) and locked_by <> $3) as holders
     where pg_try_advisory_xact_lock(hashtextextended(locked_by, $1))
  ), released as (
    select graphile_worker.force_unlock_workers(array(select id from dead)) where exists (select from dead)
  )
  select id from dead left join released on true`
