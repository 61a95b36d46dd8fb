import type { BaseConfigService } from '../../config/service.ts'
import type { EventLog } from '../../events/service.ts'
import { passwordUserTypes, type StoredUser } from '../../people/model.ts'
import { meetsRules, users } from '../../people/service.ts'
import { AppError } from '../../platform/errors.ts'
import type { Form } from '../../platform/http/form.ts'
import type { Db, Tx } from '../../platform/postgres/db.ts'
import { type Html, html, joined } from '../../platform/values/html.ts'
import { field } from '../pages/fields.ts'
import type { Visit } from '../pages/service.ts'
import type { Passwords } from '../passwords.ts'
import type { Sessions } from '../sessions/service.ts'
import { forgiveSignIns } from '../throttle.ts'

export interface NewPasswordDependencies {
  db: Db
  events: EventLog
  baseConfig: BaseConfigService
  passwords: Passwords
  sessions: Sessions
  /** Called with a user who is proved to own the password. */
  verified(userId: number): Promise<void>
}

/** The problem with the typed password, as a sentence, or its hash to store. */
export type Checked = { readonly problem: string } | { readonly hash: string }

export type NewPasswords = ReturnType<typeof createNewPasswords>

const longest = 100

/** New passwords that people choose on pages: fields, rules, and the effects of a change. */
export function createNewPasswords(deps: NewPasswordDependencies) {
  const { db, events, baseConfig, passwords, sessions, verified } = deps

  const hintOf = (visit: Visit): string => visit.localized(baseConfig.get().password.hint)

  function problemOf(visit: Visit, password: string, again: string): string | null {
    if (password === '') return visit.text('password.missing')
    if (password !== again) return visit.text('password.different')
    if (password.length > longest) return visit.text('password.tooLong', { most: longest })
    if (meetsRules(password, baseConfig.get().password)) return null
    return hintOf(visit) || visit.text('password.weak')
  }

  return {
    /** Two fields for the password, with the rules. The login is included for password managers. */
    fields(visit: Visit, login: string, { invalid = false } = {}): Html {
      const { text } = visit
      const options = { type: 'password', autocomplete: 'new-password', maxLength: longest, invalid } as const
      const name = html`<input class="skip" type="text" name="username" autocomplete="username" value="${login}" readonly tabindex="-1" aria-hidden="true">`
      return joined([
        name,
        field({ ...options, name: 'new_password', label: text('password.new'), hint: hintOf(visit), autofocus: true }),
        field({ ...options, name: 'again', label: text('password.again') }),
      ])
    },

    /** Checks the form; the current password of the user is not accepted as a new one. */
    async check(visit: Visit, form: Form, userId: number): Promise<Checked> {
      const password = form.get('new_password') ?? ''
      const problem = problemOf(visit, password, form.get('again') ?? '')
      if (problem !== null) return { problem }
      const stored = await users.findPasswordHash(db, userId)
      if (stored !== null && (await passwords.verify(password, stored))) return { problem: visit.text('password.same') }
      return { hash: await passwords.hash(password) }
    },

    /**
     * Sets the password of a user; all sessions end, and all blocks on the sign-in are lifted.
     * @throws {AppError} `UnableToSetPasswordForUserType`
     */
    async change(tx: Tx, userId: number, hash: string, remoteAddr: string): Promise<StoredUser> {
      const [user] = await users.lockUsers(tx, [userId], [])
      if (!user) throw new AppError('UserNotFound', { _id: userId })
      if (!passwordUserTypes.includes(user.type))
        throw new AppError('UnableToSetPasswordForUserType', { type: user.type })
      await users.setPassword(tx, userId, hash)
      await forgiveSignIns(tx, [userId])
      const actor = await sessions.actorOfUser(userId, remoteAddr, tx)
      const info = { login: user.login, displayname: user.generatedDisplayname, reference: user.reference }
      const version = user.version + 1
      await events.append(tx, [
        { type: 'USER_UPDATE', actor, basetype: 'user', objectId: userId, objectVersion: version, info },
      ])
      await sessions.endOfUsers(tx, [{ userId }], remoteAddr)
      await verified(userId)
      return user
    },
  }
}
