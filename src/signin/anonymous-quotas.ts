import { networkOf, quotaExceeded, siteOf } from '../platform/limits/callers.ts'
import type { Db } from '../platform/postgres/db.ts'
import { useHourly } from '../platform/postgres/hourly-quotas.ts'

export type AnonymousQuotas = ReturnType<typeof createAnonymousQuotas>

const quota = { rows: 'svc.quotas.signIns' }
/** The limit of one site (an IPv6 /48), and of all networks together, as multiples of one network's. */
const ofSite = 4
const ofAll = 100
/** Sign-ins that any network may still begin within an hour when the total is used up. */
const always = 10

/**
 * Limits for data that is stored for strangers, who have proved nothing: sign-ins that wait for another server or for a passkey,
 * challenges of passkeys, sign-ins of guests. Each is deleted when its time is over, and none displaces another. So each network
 * may begin a limited number within an hour. When all networks together have begun very many, a network with few may still begin
 * some.
 */
export function createAnonymousQuotas({ db, most }: { db: Db; most: number }) {
  return {
    /** Called before one more is stored for a caller from there. @throws {AppError} `QuotaExceeded` */
    async admit(address: string): Promise<void> {
      const [network, site] = [`network ${networkOf(address)}`, `site ${siteOf(address)}`]
      const everybody = 'everybody'
      const used = await useHourly(
        db,
        quota,
        [
          { caller: network, mostRows: most },
          { caller: site, mostRows: ofSite * most },
          { caller: everybody, mostRows: Number.POSITIVE_INFINITY },
        ],
        { rows: 1 },
      )
      const [own, all] = [used.get(network), used.get(everybody)]
      if (!own || !all || all.rows <= ofAll * most || own.rows <= always) return
      throw quotaExceeded(quota.rows, always, all.seconds)
    },
  }
}
