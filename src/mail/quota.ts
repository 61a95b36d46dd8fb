/** The hourly limit of mails of one caller: by hand, by tasks and by shares together. */
import type { Queryable } from '../platform/postgres/db.ts'
import { refundHourly, reserveHourly } from '../platform/postgres/hourly-quotas.ts'

export type MailQuota = ReturnType<typeof createMailQuota>

const quota = { rows: 'svc.quotas.mails' }

/** `most`: recipients to whom one caller sends within an hour. */
export function createMailQuota({ db, most }: { readonly db: Queryable; readonly most: number }) {
  return {
    most,

    /**
     * Counts the recipients before a transaction writes to them: the row of a caller is locked for one statement, and a refusal
     * counts nothing. @throws {AppError} `QuotaExceeded`
     */
    reserve: (caller: string, recipients: number): Promise<void> =>
      reserveHourly(db, quota, { caller, mostRows: most }, recipients),

    /** For mails that were not written. */
    giveBack: (caller: string, recipients: number): Promise<void> => refundHourly(db, quota, [caller], recipients),
  }
}
