import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Logger as QueueLogger, runTaskList, type TaskList, type WorkerEvents, type WorkerPool } from 'graphile-worker'
import type { Logger } from 'pino'
import { takeCause, withCause } from '../platform/cause.ts'
import type { Db } from '../platform/postgres/db.ts'
import { inBackground } from '../platform/process/cooperative-yield.ts'
import { traced } from '../platform/tracing/spans.ts'
import { keepLiveness, type Liveness } from './liveness.ts'
import type { Registered } from './model.ts'
import { queuePool } from './queue.ts'

export interface Workers {
  /** Whether jobs are taken. */
  isOpen(): boolean
  close(grace: number): Promise<void>
}

interface Options {
  db: Db
  log: Logger
  lanes: readonly LaneOptions[]
  /** Milliseconds between two looks for abandoned jobs. */
  recoverEvery: number
  /** Further names whose lock shows that this process is alive. */
  alsoAlive: readonly string[]
  reclaim: () => Promise<number>
  upToDate: () => Promise<void>
}

interface LaneOptions {
  concurrency: number
  handlers: ReadonlyMap<string, Registered>
}

/** Takes jobs until closed. When the database is lost the pool of workers ends; new pools are started until it is back. */
export async function startWorkers(options: Options): Promise<Workers> {
  const stopped = new AbortController()
  let current = await startPool(options)
  const supervision = (async () => {
    for (let failures = 0; !stopped.signal.aborted; failures++) {
      const started = Date.now()
      await current.ended
      if (stopped.signal.aborted) return
      if (Date.now() - started > 60_000) failures = 0
      options.log.error({ failures }, 'the workers ended; starting new ones')
      await sleep(Math.min(longestPause, 250 * 2 ** failures), undefined, { signal: stopped.signal }).catch(() => {})
      if (stopped.signal.aborted) return
      current = await startPool(options).catch((error: unknown) => ({
        ended: Promise.resolve(options.log.error({ err: error }, 'workers cannot start')),
        isOpen: () => false,
        close: async () => {},
      }))
    }
  })()
  return {
    isOpen: () => !stopped.signal.aborted && current.isOpen(),
    async close(grace) {
      stopped.abort()
      await current.close(grace)
      await supervision
    },
  }
}

interface Pool extends Workers {
  /** Resolves when the workers have ended, for whatever reason. */
  ended: Promise<void>
}

/** One pool of the library for each lane. They share one connection for notifications, and end together. */
async function startPool({ db, log, lanes, recoverEvery, alsoAlive, reclaim, upToDate }: Options): Promise<Pool> {
  const active = new ActiveJobs()
  const pgPool = queuePool(db)
  const pools: WorkerPool[] = []
  const emitters: WorkerEvents[] = []
  const endAll = (reason: string): void => {
    for (const pool of pools) end(pool, reason)
  }
  for (const { concurrency, handlers } of lanes) {
    if (handlers.size === 0) continue
    const events: WorkerEvents = new EventEmitter()
    const pool = runTaskList(
      // The process handles signals (main.ts), and the tables are up to date.
      { logger: queueLogger(log), events, concurrency, noHandleSignals: true, pollInterval: 1000, preset: inBatches },
      taskList(handlers, { log, active, upToDate }),
      pgPool,
    )
    pools.push(pool)
    emitters.push(events)
    endWhenStuck(events, endAll)
  }
  const activeJobs = () => active.ids()
  const onStuck = (): void => endAll('jobs were taken that nobody runs')
  const names = [...pools.map(({ id }) => id), ...alsoAlive]
  const recorded = lanes.flatMap(({ handlers }) =>
    [...handlers].flatMap(([name, { brokenOff }]) => (brokenOff ? name : [])),
  )
  const lookout = { db, log, names, recorded, activeJobs, interval: recoverEvery, onStuck, reclaim }
  const liveness = await keepLiveness(lookout).catch(async (error: unknown) => {
    await Promise.all(pools.map((pool) => pool.gracefulShutdown()))
    throw error
  })
  const gone = pools.map((pool) =>
    pool.promise
      .catch((error: unknown) => log.error({ err: error }, 'the workers ended with an error'))
      // The remaining workers would no longer be notified of new jobs.
      .then(() => endAll('other workers ended')),
  )
  let over = false
  const ended = Promise.all(gone).then(() => {
    over = true
    // The library never forgets the options of a pool, and our listeners know the whole service.
    for (const events of emitters) events.removeAllListeners()
    return liveness.close()
  })
  return {
    ended,
    isOpen: () => !over && pools.every((pool) => !pool._shuttingDown),
    close: (grace) => stop(pools, liveness, grace),
  }
}

