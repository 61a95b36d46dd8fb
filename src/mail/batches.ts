import type { Jobs } from '../jobs/service.ts'
import { currentCause, joinCauses, withCause } from '../platform/cause.ts'
import type { Db, Queryable, Tx } from '../platform/postgres/db.ts'
import { nextTime, type Schedule } from '../platform/values/schedule.ts'
import type { KeyedMail, Mail, QueuedMail } from './model.ts'

/** A mail that may wait for the time at which its reader wants mail. */
export interface WaitingMail {
  readonly userId: number
  readonly schedule: Schedule | null
  readonly mail: KeyedMail
}

/** The current address of a user; absent: there is none, or the user may no longer sign in. */
export type FindReaders = (
  from: Queryable,
  people: readonly `u${number}`[],
) => Promise<readonly { readonly userId: number; readonly email: string; readonly languages: readonly string[] }[]>

const job = 'mail.batch'
/** More mails than this are sent as several. */
const mostTogether = 200
/** Milliseconds after which waiting mails are checked again while none are sent. */
const untilAsked = 600_000

export interface BatchOptions {
  readonly db: Db
  readonly jobs: Pick<Jobs, 'enqueueAll' | 'register'>
  readonly readers: FindReaders
  readonly send: (tx: Tx, mails: readonly KeyedMail[]) => Promise<void>
  /** Whether mails of this kind are sent to users now. */
  readonly active: () => boolean
  /** Called when mails could not be combined. */
  readonly onFailure: (error: Error) => Promise<void>
}

/** Mails to users who want them at certain times, combined into one (`mail_schedule`). */
export function createBatches({ db, jobs, readers, send, active, onFailure }: BatchOptions) {
  jobs.register<{ userId: number }>(job, async ({ userId }, { jobId }) => {
    if (!active()) return db.transaction((tx) => wait(tx, userId))
    try {
      await sendWaiting(userId, jobId)
    } catch (error) {
      await onFailure(error as Error)
      throw error
    }
  })

  const wait = (tx: Tx, userId: number): Promise<void> =>
    jobs.enqueueAll(tx, [
      { name: job, payload: { userId }, runAt: new Date(Date.now() + untilAsked), key: `${job}:${userId}` },
    ])

  const sendWaiting = (userId: number, jobId: number): Promise<void> =>
    db.transaction(async (tx) => {
      const { rows } = await tx.query<{ mail: QueuedMail }>(
        `with gone as (delete from mail_batch where user_id = $1 returning id, mail) select mail from gone order by id`,
        [userId],
      )
      const [reader] = await readers(tx, [`u${userId}`])
      if (!reader) return
      const mails = rows.map(({ mail: { why: _, ...mail } }): Mail => mail)
      const together: KeyedMail[] = []
      for (let at = 0; at < mails.length; at += mostTogether) {
        const key = `${job}:${jobId}:${at}`
        together.push({ ...joined(mails.slice(at, at + mostTogether)), to: [reader.email], key })
      }
      const cause = joinCauses(currentCause(), ...rows.map(({ mail }) => mail.why))
      await withCause(cause, () => send(tx, together))
    })

  return {
    /** Queues mails: those to readers without a schedule at once, the others for the next time in the reader's schedule. */
    async sendWhenWanted(tx: Tx, waiting: readonly WaitingMail[], now: Date): Promise<void> {
      if (!active()) return
      const timed = waiting.map((one) => ({ ...one, at: one.schedule && nextTime(one.schedule, now) }))
      const later = timed.flatMap(({ at, ...one }) => (at ? [{ ...one, at }] : []))
      await send(
        tx,
        timed.flatMap(({ at, mail }) => (at ? [] : mail)),
      )
      if (later.length === 0) return
      // The next job of a reader replaces this one, so the mail itself stores the cause.
      const why = currentCause()
      const rows = later.map(({ userId, mail: { key, ...mail } }) => ({
        user_id: userId,
        key,
        mail: { ...mail, ...(why.length > 0 ? { why } : {}) } satisfies QueuedMail,
      }))
      await tx.query(
        `insert into mail_batch (user_id, key, mail)
         select user_id, key, mail from json_to_recordset($1) as x(user_id bigint, key text, mail jsonb)
         on conflict (key) do nothing`,
        [JSON.stringify(rows)],
      )
      const due = new Map(later.map(({ userId, at }) => [userId, at]))
      // One job for each reader: the next one replaces it.
      await jobs.enqueueAll(
        tx,
        [...due].map(([userId, runAt]) => ({ name: job, payload: { userId }, runAt, key: `${job}:${userId}` })),
      )
    },
  }
}

/** One mail out of several: each part has its subject as a heading. */
function joined(mails: readonly Mail[]): Mail {
  const [first] = mails as [Mail, ...Mail[]]
  if (mails.length === 1) return first
  const { html: _, ...plain } = first
  const german = first.languages[0]?.startsWith('de') === true
  const cause = { ...first.cause, Batched: mails.map(({ template, cause: each }) => ({ Template: template, ...each })) }
  return {
    ...plain,
    template: 'batch',
    subject: german ? `${mails.length} Nachrichten` : `${mails.length} messages`,
    text: mails.map(({ subject, text }) => `${subject}\n\n${text}`).join(`\n\n${'-'.repeat(40)}\n\n`),
    cause,
  }
}
