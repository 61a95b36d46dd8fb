import type { Mail, MailService } from '../mail/service.ts'
import { AppError } from '../platform/errors.ts'
import { callerOf } from '../platform/limits/callers.ts'
import type { Tx } from '../platform/postgres/db.ts'
import { useHourly } from '../platform/postgres/hourly-quotas.ts'
import type { StoredTask } from './model.ts'

const words = {
  done: ['ist fertig', 'is done'],
  canceled: ['wurde abgebrochen', 'was canceled'],
  error: ['ist fehlgeschlagen', 'has failed'],
} as const

export interface EndMailDeps {
  readonly mail: Pick<MailService, 'send' | 'isConfigured'>
  readonly languages: readonly string[]
  readonly instance: string
  /** Maximum number of recipients of one user within an hour. */
  readonly mostMails: number
}

/** Informs the recipients of the result of a run; `refused`: its creator has reached the limit of mails. */
export async function mailEnd(deps: EndMailDeps, tx: Tx, task: StoredTask): Promise<'sent' | 'refused'> {
  const { mail, languages, instance, mostMails } = deps
  const { recipients, status } = task
  if (status === 'new' || status === 'running' || !mail.isConfigured()) return 'sent'
  const wanted = recipients.filter(({ problems_only: problems }) => !problems || status !== 'done')
  if (wanted.length === 0) return 'sent'
  if (!(await admit(tx, task.userId, { most: mostMails, count: wanted.length }))) return 'refused'
  const german = languages[0]?.startsWith('de') === true
  const end = words[status][german ? 0 : 1]
  const title = task.description.split('\n')[0]?.slice(0, 200) || task.module
  const text = [`${title} (${german ? 'Aufgabe' : 'task'} ${task.id}, ${task.module}) ${end}.`, task.statusMsg]
  const mails = wanted.map(
    ({ email }): Mail => ({
      template: 'task',
      to: [email],
      subject: `${instance}: ${title} ${end}`,
      text: text.filter((line) => line !== '').join('\n\n'),
      languages,
      cause: { TaskID: task.id },
    }),
  )
  await mail.send(tx, mails)
  return 'sent'
}

/** Counts the mails for the creator of the task, like mails that a user writes by hand. */
async function admit(
  tx: Tx,
  userId: number,
  { most, count }: { readonly most: number; readonly count: number },
): Promise<boolean> {
  const share = { caller: callerOf({ userId, reference: null }, ''), mostRows: most }
  try {
    await useHourly(tx, { rows: 'svc.quotas.mails' }, [share], { rows: count })
    return true
  } catch (error) {
    if (error instanceof AppError && error.code === 'QuotaExceeded') return false
    throw error
  }
}
