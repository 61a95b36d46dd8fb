import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type Cause, carryCause, currentCause, withCause } from '../platform/cause.ts'
import type { Db, Queryable, Tx } from '../platform/postgres/db.ts'
import type { Attempt } from './model.ts'

/** A job that the process which adds it runs itself. */
export interface LocalJob {
  /** The registered handler that takes over when this process ends before the job is done, or the job fails, with its payload. */
  readonly name: string
  readonly payload: unknown
  readonly priority: number
  readonly maxAttempts: number
  /** The work of the job. The registered handler may do it again. */
  readonly run: (attempt: Attempt) => Promise<void>
}

export type LocalJobs = ReturnType<typeof createLocalJobs>

/** Milliseconds for which ended jobs are collected, so that one statement removes them. */
const gathered = 50
/** Milliseconds until a failed removal is tried again. */
const untilRemoved = 2000
/** Milliseconds for running jobs when the service stops, before they are aborted. */
const patience = 5000

/**
 * Jobs that this process begins right after the commit that adds them (`begun_job`). No worker is notified of them; when the
 * process ends, or a job fails, the job is put into the queue, where it is tried again like any other. For work that can begin at
 * once: adding a job to the queue and taking it costs half a dozen statements, since each lane checks whether the job belongs to
 * it.
 */
export function createLocalJobs({ db, log, isOpen }: { db: Db; log: Logger; isOpen: () => boolean }) {
  /** The name under which the process shows that it is alive (liveness.ts). */
  const name = `here-${randomUUID()}`
  const running = new Map<number, Promise<void>>()
  const stop = new AbortController()
  let ended: number[] = []
  let removing: Promise<void> | null = null
  /** Jobs of this process that were not running at the last check. */
  let unbegun: ReadonlySet<number> = new Set()

  function begin(id: number, { name: job, maxAttempts, run }: LocalJob, cause: Cause): void {
    const attempt = { attempt: 1, isLastAttempt: maxAttempts === 1, signal: stop.signal }
    const work = withCause(cause, () => run(attempt))
      .then(() => remove(id))
      .catch(async (error: unknown) => {
        log.warn({ err: error, job, attempt: 1, maxAttempts }, 'job failed')
        const pause = stop.signal.aborted ? 0 : Math.E
        await queue(id, pause).catch((failure: unknown) => {
          log.warn({ err: failure, job }, 'a job that failed could not be put into the queue')
        })
      })
      .finally(() => running.delete(id))
    running.set(id, work)
  }

  /** Together with jobs that end at about the same time. */
  function remove(id: number): Promise<void> {
    ended.push(id)
    removing ??= sleep(stop.signal.aborted ? 0 : gathered).then(removeEnded)
    return removing
  }

  /** Other processes repeat jobs that were not removed when this process has ended, so it keeps trying for as long as it runs. */
  async function removeEnded(): Promise<void> {
    const ids = ended
    ended = []
    removing = null
    try {
      await db.query('delete from begun_job where id = any($1::bigint[])', [ids], 'jobs.ended-here')
    } catch (error) {
      log.warn({ err: error, jobs: ids.length }, 'jobs that have ended could not be removed')
      if (stop.signal.aborted) return
      ended.push(...ids)
      removing ??= sleep(untilRemoved, undefined, { signal: stop.signal })
        .catch(() => {})
        .then(removeEnded)
      await removing
    }
  }

  /** It is tried again after this number of seconds, as in the queue. */
  const queue = (id: number, pause: number): Promise<number> =>
    db.transaction((tx) => toQueue(tx, { condition: 'id = $1', values: [id], pause }))

  return {
    name,

    /**
     * Puts jobs into the queue that are stored as begun here but were not begun, or could not be put there when they failed: the
     * answer to a COMMIT was lost. Only jobs that were found twice, since a job that was just stored is about to begin. Returns
     * their number.
     */
    async reclaim(): Promise<number> {
      const { rows } = await db.query<{ id: number }>(
        'select id from begun_job where begun_by = $1 and id <> all($2::bigint[])',
        [name, [...running.keys()]],
        'jobs.begun-nowhere',
      )
      const idle = rows.map(({ id }) => id).filter((id) => !running.has(id))
      const lost = idle.filter((id) => unbegun.has(id))
      unbegun = new Set(idle)
      if (lost.length === 0) return 0
      const values = [lost]
      await db.transaction((tx) => toQueue(tx, { condition: 'id = any($1::bigint[])', values, pause: 0, attempts: 0 }))
      return lost.length
    },

    /** Adds jobs that begin here after the commit; false, and no job is added, while this process accepts none. */
    async add(tx: Tx, jobs: readonly LocalJob[]): Promise<boolean> {
      if (stop.signal.aborted || !isOpen()) return false
      const { rows } = await tx.query<{ id: number }>(
        `insert into begun_job (name, payload, priority, max_attempts, begun_by)
         select name, payload, priority, "maxAttempts", $2
         from json_to_recordset($1::json) as x(place int, name text, payload json, priority int, "maxAttempts" int)
         order by place returning id`,
        [
          JSON.stringify(
            jobs.map(({ run: _, ...job }, place) => ({ place, ...job, payload: carryCause(job.payload) })),
          ),
          name,
        ],
        'jobs.add-here',
      )
      // The ids ascend in the order of the jobs.
      const ids = rows.map(({ id }) => id).sort((a, b) => a - b)
      const cause = currentCause()
      tx.afterCommit(() => {
        for (const [index, job] of jobs.entries()) begin(ids[index] as number, job, cause)
      })
      return true
    },

    /** Lets running jobs end, within this number of milliseconds; aborted ones are put into the queue. */
    async close(grace: number): Promise<void> {
      const all = Promise.all(running.values()).then(() => 'ended')
      const pause = new AbortController()
      const wait = (time: number) => sleep(time, 'late', { signal: pause.signal }).catch(() => 'ended')
      const late = await Promise.race([all, wait(Math.min(grace, patience))])
      stop.abort()
      if (late === 'late') await Promise.race([all, wait(Math.max(0, grace - patience))])
      pause.abort()
      await removing
    },
  }
}

