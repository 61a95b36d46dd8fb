import type { Queryable, Tx } from '../platform/postgres/db.ts'

export type JobState = 'running' | 'due' | 'later' | 'given_up'
export const jobStates: readonly JobState[] = ['running', 'due', 'later', 'given_up']

/** A job for administrators: its payload may hold any data, and is not shown. */
export interface InspectedJob {
  readonly id: number
  readonly name: string
  readonly state: JobState
  readonly attempts: number
  readonly max_attempts: number
  readonly run_at: Date
  readonly created_at: Date
  readonly locked_at: Date | null
  readonly last_error: string | null
}

const state = `case when j.locked_at is not null then 'running' when j.attempts >= j.max_attempts then 'given_up'
    when j.run_at <= now() then 'due' else 'later' end`

/** Jobs of the queue: first the jobs without further attempts, then by their time; one more than `limit` where there are more. */
export async function inspectJobs(
  from: Queryable,
  asked: { readonly state: JobState | null; readonly offset: number; readonly limit: number },
): Promise<InspectedJob[]> {
  const { rows } = await from.query<InspectedJob>(
    `select * from (
       select j.id, j.task_identifier as name, ${state} as state, j.attempts::int, j.max_attempts::int, j.run_at, j.created_at,
         j.locked_at, left(j.last_error, 2000) as last_error
       from graphile_worker.jobs j
     ) jobs where $1::text is null or state = $1
     order by array_position(array['given_up', 'running', 'due', 'later'], state), run_at, id offset $2 limit $3 + 1`,
    [asked.state, asked.offset, asked.limit],
  )
  return rows
}

export interface JobCount extends Record<JobState, number> {
  readonly name: string
}

/** The number of jobs of each name in each state. */
export async function countJobsByName(from: Queryable): Promise<JobCount[]> {
  const { rows } = await from.query<JobCount>(
    `select name, ${jobStates.map((one) => `count(*) filter (where state = '${one}')::int8 as ${one}`).join(', ')}
     from (select j.task_identifier as name, ${state} as state from graphile_worker.jobs j
       union all select name, 'running' from begun_job) jobs group by 1 order by 1 limit 500`,
  )
  return rows
}

/** Makes failed jobs run again at once; false: one of the ids is not a failed job. */
export async function retryJobs(tx: Tx, ids: readonly number[]): Promise<boolean> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::int as count from graphile_worker.reschedule_jobs(
       array(select id from graphile_worker.jobs where id = any($1::bigint[]) and locked_at is null and attempts >= max_attempts),
       run_at => now(), attempts => 0)`,
    [ids],
  )
  if ((rows[0]?.count ?? 0) === 0) return false
  await tx.query(`select pg_notify('jobs:insert', '{"count": 1}')`)
  return true
}

/** Removes failed jobs from the queue. */
export async function dropJobs(tx: Tx, ids: readonly number[]): Promise<boolean> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::int as count from graphile_worker.complete_jobs(
       array(select id from graphile_worker.jobs where id = any($1::bigint[]) and locked_at is null and attempts >= max_attempts))`,
    [ids],
  )
  return (rows[0]?.count ?? 0) > 0
}
