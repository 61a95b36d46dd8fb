import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Db, Tx } from '../platform/db.ts'
import type { JobContext } from './model.ts'

/** Where the jobs stand that this process has taken: whose name they bear, and who is told that they run. */
export interface Owner {
  /** Of a pool of workers whose life is shown (liveness.ts): when this process ends, what it has taken is given back. */
  readonly poolId: string
  begin(id: number): void
  end(id: number): void
}

/** A job that the process which adds it runs itself. */
export interface HereJob {
  /** Who takes over when this process ends in between: a registered name and what it is given. */
  readonly name: string
  readonly payload: unknown
  readonly priority: number
  readonly maxAttempts: number
  /** What is done here. It may be done again by the registered handler. */
  readonly run: (context: JobContext) => Promise<void>
}

export type Here = ReturnType<typeof createHere>

/** Milliseconds for which jobs that have ended are gathered, so that one statement removes them. */
const gathered = 50
/** Milliseconds that what runs has when the service stops, before it is aborted. */
const patience = 5000

/**
 * Jobs that this process begins right after the commit that adds them. In the queue they stand as taken by it from the
 * beginning: nobody is told of them, nobody looks for them, and if the process ends others take over, as with every job that
 * it runs. For work that is about to begin anyway: to be put into the queue and taken out again, a job costs half a dozen
 * statements, since each lane looks whether it is one of its own.
 */
export function createHere({ db, log, owner }: { db: Db; log: Logger; owner: () => Owner | null }) {
  const running = new Map<number, Promise<void>>()
  const stop = new AbortController()
  let done: { readonly id: number; readonly owner: Owner }[] = []
  let removing: Promise<void> | null = null

  function begin(id: number, mine: Owner, { name, maxAttempts, run }: HereJob): void {
    mine.begin(id)
    const context = { jobId: id, attempt: 1, isLastAttempt: maxAttempts === 1, signal: stop.signal }
    const work = run(context)
      .then(() => remove(id, mine))
      .catch(async (error: unknown) => {
        log.warn({ err: error, job: name, jobId: id, attempt: 1, maxAttempts }, 'job failed')
        await giveBack(id, mine, error).catch((failure: unknown) =>
          log.warn({ err: failure, jobId: id }, 'a job that failed could not be given back'),
        )
      })
      .finally(() => running.delete(id))
    running.set(id, work)
  }

  /** With those that end at about the same time. */
  function remove(id: number, mine: Owner): Promise<void> {
    done.push({ id, owner: mine })
    removing ??= sleep(stop.signal.aborted ? 0 : gathered).then(async () => {
      const ended = done
      done = []
      removing = null
      const ids = ended.map((one) => one.id)
      try {
        await db.query(
          'delete from graphile_worker._private_jobs where id = any($1::bigint[])',
          [ids],
          'jobs.ended-here',
        )
      } finally {
        // What could not be removed is given back as a job that nobody runs.
        for (const one of ended) one.owner.end(one.id)
      }
    })
    return removing
  }

  /** It is tried again by whoever takes it, after the pause that the library makes as well. */
  async function giveBack(id: number, mine: Owner, error: unknown): Promise<void> {
    try {
      await db.query(
        `update graphile_worker._private_jobs set locked_at = null, locked_by = null, last_error = $2,
           run_at = now() + case when $3 then interval '0' else make_interval(secs => exp(1)) end
         where id = $1 and locked_by = $4`,
        [id, error instanceof Error ? error.message : String(error), stop.signal.aborted, mine.poolId],
      )
    } finally {
      mine.end(id)
    }
  }

  return {
    /** Adds a job that is begun here after the commit; false, and nothing is added, while this process takes none. */
    async add(tx: Tx, job: HereJob): Promise<boolean> {
      const mine = owner()
      if (!mine || stop.signal.aborted) return false
      const { rows } = await tx.query<{ id: number }>(
        `insert into graphile_worker._private_jobs (task_id, payload, priority, max_attempts, attempts, locked_at, locked_by)
         select id, $2::json, $3, $4, 1, now(), $5 from graphile_worker._private_tasks where identifier = $1
         returning id`,
        [job.name, JSON.stringify(job.payload), job.priority, job.maxAttempts, mine.poolId],
        'jobs.add-here',
      )
      const [added] = rows
      if (!added) return false
      tx.afterCommit(() => begin(Number(added.id), mine, job))
      return true
    },

    /** Lets what runs end, at most so many milliseconds; what is aborted then is given back. */
    async close(grace: number): Promise<void> {
      const ended = Promise.all(running.values()).then(() => 'ended')
      const pause = new AbortController()
      const wait = (time: number) => sleep(time, 'late', { signal: pause.signal }).catch(() => 'ended')
      const late = await Promise.race([ended, wait(Math.min(grace, patience))])
      stop.abort()
      if (late === 'late') await Promise.race([ended, wait(Math.max(0, grace - patience))])
      pause.abort()
      await removing
    },
  }
}
