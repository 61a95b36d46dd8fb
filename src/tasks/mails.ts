/** Mails about the ends of runs. They count for the creator of the task, like mails that are written by hand. */
import type { Mail, MailQuota, MailService } from '../mail/service.ts'
import { AppError } from '../platform/errors.ts'
import { callerOf } from '../platform/limits/callers.ts'
import type { Tx } from '../platform/postgres/db.ts'
import type { Recipient, StoredTask } from './model.ts'

const words = {
  done: ['ist fertig', 'is done'],
  canceled: ['wurde abgebrochen', 'was canceled'],
  error: ['ist fehlgeschlagen', 'has failed'],
} as const

export interface EndMailDeps {
  readonly mail: Pick<MailService, 'send' | 'isConfigured'>
  readonly mailQuota: MailQuota
  readonly languages: () => readonly string[]
  /** The name of the instance in mails. */
  readonly instance: () => string
}

/** The recipients of the mail about the end of a run; `refused`: its creator has used up the quota of mails. */
export type EndRecipients = readonly Recipient[] | 'refused'

/**
 * Ends a run by `work`, which gets the recipients of mails: they are counted before its transaction, and given back
 * if it ends no run.
 */
export async function withEndMails(
  { mail, mailQuota }: Pick<EndMailDeps, 'mail' | 'mailQuota'>,
  { recipients, userId }: StoredTask,
  status: 'done' | 'canceled' | 'error',
  work: (admitted: EndRecipients) => Promise<boolean>,
): Promise<boolean> {
  const wanted = mail.isConfigured()
    ? recipients.filter(({ problems_only: problems }) => !problems || status !== 'done')
    : []
  if (wanted.length === 0) return work([])
  const caller = callerOf({ userId, reference: null }, '')
  const admitted = await mailQuota.reserve(caller, wanted.length).then(
    () => true,
    (error: unknown) => {
      if (error instanceof AppError && error.code === 'QuotaExceeded') return false
      throw error
    },
  )
  if (!admitted) return work('refused')
  let ended = false
  try {
    ended = await work(wanted)
    return ended
  } finally {
    if (!ended) await mailQuota.giveBack(caller, wanted.length)
  }
}

/** Sends the mails about the end of the run. */
export async function mailEnd(
  { mail, languages: spoken, instance }: EndMailDeps,
  tx: Tx,
  task: StoredTask,
  recipients: readonly Recipient[],
): Promise<void> {
  const { status } = task
  if (recipients.length === 0 || status === 'new' || status === 'running') return
  const languages = spoken()
  const german = languages[0]?.startsWith('de') === true
  const end = words[status][german ? 0 : 1]
  const title = task.description.split('\n')[0]?.slice(0, 200) || task.module
  const text = [`${title} (${german ? 'Aufgabe' : 'task'} ${task.id}, ${task.module}) ${end}.`, task.statusMsg]
  const mails = recipients.map(
    ({ email }): Mail => ({
      template: 'task',
      to: [email],
      subject: `${instance()}: ${title} ${end}`,
      text: text.filter((line) => line !== '').join('\n\n'),
      languages,
      cause: { TaskID: task.id },
    }),
  )
  await mail.send(tx, mails)
}
