import { onStatement } from '../../src/platform/db.ts'
import type { TestService } from './service.ts'

/**
 * How many SQL statements a piece of work costs: the least of three runs, each begun with empty queues. Background
 * work of the service (queues, timers) sends statements too, and can only add to a run, never take away from it.
 */
export async function statementsOf(svc: TestService, work: (run: number) => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < 3; run++) {
    await svc.drain()
    let count = 0
    const stop = onStatement(() => count++)
    try {
      await work(run)
    } finally {
      stop()
    }
    least = Math.min(least, count)
  }
  return least
}
