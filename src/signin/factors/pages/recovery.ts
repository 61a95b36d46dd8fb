import type { FastifyReply } from 'fastify'
import { html } from '../../../platform/values/html.ts'
import type { Login } from '../../flows/login.ts'
import { loginPage } from '../../flows/login-page.ts'
import { button } from '../../pages/fields.ts'
import type { PageDefinition } from '../../pages/routes.ts'
import type { Visit } from '../../pages/service.ts'
import { notesOf, stepName } from '../notes.ts'
import { type FactorPages, toPage } from './shared.ts'

/** The page after the recovery codes, which are the answer to the form before: only a link to continue. */
export function recoveryPage(given: FactorPages): PageDefinition {
  const { flows } = given
  return loginPage(flows, {
    name: 'twoFactorRecovery',
    step: stepName,
    show: async (visit, login) => toPage(given, visit, 'twoFactor', login),
    async submit(visit, login) {
      if (notesOf(login).proved === null) return toPage(given, visit, 'twoFactor', login)
      return visit.reply.redirect(await flows.passed(login, stepName), 303)
    },
  })
}

/** Shows new recovery codes, only this time. */
export function sendRecoveryCodes(visit: Visit, login: Login, codes: readonly string[]): FastifyReply {
  const { text } = visit
  const list = codes.map((code) => html`<li><code>${code}</code></li>`)
  const form = visit.form('/api/page/twoFactorRecovery', button(text('factor.recoverySubmit')), { flow: login.id })
  const content = html`<p>${text('factor.recoveryWhat')}</p><ul>${list}</ul><p>${text('factor.recoveryKeep')}</p>${form}`
  return visit.send({ title: text('factor.recoveryTitle'), content, formTargets: [login.redirectUri] })
}
