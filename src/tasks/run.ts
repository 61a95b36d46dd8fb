/** Runs of tasks: jobs of a separate lane, so that they delay no other jobs. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { EventLog } from '../events/service.ts'
import type { JobContext, Jobs } from '../jobs/service.ts'
import type { MailQuota, MailService } from '../mail/service.ts'
import type { Actor } from '../platform/actor.ts'
import { currentCause, joinCauses, withCause } from '../platform/cause.ts'
import { AppError } from '../platform/errors.ts'
import { hasRight } from '../platform/http/system-right.ts'
import type { Db, Queryable, Tx } from '../platform/postgres/db.ts'
import type { Foreground } from '../platform/process/foreground.ts'
import { nextOfAll } from '../platform/values/schedule.ts'
import { type EndRecipients, mailEnd, withEndMails } from './mails.ts'
import type { LogLine, StoredTask, TaskState } from './model.ts'
import { manageTasks } from './model.ts'
import type { Run, TaskModule } from './modules/model.ts'
import * as store from './store.ts'

export interface RunDeps {
  readonly db: Db
  readonly jobs: Pick<Jobs, 'enqueueAll' | 'register'>
  readonly events: Pick<EventLog, 'append'>
  readonly mail: Pick<MailService, 'send' | 'isConfigured'>
  readonly modules: ReadonlyMap<string, TaskModule>
  /** The actors of the users, of those given, who may act now. */
  readonly actorsOf: (from: Queryable, ids: readonly number[]) => Promise<ReadonlyMap<number, Actor>>
  readonly languages: () => readonly string[]
  /** The name of the instance in mails. */
  readonly instance: () => string
  /** While true, nothing is changed. */
  readonly paused: () => boolean
  readonly mailQuota: MailQuota
  readonly clock: () => Date
  /** Open saves of users, to which a run gives way. */
  readonly foreground: Pick<Foreground, 'isBusy' | 'quiet'>
}

export const taskJob = 'task.run'
/** Number of attempts of a job after failures that are unrelated to the objects. */
const maxAttempts = 10
/**
 * Milliseconds after which another job continues the run, so that its attempts are counted anew and other tasks have their turn.
 */
const longestJob = 30_000
/** The same while no changes are allowed. */
const pause = 60_000

/** Objects that are changed together: so few that others hardly wait for their locks. */
const batchSize = 100
/** The same while users save: their saves wait for the processor and for commits as long as a batch takes. */
const smallBatch = 10
/**
 * Milliseconds that a batch waits for saves of users, and the longest rest before it: a run rests as long as its last batch took, so that
 * half of the time is for users.
 */
const longestWait = 500

/** The run was ended by a user: the batch in progress is not stored. */
class Ended extends Error {}

/** The reason why a run ends with an error. */
class Failed extends Error {}

/** How a run ends; without a state of its own the task keeps the one that it has. */
type Ending = Pick<store.RunEnd, 'status' | 'msg'> & { readonly state?: TaskState; readonly actor?: Actor | null }

export const keyOf = ({ id }: { readonly id: number }): string => `${taskJob}:${id}`

/** Queues runs at their moments: one job for each task. */
export function enqueueRuns(
  jobs: Pick<Jobs, 'enqueueAll'>,
  tx: Tx,
  tasks: readonly { readonly id: number; readonly at: Date | null }[],
): Promise<void> {
  return jobs.enqueueAll(
    tx,
    tasks.map(({ id, at }) => ({
      name: taskJob,
      payload: { id },
      key: keyOf({ id }),
      maxAttempts,
      ...(at ? { runAt: at } : {}),
    })),
  )
}

