import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { onStatement } from '../../src/platform/db.ts'
import type { TestService } from './service.ts'

const counted = new AsyncLocalStorage<true>()

/**
 * How many SQL statements a piece of work costs: the least of three runs, each begun with empty queues. What the service
 * sends from its own timers does not count; what the work wakes up (the indexer) does, and can only add to a run, never
 * take away from it.
 */
export async function statementsOf(svc: TestService, work: (run: number) => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < 3; run++) {
    await svc.drain()
    let count = 0
    const stop = onStatement(() => {
      if (counted.getStore()) count++
    })
    try {
      await counted.run(true, () => work(run))
    } finally {
      stop()
    }
    least = Math.min(least, count)
  }
  assert.ok(least > 0, 'nothing was counted')
  return least
}
