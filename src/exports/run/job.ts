/** Runs as jobs: one part after the other, so that any process can continue where another has stopped. */
import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Attempt, Jobs } from '../../jobs/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import { about } from '../log.ts'
import type { StoredExport } from '../model.ts'
import * as runs from '../runs.ts'
import { findExports } from '../store.ts'
import type { TransportRunner } from '../transports/run.ts'
import { writeData, writeEach } from './documents.ts'
import { planFiles } from './files.ts'
import { writeGone } from './gone.ts'
import { inRun } from './hold.ts'
import { listObjects } from './list.ts'
import type { Done, RunDeps, Running } from './model.ts'
import { CannotRun, RunOver } from './over.ts'
import { askPlugin } from './plugin.ts'
import { enqueueRuns, jobKey, maxAttempts, runJob, wakeNext } from './queue.ts'

export interface RunJobDeps extends RunDeps {
  readonly jobs: Jobs
  readonly log: Logger
  /** The user as an actor, if the user is active. */
  readonly actorOf: (from: Queryable, userId: number) => Promise<Actor | null>
  readonly transports: TransportRunner
  /** Runs of one user that may be in progress at the same time. */
  readonly mostOfUser: number
}

/** Milliseconds after which another job continues, so that other runs get their turn. */
const longestJob = 10_000

export type RunJobs = ReturnType<typeof createRunJobs>

