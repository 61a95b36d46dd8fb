import type { LoginPart } from '../oauth/login/part.ts'
import { stepName } from './notes.ts'
import { choosePage } from './pages/choose.ts'
import { codePage } from './pages/code.ts'
import { recoveryPage } from './pages/recovery.ts'
import { setupPage } from './pages/setup.ts'
import type { Factors } from './service.ts'

/** The second factor as a step of the sign-in. */
export function factorPart(factors: Factors): LoginPart {
  return {
    step: {
      name: stepName,
      phase: 'proof',
      async page({ userId, remoteAddr }) {
        if (userId === null) return null
        const { asked, usable } = await factors.standing(userId, remoteAddr)
        if (!asked) return null
        if (usable.length === 0) return 'twoFactorSetup'
        // A recovery code is no choice of every day: the page of the code leads to it.
        return usable.filter((method) => method !== 'recovery').length > 1 ? 'twoFactorChoose' : 'twoFactor'
      },
    },
    pages: (flows) => {
      const given = { factors, flows }
      return [codePage(given), choosePage(given), setupPage(given), recoveryPage(given)]
    },
  }
}
