import type { FastifyReply } from 'fastify'
import { AppError } from '../../../platform/errors.ts'
import { html } from '../../../platform/values/html.ts'
import type { DirectoryStatus } from '../../directories/status-store.ts'
import type { Login } from '../../flows/login.ts'
import { loginPage } from '../../flows/login-page.ts'
import type { PageDefinition } from '../../pages/routes.ts'
import type { Visit } from '../../pages/service.ts'
import { notesOf, stepName } from '../notes.ts'
import { passkeyForm, passkeyScript } from './passkey-form.ts'
import type { FactorPages } from './shared.ts'

const name = 'passkey'

/**
 * Sign-in with a passkey alone: it identifies the user, and proves it twice, by the device and by the PIN or biometric check of the
 * device.
 */
export function passkeySignInPage({ factors, flows }: FactorPages): PageDefinition {
  function assertBegun(login: Login): void {
    if (login.userId !== null || !notesOf(login).byPasskey) throw new AppError('PageExpired', { what: 'login' })
  }

  async function send(visit: Visit, login: Login, problem: string | null = null): Promise<FastifyReply> {
    const { text } = visit
    const form = passkeyForm(visit, {
      action: `/api/page/${name}`,
      act: 'get',
      options: await factors.passkeys.proofOptions({ ...login, userId: null }),
      label: text('passkey.signIn'),
      hidden: { flow: login.id },
      told: problem !== null,
    })
    const back = html`<p class="or"><a href="${flows.startAgain(login)}">${text('passkey.password')}</a></p>`
    return visit.send({
      title: text('passkey.signIn'),
      content: html`<p>${text('passkey.signInHow')}</p>${form}${back}`,
      problem,
      formTargets: [login.redirectUri],
      scripts: [passkeyScript],
    })
  }

  /** The passkey was right, so the reason of the refusal is shown, with another way to sign in. */
  function refused(visit: Visit, login: Login, word: Exclude<DirectoryStatus, 'there'>): FastifyReply {
    const { text } = visit
    const content = html`<p class="more"><a href="${flows.startAgain(login)}">${text('login.startAgain')}</a></p>`
    const problem = text(`passkey.directory.${word}`)
    return visit.send({
      title: text('passkey.signIn'),
      content,
      problem,
      status: word === 'unavailable' ? 503 : 403,
    })
  }

  return loginPage(flows, {
    name,
    step: stepName,
    async show(visit, login) {
      assertBegun(login)
      return send(visit, login)
    },
    async submit(visit, login, form) {
      assertBegun(login)
      const answer = form.get('passkey')
      if (answer === undefined) return send(visit, login, visit.text('passkey.noScript'))
      const outcome = await factors.signInWithPasskey(flows, login, answer)
      if (outcome.kind === 'refused') return refused(visit, login, outcome.word)
      return outcome.kind === 'wrong'
        ? send(visit, login, visit.text('passkey.refused'))
        : visit.reply.redirect(outcome.address, 303)
    },
  })
}
