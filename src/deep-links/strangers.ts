import type { Actor } from '../platform/actor.ts'
import { isShared, networkOf, siteOf } from '../platform/limits/callers.ts'
import { outsideDeadlines } from '../platform/limits/deadline.ts'
import type { Db } from '../platform/postgres/db.ts'
import { useHourly } from '../platform/postgres/hourly-quotas.ts'

const quota = { rows: 'svc.quotas.deepLinks' }
/** All networks of one site (an IPv6 /48) together may use so many quotas. */
const ofSite = 4

/** Limits requests of callers without an account: they must not try out all numbers, or download everything. */
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
