import { html, joined } from '../../../platform/values/html.ts'
import { loginPage } from '../../flows/login-page.ts'
import type { PageDefinition } from '../../pages/routes.ts'
import { stepName } from '../notes.ts'
import { type FactorPages, methodLabels, provedLogin, toPage } from './shared.ts'

/** The choice among several second factors. */
export function choosePage(given: FactorPages): PageDefinition {
  const { factors, flows } = given
  return loginPage(flows, {
    name: 'twoFactorChoose',
    step: stepName,
    async show(visit, login) {
      const { userId, remoteAddr } = provedLogin(login)
      const { usable } = await factors.standing(userId, remoteAddr)
      if (usable.length === 0) return toPage(given, visit, factors.setupPage(), login)
      const links = usable.map(
        (method) =>
          html`<p><a class="button second" href="${flows.address(login, 'twoFactor', { method })}">${visit.text(methodLabels[method])}</a></p>`,
      )
      return visit.send({ title: visit.text('factor.chooseTitle'), content: joined(links) })
    },
  })
}
