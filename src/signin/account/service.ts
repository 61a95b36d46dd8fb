/**
 * The pages for users' own accounts: a new password, a forgotten one, an address to confirm, self-registration. A *link* is sent by
 * mail, is valid once, and becomes invalid when the data for its purpose changes.
 */

import type { BaseConfigService } from '../../config/service.ts'
import type { EventLog } from '../../events/service.ts'
import type { Jobs } from '../../jobs/service.ts'
import type { MailService } from '../../mail/service.ts'
import type { AccountMails, AccountUuids, Principals } from '../../people/service.ts'
import type { Db } from '../../platform/postgres/db.ts'
import type { LoginPart } from '../flows/part.ts'
import type { OwnTexts } from '../pages/language.ts'
import type { PageDefinition } from '../pages/routes.ts'
import type { Passwords } from '../passwords.ts'
import type { Sessions } from '../sessions/service.ts'
import type { Throttle } from '../throttle.ts'
import { confirmEmailPage } from './confirm-email.ts'
import { forgotPasswordPage } from './forgot-password.ts'
import { createLetters, sendsMail } from './mails.ts'
import { createNewPasswords } from './new-password.ts'
import { createAccountPost } from './post.ts'
import { mayRegister, registerPage } from './register.ts'
import { handleRegistrations } from './registration.ts'
import { resetPasswordPage } from './reset-password.ts'
import { setPasswordPart } from './set-password.ts'

export interface AccountDependencies {
  db: Db
  events: EventLog
  baseConfig: BaseConfigService
  jobs: Pick<Jobs, 'enqueue' | 'register'>
  mail: MailService
  passwords: Passwords
  throttle: Throttle
  sessions: Sessions
  principals: Principals
  accountUuids: AccountUuids
  verified(userId: number): Promise<void>
  externalUrl: string
  ownTexts: OwnTexts
  /** The path under which a proxy serves the service. */
  basePath: string
  clock: () => Date
}

export interface Accounts {
  readonly post: AccountMails
  /** The step of the sign-in. */
  readonly part: LoginPart
  readonly pages: readonly PageDefinition[]
  /** Additional links on the sign-in page. */
  offers(): { readonly forgotPassword: boolean; readonly register: boolean }
}

export function createAccounts(deps: AccountDependencies): Accounts {
  const { baseConfig, externalUrl } = deps
  const letters = createLetters(baseConfig, externalUrl, deps.ownTexts)
  const post = createAccountPost({ ...deps, letters })
  const newPasswords = createNewPasswords(deps)
  handleRegistrations({ ...deps, letters })
  return {
    post,
    part: setPasswordPart({ ...deps, newPasswords }),
    pages: [
      forgotPasswordPage({ ...deps, letters }),
      resetPasswordPage({ ...deps, newPasswords }),
      confirmEmailPage(deps),
      registerPage(deps),
    ],
    offers: () => ({
      forgotPassword: sendsMail(baseConfig) && baseConfig.get().password.showforgot,
      register: mayRegister(baseConfig),
    }),
  }
}
