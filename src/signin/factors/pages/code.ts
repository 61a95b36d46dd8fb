import type { FastifyReply } from 'fastify'
import type { Tx } from '../../../platform/postgres/db.ts'
import { type Html, html, joined } from '../../../platform/values/html.ts'
import { loginPage } from '../../flows/login-page.ts'
import { button, checkbox, field } from '../../pages/fields.ts'
import type { PageDefinition } from '../../pages/routes.ts'
import type { Visit } from '../../pages/service.ts'
import { codeMinutes, hinted } from '../mail-codes.ts'
import { type FactorMethod, isFactorMethod } from '../methods.ts'
import { stepName, storedNotes } from '../notes.ts'
import type { ProvedLogin, Standing } from '../service.ts'
import { passkeyForm, passkeyScript } from './passkey-form.ts'
import { sendRecoveryCodes } from './recovery.ts'
import { type FactorPages, methodLabels, otherWay, provedLogin, toPage } from './shared.ts'

const action = '/api/page/twoFactor'
const longestCode = 100

/** The page for a second factor: a passkey, a code of an authenticator app or from a mail, a recovery code. */
export function codePage(given: FactorPages): PageDefinition {
  const { factors, flows } = given
  return loginPage(flows, {
    name: 'twoFactor',
    step: stepName,
    query: ['method'],
    async show(visit, shown, query) {
      const login = provedLogin(shown)
      const { usable } = await factors.standing(login.userId, login.remoteAddr)
      const method = methodOf(usable, query.get('method'))
      return method === null
        ? toPage(given, visit, factors.setupPage(), login)
        : send(given, visit, { login, usable, method })
    },

    async submit(visit, shown, form) {
      const login = provedLogin(shown)
      const { usable, email } = await factors.standing(login.userId, login.remoteAddr)
      const method = methodOf(usable, form.get('method'))
      if (method === null) return toPage(given, visit, factors.setupPage(), login)
      const asked = { login, usable, method }
      if (method === 'email' && email !== null && form.get('send') === '1') {
        const sent = await factors.mailCodes.send(flows, login, email, visit.language)
        return send(given, visit, asked, sent ? null : visit.text('factor.tooManyMails'))
      }
      const passkey = form.get('passkey')
      if (method === 'passkey' && passkey === undefined) {
        return send(given, visit, asked, visit.text('passkey.noScript'))
      }
      const answer = method === 'passkey' ? (passkey ?? '') : (form.get('code') ?? '').slice(0, longestCode)
      const wantsCodes = method === 'totp' && form.get('new_codes') === '1'
      const wantsSetup = method === 'recovery' && form.get('new_factor') === '1'
      let way: string | undefined
      let codes: readonly string[] | undefined
      const outcome = await factors.check(flows, login, { method, answer }, async (tx: Tx) => {
        await flows.note(login, stepName, storedNotes({ proved: method }), tx)
        if (wantsCodes) codes = await factors.renewRecoveryCodes(tx, login.userId)
        else if (!wantsSetup) way = await flows.passed(login, stepName, tx)
      })
      if (outcome.kind === 'over') return visit.reply.redirect(outcome.address, 303)
      if (outcome.kind === 'wrong') {
        return send(given, visit, asked, visit.text(method === 'passkey' ? 'passkey.failed' : 'factor.wrong'))
      }
      if (codes) return sendRecoveryCodes(visit, login, codes)
      return way === undefined ? toPage(given, visit, factors.setupPage(), login) : visit.reply.redirect(way, 303)
    },
  })
}

/** The requested method, if the user can prove it; else the first one; null when there is none. */
function methodOf(usable: Standing['usable'], asked: string | undefined): FactorMethod | null {
  return isFactorMethod(asked) && usable.includes(asked) ? asked : (usable[0] ?? null)
}

interface Asked {
  readonly login: ProvedLogin
  readonly usable: Standing['usable']
  readonly method: FactorMethod
}

async function send(
  given: FactorPages,
  visit: Visit,
  { login, usable, method }: Asked,
  problem: string | null = null,
): Promise<FastifyReply> {
  const { text } = visit
  const hidden = { flow: login.id, method }
  const form =
    method === 'passkey'
      ? passkeyForm(visit, {
          action,
          act: 'get',
          options: await given.factors.passkeys.proofOptions(login),
          label: text('factor.usePasskey'),
          hidden,
          told: problem !== null,
        })
      : method === 'email'
        ? await mailForms(given, visit, login, problem !== null)
        : visit.form(action, codeFields(visit, method, problem !== null), hidden)
  const others = usable
    .filter((other) => other !== method)
    .map((other) => otherWay(given, login, 'twoFactor', text(methodLabels[other]), { method: other }))
  return visit.send({
    title: text('factor.title'),
    content: joined([form, ...others]),
    problem,
    formTargets: [login.redirectUri],
    scripts: method === 'passkey' ? [passkeyScript] : [],
  })
}

/** First a form that sends the mail, so that opening the page does not send one; then the form for the code. */
async function mailForms({ factors }: FactorPages, visit: Visit, login: ProvedLogin, invalid: boolean): Promise<Html> {
  const { text } = visit
  const hidden = { flow: login.id, method: 'email' }
  const [sent, { email }] = await Promise.all([
    factors.mailCodes.isSent(login),
    factors.standing(login.userId, login.remoteAddr),
  ])
  const address = hinted(email ?? '')
  if (!sent) {
    const first = visit.form(action, button(text('factor.sendMail')), { ...hidden, send: '1' })
    return html`<p>${text('factor.mailHow', { address })}</p>${first}`
  }
  const input = field({
    name: 'code',
    label: text('factor.code'),
    hint: text('factor.mailHint', { address, minutes: codeMinutes }),
    autocomplete: 'one-time-code',
    inputmode: 'numeric',
    maxLength: longestCode,
    invalid,
    autofocus: true,
  })
  const form = visit.form(action, joined([input, button(text('factor.submit'))]), hidden)
  const again = visit.form(action, button(text('factor.sendAgain'), { second: true }), { ...hidden, send: '1' })
  return joined([form, again])
}

function codeFields({ text }: Visit, method: FactorMethod, invalid: boolean): Html {
  const recovery = method === 'recovery'
  const input = field({
    name: 'code',
    label: text(recovery ? 'factor.recoveryCode' : 'factor.code'),
    hint: text(recovery ? 'factor.recoveryHint' : 'factor.codeHint'),
    autocomplete: recovery ? 'off' : 'one-time-code',
    inputmode: recovery ? 'text' : 'numeric',
    maxLength: longestCode,
    invalid,
    autofocus: true,
  })
  const more = recovery
    ? checkbox('new_factor', text('factor.newFactor'))
    : checkbox('new_codes', text('factor.newCodes'))
  return joined([input, more, button(text('factor.submit'))])
}
