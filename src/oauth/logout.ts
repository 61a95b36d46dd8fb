import type { FastifyReply } from 'fastify'
import type { Form } from '../platform/http/form.ts'
import { html } from '../platform/values/html.ts'
import { browserHashesOf, button, type KeepLogins, type Sessions, type Visit, wantsPage } from '../signin/service.ts'

export interface LogoutDependencies {
  sessions: Sessions
  keepLogins: KeepLogins
  aliases: readonly string[]
  /** The address at which a browser signs out at its provider, too; null: none. */
  signOutAddress: (browserHashes: readonly Buffer[]) => Promise<string | null>
}

export type Logout = ReturnType<typeof createLogout>

/** Signs out in this browser: the kept sign-in is deleted (SESS-004), and the tokens that are bound to the browser are revoked. */
export function createLogout({ sessions, keepLogins, aliases, signOutAddress }: LogoutDependencies) {
  return async function logout(visit: Visit, form: Form | null): Promise<FastifyReply> {
    const { request, reply, text } = visit
    // A link on another site must not sign a user out: in this case the user is asked first.
    const site = request.headers['sec-fetch-site']
    const foreign = site === 'cross-site' || site === 'same-site'
    if (foreign && !visit.isOwnForm(form?.get('csrf'))) {
      const content = visit.form('/logout', button(text('signOut.submit')))
      return visit.send({ title: text('signOut.title'), content: html`<p>${text('signOut.text')}</p>${content}` })
    }
    await keepLogins.forget(request, reply)
    const browsers = browserHashesOf(request, aliases)
    // If an external provider has identified the user, the next sign-in there would succeed without a question.
    const elsewhere = wantsPage(request) ? await signOutAddress(browsers) : null
    await sessions.endOfBrowsers(browsers, request.ip)
    if (elsewhere !== null) return reply.header('Cache-Control', 'no-store').redirect(elsewhere, 303)
    if (!wantsPage(request)) return reply.status(204).header('Cache-Control', 'no-store').send()
    return visit.send({ title: text('signedOut.title'), content: html`<p>${text('signedOut.text')}</p>` })
  }
}