export function createRunJobs(deps: RunJobDeps) {
  const { db, jobs, events } = deps

  jobs.register<{ run: number }>(runJob, ({ run }, attempt) => work(run, attempt), 'export', {
    attempts: maxAttempts,
    end: async ({ run }) => fail(run, null, new CannotRun(`The service was ended in each of ${maxAttempts} attempts.`)),
  })

  async function work(runId: number, attempt: Attempt): Promise<void> {
    const holder = await begin(runId)
    if (holder === null) return
    const until = Date.now() + longestJob
    try {
      for (;;) {
        attempt.signal.throwIfAborted()
        const running = await read(runId, holder)
        if (running.run.step === 'over') return
        const done = await part(running, attempt.signal)
        if (await finishPart(running, done)) return
        if (Date.now() > until) return void (await db.transaction((tx) => enqueueRuns(tx, jobs, [runId])))
      }
    } catch (error) {
      if (error instanceof RunOver) return
      if (attempt.signal.aborted) throw error
      if (isFinal(error) || attempt.isLastAttempt) return fail(runId, holder, error as Error)
      deps.log.warn({ err: error, run: runId }, 'a run of an export is tried again')
      throw error
    }
  }

  /**
   * Starts a waiting run if fewer than `mostOfUser` runs of its user are in progress; takes over a run in progress.
   * @returns the holder of the run; null: it may not run
   */
  async function begin(runId: number): Promise<string | null> {
    const holder = randomUUID()
    return db.transaction(async (tx) => {
      const known = await runs.exportOfRun(tx, runId)
      if (!known || (known.state !== 'processing' && known.state !== 'pending')) return null
      if (!(await runs.lockRun(tx, runId, known.state))) return null
      await runs.holdRun(tx, runId, holder)
      if (known.state === 'processing') return holder
      await runs.lockRunsOf(tx, known.userId)
      // The end of one of those runs starts this one.
      if ((await runs.countProcessing(tx, known.userId)) >= deps.mostOfUser) return null
      const at = await runs.setProcessing(tx, known.id)
      const actor = await deps.actorOf(tx, known.userId)
      await events.append(tx, [
        {
          ...about(actor, known),
          type: 'EXPORT_START',
          info: { state: 'processing', lastRunAt: at.toISOString() },
        },
        { ...about(actor, known), type: 'OBJECT_UPDATE', info: { state: 'processing' } },
      ])
      return holder
    })
  }

  /** @throws {RunOver}, {CannotRun} when its user is no longer active */
  async function read(runId: number, holder: string): Promise<Running> {
    const [run] = await runs.findRuns(db, [runId])
    const [stored] = run?.exportId ? await findExports(db, [run.exportId]) : []
    if (run?.holder !== holder || stored?.runId !== runId || stored.state !== 'processing') throw new RunOver()
    const actor = await deps.actorOf(db, stored.userId)
    if (!actor) throw new CannotRun('The user of the export may not sign in any more.')
    return { stored, run, actor }
  }

  async function part(running: Running, signal: AbortSignal): Promise<Done | null> {
    const { step } = running.run
    if (step === 'list') return listObjects(deps, running)
    if (step === 'files') return planFiles(deps, running)
    if (step.startsWith('each:')) return writeEach(deps, running)
    if (step.startsWith('data:')) return writeData(deps, running)
    if (step === 'gone') return writeGone(deps, running)
    if (step === 'plugin') return askPlugin(deps, running, signal)
    return deps.transports.next(running, signal)
  }

  /** Writes the results of a part, and the new position of the run. @returns whether the run is finished */
  async function finishPart({ stored, run, actor }: Running, done: Done | null): Promise<boolean> {
    if (done === null) return false
    let over = false
    await inRun(deps, run, async (tx) => {
      await done.write?.(tx)
      await runs.warn(tx, run.id, done.warnings ?? [])
      await runs.advance(tx, run.id, done)
      over = done.step === 'over'
      if (over) await finish(tx, stored, actor, run.id)
    })
    return over
  }

  async function finish(tx: Tx, stored: StoredExport, actor: Actor, runId: number): Promise<void> {
    const [run] = await runs.findRuns(tx, [runId])
    if (!run) return
    const state = run.warningCount > 0 ? 'done_with_warnings' : 'done'
    await runs.setFinished(tx, stored.id, { state, changed: run.total, followed: run.facts.followed ?? null })
    const common = { state, totalCount: run.total, warnings: run.warnings, plugin_log: stored.pluginLog }
    await events.append(tx, [
      { ...about(actor, stored), type: run.total === 0 ? 'EXPORT_FINISH_EMPTY' : 'EXPORT_FINISH', info: common },
      { ...about(actor, stored), type: 'OBJECT_UPDATE', info: { state } },
    ])
    await wakeNext(tx, jobs, stored.userId, deps.mostOfUser)
  }

  /** @param holder the attempt that has failed; null: the last one, which was killed */
  async function fail(runId: number, holder: string | null, error: Error): Promise<void> {
    const [run] = await runs.findRuns(db, [runId])
    const [stored] = run?.exportId ? await findExports(db, [run.exportId]) : []
    if (!run || !stored) return
    const message =
      error instanceof AppError || error instanceof CannotRun ? error.message : 'An internal error occurred.'
    if (!(error instanceof AppError || error instanceof CannotRun))
      deps.log.error({ err: error, run: runId }, 'a run of an export failed')
    const pluginLog = (error instanceof CannotRun ? error.pluginLog : null) ?? stored.pluginLog
    const actor = await deps.actorOf(db, stored.userId)
    await db.transaction(async (tx) => {
      const locked = await runs.lockRun(tx, runId, 'processing')
      if (!locked || (holder !== null && locked.holder !== holder)) return
      await runs.setFailed(tx, stored.id, pluginLog)
      const info = {
        state: 'failed',
        totalCount: run.total,
        warnings: run.warnings,
        plugin_log: pluginLog,
        error: message,
      }
      await events.append(tx, [
        { ...about(actor, stored), type: 'EXPORT_FAILED', info },
        { ...about(actor, stored), type: 'OBJECT_UPDATE', info: { state: 'failed' } },
      ])
      await wakeNext(tx, jobs, stored.userId, deps.mostOfUser)
    })
  }

  return {
    /** Continues runs without a job. To be called once, with the jobs ready. */
    async wake(): Promise<void> {
      const ids = await runs.abandonedRuns(db, jobKey)
      await db.transaction((tx) => enqueueRuns(tx, jobs, ids))
    },
  }
}

/** Whether another attempt would fail in the same way. */
function isFinal(error: unknown): boolean {
  if (error instanceof CannotRun) return true
  return error instanceof AppError && error.status < 500 && error.code !== 'ReindexInProgress' && error.status !== 429
}
