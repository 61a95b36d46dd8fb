import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type Cause, carryCause } from '../platform/cause.ts'
import { jobLanes, type Lane, type Lanes, ofLanes } from '../platform/config/job-lanes.ts'
import type { Measure } from '../platform/http/metrics.ts'
import type { Db, Queryable, Tx } from '../platform/postgres/db.ts'
import { createLocalJobs, type LocalJob } from './local-jobs.ts'
import type { BrokenOff, JobHandler, Registered } from './model.ts'
import { migrateQueue } from './queue.ts'
import { startWorkers, type Workers } from './worker.ts'

/**
 * Background work from a queue in PostgreSQL. A *job* is a name with a JSON payload, added in the transaction that causes it: a
 * rollback removes the job, too. Any number of equal processes take jobs from the same queue. A job that fails is tried again after
 * a growing pause (e^attempt seconds, at most 6 hours); a process that dies gives its jobs back. So a handler may run more than
 * once for the same job, and must be written for that. A *lane* is a kind of jobs with separate workers: long jobs only wait for
 * each other, and a mail never waits for them.
 */
export { countJobsByName, dropJobs, inspectJobs, type JobState, jobStates, retryJobs } from './inspection.ts'
export { migrateQueue } from './queue.ts'

export type Jobs = ReturnType<typeof createJobs>

export type { LocalJob } from './local-jobs.ts'

export type { Attempt, JobContext, JobHandler } from './model.ts'

export interface JobOptions {
  /** A waiting job with the same key is replaced by this one. Writers of one key wait for each other, so use keys sparingly. */
  key?: string
  runAt?: Date
  /** Total number of attempts; default 25. */
  maxAttempts?: number
  /** Jobs of a lane with a smaller number run first; default 0. */
  priority?: number
  /** The cause of the job; default: the cause of the code that adds it. */
  cause?: Cause
}

export interface JobRequest extends JobOptions {
  name: string
  payload: unknown
}

export interface JobsOptions {
  db: Db
  log: Logger
  /** Number of jobs of each lane that this process runs at the same time; absent: the defaults. */
  concurrency?: Lanes
  /** Milliseconds between two searches for jobs of ended processes. */
  recoverEvery?: number
  /** Waits until the memory of this process has all changes that are committed, among them the one that has queued the job. */
  upToDate?: () => Promise<void>
}

export function createJobs({
  db,
  log,
  concurrency = ofLanes((lane) => jobLanes[lane].places),
  recoverEvery = 15_000,
  upToDate = async () => {},
}: JobsOptions) {
  const handlers = new Map<string, Registered>()
  const laneOf = new Map<string, Lane>()
  let workers: Workers | null = null
  const here = createLocalJobs({ db, log, isOpen: () => workers?.isOpen() ?? false })

  return {
    /** Adds a job in the caller's transaction; it starts after the commit, or at `runAt`. */
    enqueue: (tx: Tx, name: string, payload: unknown, options: JobOptions = {}) =>
      addJobs(tx, [{ ...options, name, payload }]),

    /** Adds any number of jobs with one statement. */
    enqueueAll: (tx: Tx, jobs: readonly JobRequest[]) => addJobs(tx, jobs),

    /**
     * Adds jobs that this process begins by itself right after the commit, with one statement; false, and no job is added, while it
     * accepts none. The caller must limit the number of running jobs.
     */
    runLocally: (tx: Tx, jobs: readonly LocalJob[]): Promise<boolean> => here.add(tx, jobs),

    /**
     * Removes all jobs that are not running from the queue, and the local jobs of all processes; running jobs end by themselves.
     */
    async drop(tx: Tx): Promise<void> {
      await tx.query(
        `select count(*) from graphile_worker.complete_jobs(
           array(select id from graphile_worker.jobs where locked_at is null))`,
      )
      await tx.query('truncate begun_job')
    },

    /**
     * Registers the code for a job, and its lane. Every process must register all names before it starts. `brokenOff` is for jobs
     * with a record of their own, which must not stay in progress when the process was killed in each attempt.
     */
    register<Payload>(
      name: string,
      handler: JobHandler<Payload>,
      lane: Lane = 'quick',
      brokenOff?: BrokenOff<Payload>,
    ): void {
      if (workers) throw new Error(`job ${name} registered after the start`)
      if (handlers.has(name)) throw new Error(`job ${name} registered twice`)
      handlers.set(name, {
        handler: handler as JobHandler<unknown>,
        brokenOff: (brokenOff as BrokenOff<unknown> | undefined) ?? null,
      })
      laneOf.set(name, lane)
    },

    /** Upgrades the queue's own tables and begins to take jobs. */
    async start(): Promise<void> {
      await migrateQueue(db)
      const lanes = ofLanes((lane) => ({
        concurrency: concurrency[lane],
        handlers: new Map([...handlers].filter(([name]) => laneOf.get(name) === lane)),
      }))
      workers = await startWorkers({
        db,
        log,
        lanes: Object.values(lanes),
        recoverEvery,
        alsoAlive: [here.name],
        reclaim: here.reclaim,
        upToDate,
      })
    },

    /** The number of waiting and running jobs in each lane, the same in all processes on one database. */
    measures: (['due', 'running'] as const).map(
      (state): Measure => ({
        name: `jobs_${state}`,
        help: `Jobs that are ${state}, by lane.`,
        label: 'lane',
        read: async () => perLane(await countJobs(db, state), laneOf),
      }),
    ),

    /**
     * Waits until no job is running or due: for tests. With `hurry`, jobs that wait for their next attempt or for a later time
     * count as due now. Returns whether there was any job to wait for.
     */
    async idle({ hurry = false, timeout = 120_000 }: { hurry?: boolean; timeout?: number } = {}): Promise<boolean> {
      const deadline = Date.now() + timeout
      let waited = false
      while ((await openJobs(db, hurry)) > 0) {
        if (Date.now() > deadline) throw new Error('jobs are still open')
        waited = true
        await sleep(10)
      }
      return waited
    },

    /** Lets running jobs end (at most `grace` milliseconds; others are tried again later) and stops. */
    async close({ grace = 15_000 }: { grace?: number } = {}): Promise<void> {
      const running = workers
      workers = null
      await Promise.all([here.close(grace), running?.close(grace)])
    },
  }
}