/**
 * The library does not wait for the result when it marks a job as ended: a failure would end the process. In batches the failure
 * ends the workers instead, others take over, and the job is run again.
 */
const inBatches = { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } }

/** Milliseconds between two attempts to start workers: waiting code continues when the database is back. */
const longestPause = 5000

/** Milliseconds for which workers may fail to ask for jobs before they are replaced. */
const longestTrouble = 5000

/**
 * The library keeps the outcome of its first read of the task names, even when it failed: workers whose connection broke just then
 * would always fail.
 */
function endWhenStuck(events: WorkerEvents, endAll: (reason: string) => void): void {
  let failingSince: number | null = null
  const onSuccess = (): void => {
    failingSince = null
  }
  events.on('worker:getJob:empty', onSuccess)
  events.on('job:start', onSuccess)
  events.on('worker:getJob:error', () => {
    failingSince ??= Date.now()
    if (Date.now() - failingSince < longestTrouble) return
    failingSince = null
    endAll('jobs cannot be asked for')
  })
}

/** New workers take over. */
function end(workers: WorkerPool, reason: string): void {
  if (workers._shuttingDown || !workers._active) return
  Promise.resolve(workers.gracefulShutdown(reason)).catch(() => {})
}

async function stop(pools: readonly WorkerPool[], liveness: Liveness, grace: number): Promise<void> {
  const timer = new AbortController()
  const graceful = Promise.all(pools.map((pool) => Promise.resolve(pool.gracefulShutdown()).catch(() => {})))
  const late = await Promise.race([
    graceful.then(() => false),
    sleep(grace, true, { signal: timer.signal }).catch(() => false),
  ])
  timer.abort()
  if (late) {
    await Promise.all(pools.map((pool) => Promise.resolve(pool.forcefulShutdown('the service stops')).catch(() => {})))
  }
  await liveness.close()
}

/** Jobs whose handlers are running or ended less than a few seconds ago: the database may not know of their end yet. */
class ActiveJobs {
  readonly #jobs = new Map<number, number | null>()

  begin(id: number): void {
    this.#jobs.set(id, null)
  }

  end(id: number): void {
    this.#jobs.set(id, Date.now())
  }

  ids(): number[] {
    const settled = Date.now() - 5000
    for (const [id, endedAt] of this.#jobs) if (endedAt !== null && endedAt < settled) this.#jobs.delete(id)
    return [...this.#jobs.keys()]
  }
}

function taskList(
  handlers: ReadonlyMap<string, Registered>,
  { log, active, upToDate }: Pick<Options, 'log' | 'upToDate'> & { readonly active: ActiveJobs },
): TaskList {
  const tasks: TaskList = {}
  for (const [name, { handler, brokenOff }] of handlers) {
    tasks[name] = async (stored, helpers) => {
      const { payload, cause } = takeCause(stored)
      const { attempts, max_attempts: maxAttempts } = helpers.job
      const jobId = Number(helpers.job.id)
      const context = {
        jobId,
        attempt: attempts,
        isLastAttempt: attempts >= maxAttempts,
        signal: helpers.abortSignal ?? new AbortController().signal,
      }
      // See liveness.ts: the attempt behind the last one.
      const isOver = brokenOff !== null && attempts > brokenOff.attempts
      active.begin(jobId)
      try {
        await traced(
          () => ({
            name: `job ${name}`,
            kind: 'consumer',
            attributes: { 'strongroom.job.id': jobId, 'strongroom.job.attempt': attempts },
          }),
          async () => {
            await upToDate()
            await withCause(cause, () =>
              inBackground(() => (isOver ? brokenOff.end(payload) : handler(payload, context))),
            )
          },
        )
      } catch (error) {
        log.warn({ err: error, job: name, jobId, attempt: attempts, maxAttempts }, 'job failed')
        if (context.signal.aborted && context.isLastAttempt) await brokenOff?.end(payload)
        throw error
      } finally {
        active.end(jobId)
      }
    }
  }
  return tasks
}

/** The library's own messages; failed jobs are logged by us, with the error. */
function queueLogger(log: Logger): QueueLogger {
  return new QueueLogger(() => (level, message) => {
    if (level === 'error' && !message.startsWith('Failed task')) log.error({ queue: true }, message)
    else if (level === 'warning') log.warn({ queue: true }, message)
    else log.debug({ queue: true }, message)
  })
}
