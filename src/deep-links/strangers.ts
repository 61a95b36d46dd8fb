import type { Actor } from '../platform/actor.ts'
import { isShared, networkOf, siteOf } from '../platform/limits/callers.ts'
import { outsideDeadlines } from '../platform/limits/deadline.ts'
import type { Db } from '../platform/postgres/db.ts'
import { useHourly } from '../platform/postgres/hourly-quotas.ts'

const quota = { rows: 'svc.quotas.deepLinks' }
/** Networks of one place (an IPv6 /48) have so many shares together. */
const ofSite = 4

/** Counts what is opened by callers who have no account of their own: nobody is to try out all numbers, or to take everything. */
export function createStrangerQuota({ db, most }: { readonly db: Db; readonly most: number }) {
  /** @param links that it counts as. @throws {AppError} `QuotaExceeded` */
  return async (actor: Actor | null, address: string, links = 1): Promise<void> => {
    if (actor && !isShared(actor)) return
    const shares = [
      { caller: `network ${networkOf(address)}`, mostRows: most },
      { caller: `site ${siteOf(address)}`, mostRows: ofSite * most },
    ]
    await outsideDeadlines(() => useHourly(db, quota, shares, { rows: Math.min(links, most) }))
  }
}