/** Puts the jobs of processes that have ended into the queue; returns their number. `mine`: the names of this process. */
export async function takeOver(db: Db, seed: number, mine: readonly string[]): Promise<number> {
  const { rows } = await db.query<{ owners: string[] | null }>(
    'select array_agg(distinct begun_by) as owners from begun_job where begun_by <> all($1::text[])',
    [mine],
    'jobs.begun-by-others',
  )
  const owners = rows[0]?.owners
  if (!owners) return 0
  return db.transaction((tx) =>
    toQueue(tx, {
      // A process that holds its lock is alive.
      condition: `begun_by in (select name from unnest($1::text[]) as name
        where pg_try_advisory_xact_lock(hashtextextended(name, $2)))`,
      values: [owners, seed],
      pause: 0,
    }),
  )
}

/** Their first attempt has been made, unless `attempts` says otherwise. */
async function toQueue(
  tx: Queryable,
  {
    condition,
    values,
    pause,
    attempts = 1,
  }: { condition: string; values: readonly unknown[]; pause: number; attempts?: number },
): Promise<number> {
  const next = `$${values.length + 1}::float8`
  const { rows } = await tx.query<{ ids: number[] | null }>(
    `with taken as (delete from begun_job where ${condition} returning *)
     select array_agg(added.id) as ids from (
       select array_agg(json_populate_record(null::graphile_worker.job_spec, json_build_object('identifier', name,
         'payload', payload, 'priority', priority, 'max_attempts', max_attempts,
         'run_at', now() + make_interval(secs => ${next})))) as specs
       from taken where max_attempts > ${attempts}
     ) jobs cross join lateral graphile_worker.add_jobs(jobs.specs) added where jobs.specs is not null`,
    [...values, pause],
  )
  const ids = rows[0]?.ids ?? []
  if (ids.length > 0 && attempts > 0) {
    await tx.query('select count(*) from graphile_worker.reschedule_jobs($1::bigint[], attempts := $2)', [
      ids,
      attempts,
    ])
  }
  return ids.length
}
