import { Type } from 'typebox'
import type { BaseConfigService } from '../../config/service.ts'
import type { EventLog } from '../../events/service.ts'
import { passwordUserTypes } from '../../people/model.ts'
import { meetsRules, ruleHint, users } from '../../people/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest, missingSystemRight } from '../../platform/errors.ts'
import { actorOf, type HttpApp } from '../../platform/http/http.ts'
import { hasSystemRight } from '../../platform/http/system-right.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { Ok } from '../../platform/values/tasks.ts'
import { assertStorable } from '../../platform/values/text.ts'
import type { Passwords } from '../passwords.ts'
import type { Sessions } from '../sessions/service.ts'
import type { OpenAttempt, Throttle } from '../throttle.ts'

export interface ChangePasswordDependencies {
  db: Db
  events: EventLog
  baseConfig: BaseConfigService
  sessions: Pick<Sessions, 'endOfUsers'>
  passwords: Passwords
  throttle: Throttle
}

export type ChangePassword = ReturnType<typeof createChangePassword>

/**
 * Changes the actor's own password and ends all of its sessions, including this one. Needs `system.user.change_password` unless the
 * user has been told to set a new password.
 * @throws {AppError} `WrongPassword`, `TooManyAttempts`, `UnableToSetPasswordForUserType`
 */
export function createChangePassword({
  db,
  events,
  baseConfig,
  sessions,
  passwords,
  throttle,
}: ChangePasswordDependencies) {
  function assertNewPassword(actor: Actor, password: string, newPassword: string): void {
    if (newPassword === '') throw new AppError('NoPassword', { name: 'new_password' })
    if (newPassword === password) throw badRequest('The new password is the old one.', { name: 'new_password' })
    const rules = baseConfig.get().password
    if (!meetsRules(newPassword, rules)) throw badRequest(ruleHint(rules, actor.languages), { name: 'new_password' })
  }

  return async (actor: Actor, { password, newPassword }: { password: string; newPassword: string }): Promise<void> => {
    assertStorable(newPassword, 'new_password')
    const [user] = await users.findUsers(db, [actor.userId])
    if (!user) throw new AppError('UserNotFound', { _id: actor.userId })
    if (!user.requirePasswordChange && !hasSystemRight(actor, 'system.user.change_password')) {
      throw missingSystemRight('system.user.change_password')
    }
    if (!passwordUserTypes.includes(user.type))
      throw new AppError('UnableToSetPasswordForUserType', { type: user.type })
    assertNewPassword(actor, password, newPassword)
    let open: OpenAttempt | undefined
    const hash = await users.findPasswordHash(db, user.id)
    const fits = await passwords.verify(password, hash, {
      before: async () => {
        open = await throttle.openForUser(db, user.id)
      },
      failed: async () => {
        if (open) await throttle.failed(db, open)
      },
    })
    if (!fits) throw new AppError('WrongPassword')
    const newHash = await passwords.hash(newPassword)
    await db.transaction(async (tx) => {
      await users.setPassword(tx, user.id, newHash)
      const info = { login: user.login, displayname: user.generatedDisplayname, reference: user.reference }
      await events.append(tx, [
        { type: 'USER_UPDATE', actor, basetype: 'user', objectId: user.id, objectVersion: user.version + 1, info },
      ])
      await sessions.endOfUsers(tx, [{ userId: user.id }], actor.remoteAddr)
    })
  }
}

const Body = Type.Object(
  { password: Type.String({ maxLength: 1000 }), new_password: Type.String({ maxLength: 100 }) },
  { additionalProperties: true },
)

export function registerChangePassword(app: HttpApp, changePassword: ChangePassword): void {
  app.post(
    '/api/v1/user/change_password',
    {
      schema: {
        tags: ['user'],
        operationId: 'changePassword',
        summary: "Change the caller's password; ends all of its sessions",
        description: 'Needs the present password, and a new one that the base configuration accepts.',
        consumes: ['application/x-www-form-urlencoded'],
        body: Body,
        response: { 200: Ok },
      },
      config: {
        access: 'user',
        writes: true,
        // A wrong password counts, even if the client disconnects.
        outlivesClient: true,
        errors: [
          'SystemRightRequired',
          'WrongPassword',
          'NoPassword',
          'UnableToSetPasswordForUserType',
          'TooManyAttempts',
          'PasswordChangedRequired',
        ],
      },
    },
    async (request) => {
      const { password, new_password: newPassword } = request.body
      await changePassword(actorOf(request), { password, newPassword })
      return { status: 'ok' as const }
    },
  )
}
