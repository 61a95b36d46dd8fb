import type { Db, Tx } from '../../platform/postgres/db.ts'
import { lockRun, type Run } from '../runs.ts'
import { RunOver } from './over.ts'

/** A run and the attempt that holds it. */
export type HeldRun = Pick<Run, 'id' | 'holder'>

/** Runs the work in a transaction in which the run is in progress and held by this attempt. @throws {RunOver} */
export async function inRun(
  { db }: { readonly db: Db },
  { id, holder }: HeldRun,
  write: (tx: Tx) => Promise<void>,
): Promise<void> {
  await db.transaction(async (tx) => {
    const run = await lockRun(tx, id, 'processing')
    if (run?.holder !== holder) throw new RunOver()
    await write(tx)
  })
}

/** Milliseconds between two checks whether a run is still in progress. */
const lookEvery = 500

/** For external work on a run: a signal that aborts when the run is over, or the process ends. */
export function whileRunning(
  deps: { readonly db: Db },
  run: HeldRun,
  signal: AbortSignal,
): Disposable & { readonly signal: AbortSignal /** @throws {RunOver} */; assertGoesOn(): void } {
  const stop = new AbortController()
  let looking = false
  const look = async (): Promise<void> => {
    if (looking) return
    looking = true
    try {
      await inRun(deps, run, async () => {})
    } catch (error) {
      // A failed query does not end the run.
      if (error instanceof RunOver) stop.abort(error)
    } finally {
      looking = false
    }
  }
  const timer = setInterval(look, lookEvery)
  return {
    signal: AbortSignal.any([signal, stop.signal]),
    assertGoesOn() {
      if (stop.signal.aborted) throw stop.signal.reason
      signal.throwIfAborted()
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}