/** The keys, of those given, of jobs that are running or will run. */
export async function openKeys(from: Queryable, keys: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await from.query<{ key: string }>(
    `select key from graphile_worker.jobs where key = any($1::text[]) and (locked_at is not null or attempts < max_attempts)`,
    [keys],
    'jobs.open-keys',
  )
  return new Set(rows.map(({ key }) => key))
}

async function addJobs(tx: Tx, jobs: readonly JobRequest[]): Promise<void> {
  if (jobs.length === 0) return
  const specs = jobs.map((job) => ({
    identifier: job.name,
    payload: carryCause(job.payload, job.cause),
    run_at: job.runAt,
    max_attempts: job.maxAttempts,
    job_key: job.key,
    priority: job.priority,
  }))
  await tx.query(
    `select count(*) from graphile_worker.add_jobs(
       array(select json_populate_recordset(null::graphile_worker.job_spec, $1::json)))`,
    [JSON.stringify(specs)],
    'jobs.add',
  )
}

function perLane(counts: ReadonlyMap<string, number>, laneOf: ReadonlyMap<string, Lane>): Record<Lane, number> {
  const sums: Record<Lane, number> = { ...ofLanes(() => 0) }
  for (const [name, count] of counts) {
    const lane = laneOf.get(name)
    if (lane) sums[lane] += count
  }
  return sums
}

async function countJobs(db: Db, state: 'due' | 'running'): Promise<Map<string, number>> {
  const condition =
    state === 'running' ? 'locked_at is not null' : 'locked_at is null and attempts < max_attempts and run_at <= now()'
  const { rows } = await db.query<{ name: string; count: number }>(
    `select task_identifier as name, count(*)::int8 as count from graphile_worker.jobs where ${condition} group by 1
     ${state === 'running' ? 'union all select name, count(*)::int8 from begun_job group by 1' : ''}`,
  )
  const counts = new Map<string, number>()
  for (const { name, count } of rows) counts.set(name, (counts.get(name) ?? 0) + count)
  return counts
}

async function openJobs(db: Db, hurry: boolean): Promise<number> {
  if (hurry) {
    await db.query(
      `select count(*) from graphile_worker.reschedule_jobs(
         array(select id from graphile_worker.jobs where run_at > now() and locked_at is null and attempts < max_attempts),
         run_at := now())`,
    )
    // The workers wake up only for new jobs.
    await db.query(`select pg_notify('jobs:insert', '{"count": 100}')`)
  }
  const { rows } = await db.query<{ open: number }>(
    `select (select count(*) from graphile_worker.jobs
        where locked_at is not null or (attempts < max_attempts and (run_at <= now() or $1)))::int
       + (select count(*) from begun_job)::int as open`,
    [hurry],
  )
  return rows[0]?.open ?? 0
}
