import type { FastifyReply } from 'fastify'
import { html } from 'ghtml'
import type { Tx } from '../../../platform/db.ts'
import { button, checkbox, field } from '../../pages/fields.ts'
import { loginPage, type PageDefinition } from '../../pages/routes.ts'
import type { Visit } from '../../pages/service.ts'
import { type FactorMethod, isFactorMethod } from '../methods.ts'
import { stepName, storedNotes } from '../notes.ts'
import type { ProvedLogin, Standing } from '../service.ts'
import { sendRecoveryCodes } from './recovery.ts'
import { type FactorPages, provedLogin, toPage } from './shared.ts'

const longestCode = 100

/** The code of an authenticator app, or a recovery code. */
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
        ? toPage(given, visit, 'twoFactorSetup', login)
        : sendCodePage(given, visit, login, usable, method)
    },

    async submit(visit, shown, form) {
      const login = provedLogin(shown)
      const { usable } = await factors.standing(login.userId, login.remoteAddr)
      const method = methodOf(usable, form.get('method'))
      if (method === null) return toPage(given, visit, 'twoFactorSetup', login)
      const code = (form.get('code') ?? '').slice(0, longestCode)
      const wantsCodes = method === 'totp' && form.get('new_codes') === '1'
      const wantsSetup = method === 'recovery' && form.get('new_app') === '1'
      let way: string | undefined
      let codes: readonly string[] | undefined
      const outcome = await factors.check(flows, login, { method, code }, async (tx: Tx) => {
        await flows.note(login, stepName, storedNotes({ proved: method }), tx)
        if (wantsCodes) codes = await factors.renewRecoveryCodes(tx, login.userId)
        else if (!wantsSetup) way = await flows.passed(login, stepName, tx)
      })
      if (outcome.kind === 'over') return visit.reply.redirect(outcome.address, 303)
      if (outcome.kind === 'wrong') return sendCodePage(given, visit, login, usable, method, visit.text('factor.wrong'))
      if (codes) return sendRecoveryCodes(visit, login, codes)
      return way === undefined ? toPage(given, visit, 'twoFactorSetup', login) : visit.reply.redirect(way, 303)
    },
  })
}

/** The one that is asked for, if the user can prove with it; else the first; null when there is none. */
function methodOf(usable: Standing['usable'], asked: string | undefined): FactorMethod | null {
  return isFactorMethod(asked) && usable.includes(asked) ? asked : (usable[0] ?? null)
}

function sendCodePage(
  { flows }: FactorPages,
  visit: Visit,
  login: ProvedLogin,
  usable: Standing['usable'],
  method: FactorMethod,
  problem: string | null = null,
): FastifyReply {
  const { text } = visit
  const recovery = method === 'recovery'
  const input = field({
    name: 'code',
    label: text(recovery ? 'factor.recoveryCode' : 'factor.code'),
    hint: text(recovery ? 'factor.recoveryHint' : 'factor.codeHint'),
    autocomplete: recovery ? 'off' : 'one-time-code',
    inputmode: recovery ? 'text' : 'numeric',
    maxLength: longestCode,
    invalid: problem !== null,
    autofocus: true,
  })
  const more = recovery ? checkbox('new_app', text('factor.newApp')) : checkbox('new_codes', text('factor.newCodes'))
  const hidden = { flow: login.id, method }
  const form = visit.form('/api/page/twoFactor', [input, more, button(text('factor.submit'))].join(''), hidden)
  const others = usable
    .filter((other) => other !== method)
    .map((other) => {
      const label = text(other === 'recovery' ? 'factor.useRecovery' : 'factor.useTotp')
      return html`<p class="or"><a href="${flows.address(login, 'twoFactor', { method: other })}">${label}</a></p>`
    })
  const content = [form, ...others].join('\n')
  return visit.send({ title: text('factor.title'), content, problem, formTargets: [login.redirectUri] })
}
