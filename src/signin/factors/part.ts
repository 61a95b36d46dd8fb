import { isManaged, managementStep } from '../flows/management.ts'
import type { LoginPart } from '../flows/part.ts'
import { notesOf, stepName } from './notes.ts'
import { choosePage } from './pages/choose.ts'
import { codePage } from './pages/code.ts'
import { passkeySignInPage } from './pages/passkey-sign-in.ts'
import { recoveryPage } from './pages/recovery.ts'
import { securityPage } from './pages/security.ts'
import { setupPage } from './pages/setup.ts'
import { setupPasskeyPage } from './pages/setup-passkey.ts'
import type { Factors } from './service.ts'

/** The step in which users manage their own second factors, in a sign-in that was begun for it: after all other steps. */
export function managementPart(factors: Factors): LoginPart {
  return {
    step: {
      name: managementStep,
      phase: 'notice',
      page: async (login) => (isManaged(login) ? managementStep : null),
    },
    pages: (flows) => [securityPage({ factors, flows })],
  }
}

/** The second factor as a step of the sign-in; a passkey may be the first one, too. */
export function factorPart(factors: Factors): LoginPart {
  return {
    step: {
      name: stepName,
      phase: 'proof',
      async page(login) {
        const { userId, remoteAddr } = login
        if (userId === null) return notesOf(login).byPasskey ? 'passkey' : null
        const standing = await factors.standing(userId, remoteAddr)
        if (!standing.asked) return null
        if (standing.usable.length === 0) return factors.setupPage()
        // A recovery code is not an everyday choice: the page for codes has a link to it.
        return standing.usable.filter((method) => method !== 'recovery').length > 1 ? 'twoFactorChoose' : 'twoFactor'
      },
    },
    pages(flows) {
      const given = { factors, flows }
      return [
        codePage(given),
        choosePage(given),
        setupPage(given),
        setupPasskeyPage(given),
        recoveryPage(given),
        passkeySignInPage(given),
      ]
    },
  }
}
