import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { onStatement } from '../../src/platform/postgres/statements.ts'
import type { TestService } from './service.ts'

const counted = new AsyncLocalStorage<true>()
/** Who the caller is, is read anew when it was read more than five seconds ago: at whichever request that falls on. */
const ofSession = /\bjoin oauth_session\b/
/** Shares are read into memory once for changes that come together: now and then a change finds that reading begun by another. */
const ofShares = /\bwith sharing as materialized\b/
/** The commit wakes the indexer, which begins so: before the answer when that takes longer, and else after it. */
const ofIndexer = /^select pg_try_advisory_lock\(\$1\) as locked\b/

const isUncounted = (text: string): boolean => [ofSession, ofShares, ofIndexer].some((pattern) => pattern.test(text))

/**
 * How many SQL statements a piece of work costs: the least of three runs, each begun with empty queues. What the service
 * sends from its own timers does not count; what the work wakes up does, and can only add to a run, never take away from
 * it. So a run that costs no more than `enough` is the last one. Statements that match `aside` do not count either: those of work
 * that goes on after the answer, since any number of them may fall into a run.
 */
export async function statementsOf(
  svc: TestService,
  work: (run: number) => Promise<unknown>,
  { enough = 0, aside }: { readonly enough?: number; readonly aside?: RegExp } = {},
): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < 3 && least > enough; run++) {
    await svc.drain()
    let count = 0
    const stop = onStatement((text) => {
      if (counted.getStore() && !isUncounted(text) && !aside?.test(text)) count++
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
