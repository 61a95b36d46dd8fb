import type { FastifyReply } from 'fastify'
import type { BaseConfigService } from '../../config/service.ts'
import type { Jobs } from '../../jobs/service.ts'
import type { MailService } from '../../mail/service.ts'
import { identityKey, passwordUserTypes } from '../../people/model.ts'
import { signInObstacle, users } from '../../people/service.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { html, joined } from '../../platform/values/html.ts'
import { button, field } from '../pages/fields.ts'
import type { PageDefinition } from '../pages/routes.ts'
import type { Visit } from '../pages/service.ts'

import type { Throttle } from '../throttle.ts'
import { addresseeOf, type MailLetters, sendsMail } from './mails.ts'
import { issuedLately, issueTokens, lifetimes } from './tokens.ts'

const name = 'forgotPassword'
const job = 'account.forgot_password'
/** Maximum number of mails to one account within an hour. */
const mostMails = 3

export interface ForgotDependencies {
  db: Db
  jobs: Pick<Jobs, 'enqueue' | 'register'>
  mail: MailService
  letters: MailLetters
  throttle: Throttle
  baseConfig: BaseConfigService
  clock: () => Date
}

/**
 * Asks for a mail with a link for a new password. The answer is the same, and takes as long, whether there is such an account or
 * not: a job looks for the account.
 */
export function forgotPasswordPage(deps: ForgotDependencies): PageDefinition {
  const { db, jobs, throttle, baseConfig } = deps
  jobs.register<{ name: string }>(job, (payload) => sendLink(deps, payload.name))

  function page(visit: Visit, problem: string | null): FastifyReply {
    const { text } = visit
    const fields = field({
      name: 'login',
      label: text('login.login'),
      autocomplete: 'username',
      invalid: problem !== null,
      autofocus: true,
    })
    const form = visit.form(`/api/page/${name}`, joined([fields, button(text('forgotPassword.submit'))]))
    const content = html`<p>${text('forgotPassword.text')}</p>${form}`
    return visit.send({ title: text('forgotPassword.title'), content, problem })
  }

  function closed(visit: Visit): FastifyReply {
    const { text } = visit
    return visit.send({ title: text('forgotPassword.title'), content: html`<p>${text('forgotPassword.noMail')}</p>` })
  }

  return {
    name,
    writes: true,
    show: async (visit) => (sendsMail(baseConfig) ? page(visit, null) : closed(visit)),
    async submit(visit, form) {
      const { text, request } = visit
      if (!sendsMail(baseConfig)) return closed(visit)
      const typed = identityKey(form.get('login') ?? '')
      if (typed === '' || typed.length > 500) return page(visit, text('forgotPassword.missing'))
      // Every request counts: its result is not known here.
      await throttle.failed(db, await throttle.openForNetwork(db, name, request.ip))
      await db.transaction((tx) => jobs.enqueue(tx, job, { name: typed }, { maxAttempts: 5 }))
      const content = html`<p>${text('forgotPassword.sent')}</p><p class="muted">${text('forgotPassword.wait')}</p>`
      return visit.send({ title: text('forgotPassword.sentTitle'), content })
    },
  }
}

async function sendLink({ db, mail, letters, clock }: ForgotDependencies, key: string): Promise<void> {
  await db.transaction(async (tx) => {
    const id = await users.findByLoginOrEmail(tx, key)
    // Locked, so that two jobs at once do not both see that few mails were sent.
    const [user] = id === null ? [] : await users.lockUsers(tx, [id], [])
    if (!user?.email || !passwordUserTypes.includes(user.type)) return
    const obstacle = signInObstacle({ ...user, archived: user.archivedAt !== null, emailUnconfirmed: false }, clock())
    if (obstacle !== null || (await issuedLately(tx, user.id, 'password', 60)) >= mostMails) return
    const secrets = await issueTokens(tx, [user.id], 'password', lifetimes.reset)
    await mail.send(tx, [letters.write('reset', addresseeOf(user, user.email), secrets.get(user.id) ?? null)])
  })
}
