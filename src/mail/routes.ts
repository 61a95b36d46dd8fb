import type { Actor } from '../platform/actor.ts'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { type NeededRight, requireRight } from '../platform/http/system-right.ts'
import { callerOf } from '../platform/limits/callers.ts'
import { Ok } from '../platform/values/tasks.ts'
import type { MailQuota } from './quota.ts'
import { MailInput, TestMailInput } from './schema.ts'
import type { MailService } from './service.ts'
import { address, writtenMail } from './written.ts'

const tags = ['system']
const sendMail: NeededRight = { name: 'system.sendmail' }
const config = { access: 'user', writes: true, systemRight: sendMail, errors: ['EmailSent'] as const } as const

export interface MailRouteDeps {
  readonly mail: MailService
  readonly quota: MailQuota
  readonly instanceName: () => string
}

/** Mail that a user writes by hand, and test mails. Each is an event, so read-only mode refuses it. */
export function registerMailRoutes(app: HttpApp, { mail, quota, instanceName }: MailRouteDeps): void {
  /** Counted before they are sent: also what the server then refuses. @throws {AppError} `QuotaExceeded` */
  const admit = (actor: Actor, recipients: number): Promise<void> =>
    quota.reserve(callerOf(actor, actor.remoteAddr), recipients)

  app.post(
    '/api/v1/system/sendmail',
    {
      schema: {
        operationId: 'sendMail',
        summary: 'Send a mail through the mail server of the instance',
        description:
          'Answered when the server has taken it; what it refuses is `EmailSent`. The log has it in both cases. One user sends ' +
          'to so many recipients within an hour as `svc.quotas.mails` allows; a further mail is answered 429 `QuotaExceeded`.',
        tags,
        body: MailInput,
        response: { 200: Ok },
      },
      config: { ...config, body: 'mail' },
    },
    async (request) => {
      const actor = actorOf(request)
      requireRight(actor, sendMail)
      const written = writtenMail(request.body)
      // The right to send mail does not include sending in the name of others.
      if (written.from !== undefined && written.from !== mail.sender()) requireRight(actor, { name: 'system.root' })
      await admit(actor, written.to.length + written.cc.length + written.bcc.length)
      await mail.sendNow(written, { User: actor.login, UserID: actor.userId })
      return { status: 'ok' as const }
    },
  )

  app.post(
    '/api/v1/system/sendmail/test',
    {
      schema: {
        operationId: 'sendTestMail',
        summary: 'Send a mail that only tests the settings',
        description: 'To the address given, or to the sender of the instance.',
        tags,
        body: TestMailInput,
        response: { 200: Ok },
      },
      config: { ...config, body: 'one' },
    },
    async (request) => {
      const actor = actorOf(request)
      requireRight(actor, sendMail)
      const { to } = request.body
      const recipients = to ? [address(to, 'to')] : mail.sender() === '' ? [] : [mail.sender()]
      await admit(actor, 1)
      const name = instanceName()
      await mail.sendNow(
        {
          template: 'test',
          to: recipients,
          cc: [],
          bcc: [],
          subject: `Test: ${name}`.replace(/\s+/g, ' '),
          text: `${name} can send mail. ${actor.displayname} has asked for this test.`,
          attachments: [],
        },
        { User: actor.login, UserID: actor.userId },
      )
      return { status: 'ok' as const }
    },
  )
}
