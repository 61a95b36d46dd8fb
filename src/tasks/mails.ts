import type { Mail, MailService } from '../mail/service.ts'
import type { Tx } from '../platform/postgres/db.ts'
import type { StoredTask } from './model.ts'

const words = {
  done: ['ist fertig', 'is done'],
  canceled: ['wurde abgebrochen', 'was canceled'],
  error: ['ist fehlgeschlagen', 'has failed'],
} as const

/** Tells those who want to know how a run has ended. */
export async function mailEnd(
  {
    mail,
    languages,
    instance,
  }: { mail: Pick<MailService, 'send' | 'isConfigured'>; languages: readonly string[]; instance: string },
  tx: Tx,
  task: StoredTask,
): Promise<void> {
  const { recipients, status } = task
  if (status === 'new' || status === 'running' || !mail.isConfigured()) return
  const wanted = recipients.filter(({ problems_only: problems }) => !problems || status !== 'done')
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
  if (mails.length > 0) await mail.send(tx, mails)
}
