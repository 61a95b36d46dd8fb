import { randomBytes } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import type { Form } from '../../../platform/http/form.ts'
import { type Html, html, joined, nothing } from '../../../platform/values/html.ts'
import { loginPage } from '../../flows/login-page.ts'
import { isManaged, managementStep } from '../../flows/management.ts'
import { button, field } from '../../pages/fields.ts'
import type { PageDefinition } from '../../pages/routes.ts'
import type { Visit } from '../../pages/service.ts'
import { shownName } from '../passkeys/name.ts'
import type { Passkey } from '../passkeys/store.ts'
import type { Change, Overview, ProvedLogin, Standing } from '../service.ts'
import { sendRecoveryCodes } from './recovery.ts'
import { type FactorPages, mayEnrol, provedLogin } from './shared.ts'

const action = `/api/page/${managementStep}`

/**
 * The page on which users manage their own second factors. It is the last step of a sign-in that was begun for it, so the password
 * and the second factor were proved a moment ago; a user who just opens the page is sent to the sign-in first.
 */
export function securityPage(given: FactorPages): PageDefinition {
  const { factors, flows } = given
  const page = loginPage(flows, {
    name: managementStep,
    step: managementStep,
    async show(visit, shown) {
      const login = provedLogin(shown)
      return isManaged(login) ? send(visit, login, null) : visit.reply.redirect(flows.startAgain(login), 303)
    },
    async submit(visit, shown, form) {
      const login = provedLogin(shown)
      const standing = await factors.standing(login.userId, login.remoteAddr)
      const what = form.get('do')
      if (!isManaged(login) || what === 'done' || !mayEnrol(login, standing)) {
        return visit.reply.redirect(await flows.passed(login, managementStep), 303)
      }
      if (what === 'codes') {
        if (!standing.usable.some((method) => method === 'totp' || method === 'passkey'))
          return send(visit, login, null)
        return sendRecoveryCodes(visit, login, await factors.newRecoveryCodes(flows, login))
      }
      const change = changeOf(form)
      if (!change) return send(visit, login, null)
      const outcome = await factors.change(flows, login, change)
      return send(visit, login, outcome === 'last' ? visit.text('security.last') : null)
    },
  })
  return {
    ...page,
    query: ['flow', 'done', 'code', 'state', 'iss'],
    async show(visit, query) {
      if (query.has('flow')) return page.show(visit, query)
      if (!query.has('done')) return visit.reply.redirect(begin(), 303)
      const { text } = visit
      return visit.send({ title: text('security.doneTitle'), content: html`<p>${text('security.done')}</p>` })
    },
  }

  /** A sign-in that ends here: its code is never requested, and it expires within a minute. */
  function begin(): string {
    const parameters = new URLSearchParams({
      client_id: 'web-client',
      response_type: 'code',
      state: randomBytes(16).toString('base64url'),
      redirect_uri: `${factors.externalUrl}${action}?done=1`,
      // Random: there is no verifier for it.
      code_challenge: randomBytes(32).toString('base64url'),
      code_challenge_method: 'S256',
      auth_method: 'native',
      action: 'security',
    })
    return `${flows.basePath}/api/oauth2/auth?${parameters}`
  }

  async function send(visit: Visit, login: ProvedLogin, problem: string | null): Promise<FastifyReply> {
    const { text } = visit
    const [standing, overview] = await Promise.all([
      factors.standing(login.userId, login.remoteAddr),
      factors.overview(login),
    ])
    const content = mayEnrol(login, standing)
      ? [app(visit, login, overview), passkeys(visit, login, overview), codes(visit, login, standing, overview)]
      : [html`<p>${text('security.nothing')}</p>`]
    return visit.send({
      title: text('security.title'),
      content: joined([...content, form(visit, login, { do: 'done' }, text('security.go'), false)]),
      problem,
      formTargets: [login.redirectUri],
    })
  }

  function app(visit: Visit, login: ProvedLogin, { totp }: Overview): Html {
    const { text } = visit
    if (!totp && !factors.setsUp('totp')) return nothing
    const setUp = factors.setsUp('totp')
      ? html`<p><a class="button second" href="${flows.address(login, 'twoFactorSetup')}">${text(totp ? 'security.appReplace' : 'security.appSetUp')}</a></p>`
      : ''
    const remove = totp ? form(visit, login, { do: 'app' }, text('security.appRemove')) : ''
    return html`<section><h2>${text('security.app')}</h2><p>${text(totp ? 'security.appThere' : 'security.appNone')}</p>${setUp}${remove}</section>`
  }

  function passkeys(visit: Visit, login: ProvedLogin, { passkeys: all }: Overview): Html {
    const { text } = visit
    if (!factors.setsUp('passkey')) return nothing
    const add = html`<p><a class="button second" href="${flows.address(login, 'twoFactorSetupPasskey')}">${text('security.passkeyAdd')}</a></p>`
    const none = all.length === 0 ? html`<p>${text('security.passkeyNone')}</p>` : ''
    return html`<section><h2>${text('security.passkeys')}</h2>${none}${all.map((one) => passkey(visit, login, one))}${add}</section>`
  }

  function passkey(visit: Visit, login: ProvedLogin, { id, name, createdAt, lastUsedAt }: Passkey): Html {
    const { text, language } = visit
    const day = (date: Date): string => date.toLocaleDateString(language.tag, { dateStyle: 'medium', timeZone: 'UTC' })
    const used = lastUsedAt === null ? text('security.unused') : text('security.used', { date: day(lastUsedAt) })
    const input = field({
      name: `name-${id}`,
      label: text('security.passkeyName'),
      value: name,
      autocomplete: 'off',
      maxLength: 100,
      hint: `${text('security.since', { date: day(createdAt) })} ${used}`,
    })
    const rename = visit.form(action, joined([input, button(text('security.rename', { name }), { second: true })]), {
      flow: login.id,
      do: 'rename',
      id,
    })
    return joined([rename, form(visit, login, { do: 'passkey', id }, text('security.remove', { name }))])
  }

  function codes(visit: Visit, login: ProvedLogin, { usable }: Standing, { recoveryCodes }: Overview): Html {
    const { text } = visit
    if (!usable.some((method) => method === 'totp' || method === 'passkey')) return nothing
    const again = form(visit, login, { do: 'codes' }, text('security.codesNew'))
    return html`<section><h2>${text('security.codes')}</h2><p>${text('security.codesLeft', { count: recoveryCodes })}</p>${again}</section>`
  }

  function form(visit: Visit, login: ProvedLogin, hidden: Record<string, string>, label: string, second = true): Html {
    return visit.form(action, button(label, { second }), { flow: login.id, ...hidden })
  }
}

function changeOf(form: Form): Change | null {
  const [what, id = ''] = [form.get('do'), form.get('id')]
  if (what === 'app') return { kind: 'app' }
  if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(id)) return null
  if (what === 'passkey') return { kind: 'passkey', id }
  const name = shownName(form.get(`name-${id}`) ?? '')
  return what === 'rename' && name !== '' ? { kind: 'rename', id, name } : null
}