export function createRuns(deps: RunDeps) {
  const { db, jobs, events, modules, paused, clock } = deps
  const later = (id: number, at: Date | null) => db.transaction((tx) => enqueueRuns(jobs, tx, [{ id, at }]))

  jobs.register<{ id: number }>(
    taskJob,
    async ({ id }, context) => {
      if (paused()) return later(id, new Date(clock().getTime() + pause))
      const task = await begin(id)
      if (!task) return
      const cause = joinCauses(currentCause(), [{ kind: 'task', id }])
      await withCause(cause, () => goOn(task, context))
    },
    'task',
    { attempts: maxAttempts, end: ({ id }) => breakOff(id) },
  )

  /** Ends a run whose process was ended in each attempt. */
  async function breakOff(id: number): Promise<void> {
    const task = await store.findTask(db, id)
    if (task?.status !== 'running') return
    await endRun(task, { status: 'error', msg: `The service was ended in each of ${maxAttempts} attempts.` })
  }

  /** The task, if it is due or running; null: it is not due. */
  async function begin(id: number): Promise<StoredTask | null> {
    return db.transaction(async (tx) => {
      const task = await store.lockTask(tx, id)
      if (!task) return null
      if (task.status === 'running') return store.takeRun(tx, id)
      const { nextRunAt } = task
      if (!nextRunAt) return null
      if (nextRunAt > clock()) {
        await enqueueRuns(jobs, tx, [{ id, at: nextRunAt }])
        return null
      }
      const { since = null } = task.state
      return store.beginRun(tx, id, { since, upTo: await store.highestObject(tx) })
    })
  }

  async function goOn(task: StoredTask, { isLastAttempt, signal }: JobContext): Promise<void> {
    const run = openRun(deps, task, signal)
    try {
      const module = modules.get(task.module)
      if (!module) throw new Failed('There is no such module any more.')
      const result = await module.work(run)
      if (result === 'later') {
        await run.note()
        return later(task.id, null)
      }
      run.log('info', result.done)
      await run.note()
      await end(run, 'done', result.done)
    } catch (error) {
      if (error instanceof Ended || signal.aborted) {
        if (error instanceof Ended) return
        throw error
      }
      const final = error instanceof Failed || isRefusal(error) || isLastAttempt
      if (!final) throw error
      const message = error instanceof Failed || error instanceof AppError ? error.message : 'The service failed.'
      run.log('error', message)
      await run.note().catch(() => {})
      await end(run, 'error', message.slice(0, 1000))
      if (!(error instanceof Failed || isRefusal(error))) throw error
    }
  }

  /** Ends a run that goes on. */
  async function end(
    { task, state }: Pick<Run, 'task' | 'state'>,
    status: store.RunEnd['status'],
    msg: string,
  ): Promise<void> {
    await endRun(task, { status, msg, state: status === 'done' ? seen(state) : state })
  }

  /**
   * Ends a run, tells of it, and plans the next one; false: it had ended before. `locked` may lock the task first, and refuse.
   */
  function endRun(
    task: StoredTask,
    ended: Ending,
    locked: (tx: Tx) => Promise<StoredTask> = () => Promise.resolve(task),
  ): Promise<boolean> {
    return withEndMails(deps, task, ended.status, (admitted) =>
      db.transaction(async (tx) => endWithin(tx, await locked(tx), ended, admitted)),
    )
  }

  async function endWithin(
    tx: Tx,
    task: StoredTask,
    { status, msg, state = task.state, actor = null }: Ending,
    admitted: EndRecipients,
  ): Promise<boolean> {
    const nextRunAt = nextOfAll(task.schedules, clock())
    const over = await store.endRun(tx, task, { status, msg, state, nextRunAt })
    if (!over) return false
    if (nextRunAt) await enqueueRuns(jobs, tx, [{ id: task.id, at: nextRunAt }])
    const who = actor ?? (await deps.actorsOf(tx, [task.userId])).get(task.userId) ?? null
    await events.append(tx, [endEvent(over, who)])
    if (admitted === 'refused') await store.addLine(tx, over, notMailed(deps.mailQuota.most))
    else await mailEnd(deps, tx, over, admitted)
    return true
  }

  return { endRun }
}

