import type { FastifyReply } from 'fastify'
import { html } from '../../../platform/values/html.ts'
import { loginPage } from '../../flows/login-page.ts'
import { field } from '../../pages/fields.ts'
import type { PageDefinition } from '../../pages/routes.ts'
import type { Visit } from '../../pages/service.ts'
import { stepName, storedNotes } from '../notes.ts'
import { shownName } from '../passkeys/name.ts'
import type { ProvedLogin, Standing } from '../service.ts'
import { passkeyForm, passkeyScript } from './passkey-form.ts'
import { sendRecoveryCodes } from './recovery.ts'
import { type FactorPages, mayEnrol, otherWay, provedLogin, toPage } from './shared.ts'

const name = 'twoFactorSetupPasskey'

/** Sets up a passkey: the first one, or a further one for a user who has proved a second factor in this sign-in. */
export function setupPasskeyPage(given: FactorPages): PageDefinition {
  const { factors, flows } = given

  return loginPage(flows, {
    name,
    step: stepName,
    async show(visit, shown) {
      const login = provedLogin(shown)
      const standing = await factors.standing(login.userId, login.remoteAddr)
      if (!mayEnrol(login, standing)) return toPage(given, visit, 'twoFactor', login)
      return factors.passkeys.available() ? send(visit, login, standing) : toPage(given, visit, 'twoFactorSetup', login)
    },

    async submit(visit, shown, form) {
      const login = provedLogin(shown)
      const standing = await factors.standing(login.userId, login.remoteAddr)
      if (!mayEnrol(login, standing)) return toPage(given, visit, 'twoFactor', login)
      const answer = form.get('passkey')
      if (answer === undefined) return send(visit, login, standing, visit.text('passkey.noScript'))
      const called = shownName(form.get('name') ?? '') || visit.text('passkey.unnamed')
      let way: string | undefined
      const codes = await factors.addPasskey(flows, login, { name: called, answer }, async (tx, fresh) => {
        await flows.note(login, stepName, storedNotes({ proved: 'passkey' }), tx)
        if (fresh.length === 0) way = await flows.passed(login, stepName, tx)
      })
      if (codes === null) {
        const over = await flows.failed(login)
        if (over !== null) return visit.reply.redirect(over, 303)
        return send(visit, login, standing, visit.text('passkey.failed'))
      }
      return way === undefined ? sendRecoveryCodes(visit, login, codes) : visit.reply.redirect(way, 303)
    },
  })

  async function send(
    visit: Visit,
    login: ProvedLogin,
    standing: Standing,
    problem: string | null = null,
  ): Promise<FastifyReply> {
    const { text, instance } = visit
    const options = await factors.passkeys.setupOptions(login, { login: standing.login ?? '', instance })
    const called = field({
      name: 'name',
      label: text('passkey.name'),
      hint: text('passkey.nameHint'),
      autocomplete: 'off',
      required: false,
      maxLength: 100,
    })
    const form = passkeyForm(visit, {
      action: `/api/page/${name}`,
      act: 'create',
      options,
      label: text('passkey.setupSubmit'),
      fields: called,
      hidden: { flow: login.id },
      told: problem !== null,
    })
    const other = factors.setsUp('totp') ? otherWay(given, login, 'twoFactorSetup', text('factor.setupAppInstead')) : ''
    return visit.send({
      title: text('factor.setupTitle'),
      content: html`<p>${text('passkey.setupWhy')}</p>${form}${other}`,
      problem,
      formTargets: [login.redirectUri],
      scripts: [passkeyScript],
    })
  }
}
