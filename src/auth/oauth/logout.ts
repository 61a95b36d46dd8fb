import type { FastifyReply } from 'fastify'
import { html } from 'ghtml'
import { browserHashesOf } from '../browser-id.ts'
import type { KeepLogins } from '../keep-login.ts'
import { button } from '../pages/fields.ts'
import { type Visit, wantsPage } from '../pages/service.ts'
import type { Sessions } from '../sessions/service.ts'
import type { Form } from './form.ts'

export interface LogoutDependencies {
  sessions: Sessions
  keepLogins: KeepLogins
  aliases: readonly string[]
}

export type Logout = ReturnType<typeof createLogout>

/** Signs out in this browser: it no longer stays signed in (SESS-004), and the tokens that are bound to it end. */
export function createLogout({ sessions, keepLogins, aliases }: LogoutDependencies) {
  return async function logout(visit: Visit, form: Form | null): Promise<FastifyReply> {
    const { request, reply, text } = visit
    // A link on another site must not sign anybody out: there people are asked first.
    const site = request.headers['sec-fetch-site']
    const foreign = site === 'cross-site' || site === 'same-site'
    if (foreign && !visit.isOwnForm(form?.get('csrf'))) {
      const content = visit.form('/logout', button(text('signOut.submit')))
      return visit.send({ title: text('signOut.title'), content: html`<p>${text('signOut.text')}</p>!${content}` })
    }
    await keepLogins.forget(request, reply)
    await sessions.endOfBrowsers(browserHashesOf(request, aliases), request.ip)
    if (!wantsPage(request)) return reply.status(204).header('Cache-Control', 'no-store').send()
    return visit.send({ title: text('signedOut.title'), content: html`<p>${text('signedOut.text')}</p>` })
  }
}
