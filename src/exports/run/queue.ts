import type { Jobs } from '../../jobs/service.ts'
import type { Tx } from '../../platform/postgres/db.ts'

export const runJob = 'exports.run'
/** Times that a step is tried when a place cannot be read or written. */
export const maxAttempts = 8

/** Lets a process go on with a run; one that waits already is replaced. */
export async function enqueueRun(tx: Tx, jobs: Pick<Jobs, 'enqueue'>, runId: number): Promise<void> {
  await jobs.enqueue(tx, runJob, { run: runId }, { key: `${runJob}:${runId}`, maxAttempts })
}
