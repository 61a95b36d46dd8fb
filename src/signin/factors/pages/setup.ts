import type { FastifyReply } from 'fastify'
import { renderSVG } from 'uqr'
import { html, joined } from '../../../platform/values/html.ts'
import { loginPage } from '../../flows/login-page.ts'
import { button, field } from '../../pages/fields.ts'
import type { PageDefinition } from '../../pages/routes.ts'
import type { Visit } from '../../pages/service.ts'
import { notesOf, stepName, storedNotes } from '../notes.ts'
import type { ProvedLogin, Standing } from '../service.ts'
import { addressOf, keyOf } from '../totp.ts'
import { sendRecoveryCodes } from './recovery.ts'
import { type FactorPages, mayEnrol, otherWay, provedLogin, toPage } from './shared.ts'

/** Sets up an authenticator app: the first one, or another one for a user who has proved a second factor in this sign-in. */
export function setupPage(given: FactorPages): PageDefinition {
  const { factors, flows } = given

  return loginPage(flows, {
    name: 'twoFactorSetup',
    step: stepName,
    async show(visit, shown) {
      const login = provedLogin(shown)
      const standing = await factors.standing(login.userId, login.remoteAddr)
      if (!mayEnrol(login, standing)) return toPage(given, visit, 'twoFactor', login)
      if (!factors.setsUp('totp')) {
        return factors.passkeys.available() ? toPage(given, visit, 'twoFactorSetupPasskey', login) : sendNothing(visit)
      }
      const { proved, secret: begun } = notesOf(login)
      const again = begun && (await factors.openTotp(login, begun))
      if (again) return sendSetup(given, visit, login, standing, again)
      const { secret, sealed } = await factors.newTotp(login)
      await flows.note(login, stepName, storedNotes({ proved, secret: sealed }))
      return sendSetup(given, visit, login, standing, secret)
    },

    async submit(visit, shown, form) {
      const login = provedLogin(shown)
      const standing = await factors.standing(login.userId, login.remoteAddr)
      const { secret: sealed } = notesOf(login)
      if (!mayEnrol(login, standing)) return toPage(given, visit, 'twoFactor', login)
      const secret = sealed && (await factors.openTotp(login, sealed))
      if (!sealed || !secret || !factors.setsUp('totp')) return toPage(given, visit, 'twoFactorSetup', login)
      const sent = { sealed, code: form.get('code') ?? '' }
      const codes = await factors.enrol(flows, login, sent, (tx) =>
        // The secret is not shown again.
        flows.note(login, stepName, storedNotes({ proved: 'totp' }), tx),
      )
      if (codes) return sendRecoveryCodes(visit, login, codes)
      const over = await flows.failed(login)
      return over === null
        ? sendSetup(given, visit, login, standing, secret, visit.text('factor.wrong'))
        : visit.reply.redirect(over, 303)
    },
  })
}

/** No method is switched on that this user could set up. */
function sendNothing(visit: Visit): FastifyReply {
  const { text } = visit
  return visit.send({ title: text('factor.setupTitle'), content: html`<p>${text('factor.setupNothing')}</p>` })
}

async function sendSetup(
  given: FactorPages,
  visit: Visit,
  login: ProvedLogin,
  standing: Standing,
  secret: Buffer,
  problem: string | null = null,
): Promise<FastifyReply> {
  const { text, instance } = visit
  const address = addressOf(secret, { issuer: instance, label: standing.login ?? login.login ?? '' })
  const svg = renderSVG(address, { ecc: 'M', border: 4 })
  const picture = `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`
  const key = html`<p class="key" id="key"><strong>${keyOf(secret)}</strong></p>`
  const steps = html`<p>${text('factor.setupWhy')}</p>
<p>${text('factor.setupScan')}</p>
<p><img src="${picture}" width="240" height="240" alt="${text('factor.setupPicture')}"></p>
<p>${text('factor.setupKey')}</p>${key}`
  const input = field({
    name: 'code',
    label: text('factor.code'),
    hint: text('factor.codeHint'),
    autocomplete: 'one-time-code',
    inputmode: 'numeric',
    maxLength: 100,
    invalid: problem !== null,
    autofocus: true,
  })
  const hidden = { flow: login.id }
  const form = visit.form('/api/page/twoFactorSetup', joined([input, button(text('factor.setupSubmit'))]), hidden)
  const other = given.factors.passkeys.available()
    ? otherWay(given, login, 'twoFactorSetupPasskey', text('passkey.setupInstead'))
    : ''
  return visit.send({
    title: text('factor.setupTitle'),
    content: html`${steps}${form}${other}`,
    problem,
    formTargets: [login.redirectUri],
  })
}