const notMailed = (most: number): LogLine => ({
  level: 'warning',
  msg: `No mail was sent: the creator of the task may send to ${most} recipients within an hour (svc.quotas.mails).`,
})

/** The state for the next run. Batches of the index have distinct times: the next one is later by a microsecond at least. */
function seen({ until, since = null, ...state }: TaskState): TaskState {
  return { ...state, since: until === undefined ? since : until + 1 }
}

/** The error is reported to the user; another attempt does not help. */
function isRefusal(error: unknown): boolean {
  return error instanceof AppError && error.status < 500 && error.status !== 423
}

function openRun({ db, actorsOf, clock, foreground }: RunDeps, task: StoredTask, signal: AbortSignal): Run {
  const startedAt = Date.now()
  let batchBegan = performance.now()
  let lines: LogLine[] = []
  let actor: { readonly who: Actor; readonly at: number } | null = null
  const run: Run = {
    task,
    state: task.state,
    signal,
    async actor() {
      if (actor && Date.now() - actor.at < actorAge) return actor.who
      const who = (await actorsOf(db, [task.userId])).get(task.userId)
      if (!who) throw new Failed('The creator of the task may not sign in any more.')
      if (!hasRight(who, manageTasks)) throw new Failed('The creator of the task has the right system.task no more.')
      actor = { who, at: Date.now() }
      return who
    },
    log(level, msg) {
      lines.push({ level, msg })
    },
    async note(progress) {
      if (progress) run.state = { ...run.state, ...progress }
      const told = lines
      lines = []
      const mine = await store.noteProgress(db, task, { state: run.state, percent: percentOf(run.state), lines: told })
      if (!mine) throw new Ended()
    },
    async changed(tx, count) {
      if (!(await store.noteChanged(tx, task, count))) throw new Ended()
    },
    count(changed) {
      run.state = { ...run.state, changed: (run.state.changed ?? 0) + changed }
    },
    async check() {
      signal.throwIfAborted()
      const { timeoutSec, runStartedAt } = task
      if (timeoutSec > 0 && runStartedAt && clock().getTime() > runStartedAt.getTime() + 1000 * timeoutSec) {
        throw new Failed(`The run took longer than ${timeoutSec} seconds.`)
      }
      if (!(await store.isRunning(db, task))) throw new Ended()
    },
    async nextBatch() {
      const took = performance.now() - batchBegan
      const busy = foreground.isBusy()
      if (busy) await Promise.all([foreground.quiet(longestWait), sleep(Math.min(took, longestWait))])
      batchBegan = performance.now()
      return busy ? smallBatch : batchSize
    },
    isLong: () => Date.now() - startedAt > longestJob,
  }
  return run
}

/** Milliseconds for which the rights of the creator are not read again. */
const actorAge = 200

function percentOf({ total, done = 0 }: TaskState): number | null {
  if (total === undefined) return null
  return total === 0 ? 100 : Math.min(100, Math.floor((100 * done) / total))
}

function endEvent(task: StoredTask, actor: Actor | null) {
  const { module, params, status, statusMsg, runStartedAt, runFinishedAt } = task
  const took = runStartedAt && runFinishedAt ? (runFinishedAt.getTime() - runStartedAt.getTime()) / 1000 : null
  return {
    type: status === 'done' ? ('TASK' as const) : ('TASK_ERROR' as const),
    actor,
    basetype: 'task',
    objectId: task.id,
    info: {
      task_module: module,
      params,
      // As clients of the log know it: `DONE`, `ERROR`, `CANCELED`.
      status: status.toUpperCase(),
      status_msg: statusMsg,
      start: runStartedAt?.toISOString() ?? null,
      end: runFinishedAt?.toISOString() ?? null,
      took,
      ...(status === 'done' ? {} : { error: statusMsg }),
    },
  }
}
