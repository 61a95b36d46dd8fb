import type { Jobs } from '../../jobs/service.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { lockRunsOf, pendingRuns } from '../runs.ts'

export const runJob = 'exports.run'
/** The prefix of the keys of runs' jobs. */
export const jobKey = `${runJob}:`
/** Attempts of a step when a location cannot be read or written. */
export const maxAttempts = 8

/** Queues jobs for runs; a waiting job of the same run is replaced. */
export async function enqueueRuns(tx: Tx, jobs: Pick<Jobs, 'enqueueAll'>, runIds: readonly number[]): Promise<void> {
  await jobs.enqueueAll(
    tx,
    runIds.map((run) => ({ name: runJob, payload: { run }, key: `${jobKey}${run}`, maxAttempts })),
  )
}

/**
 * Starts the next waiting runs of a user. Waits for a process that is just checking whether a run may start: it would
 * still see this run in progress, and no other process would start the waiting one.
 */
export async function wakeNext(tx: Tx, jobs: Pick<Jobs, 'enqueueAll'>, userId: number, most: number): Promise<void> {
  await lockRunsOf(tx, userId)
  await enqueueRuns(tx, jobs, await pendingRuns(tx, userId, most))
}
