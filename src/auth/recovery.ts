import type { BaseConfigService } from '../config/service.ts'
import type { EventLog } from '../events/service.ts'
import type { Bus } from '../platform/bus.ts'
import type { Db } from '../platform/db.ts'
import type { InitialPassword } from './initial-password.ts'
import { identityKey, passwordUserTypes, rootUserId } from './model.ts'
import { createPasswords } from './passwords.ts'
import { createSessions } from './sessions/service.ts'
import { createThrottle } from './throttle.ts'
import { meetsRules, ruleHint } from './users/password-rules.ts'
import * as store from './users/store.ts'

export interface RecoveryDependencies {
  db: Db
  bus: Bus
  events: EventLog
  baseConfig: BaseConfigService
  initial: InitialPassword
}

/** Fewer characters are refused on the command line whatever the rules of the instance say. */
const shortest = 8

/** What the command line does for people who cannot sign in any more; whoever may run it has the database anyway. */
export function createRecovery({ db, bus, events, baseConfig, initial }: RecoveryDependencies) {
  const passwords = createPasswords()
  const throttle = createThrottle({ limits: () => baseConfig.get().password.blockclient })
  const sessions = createSessions({ db, bus, events, baseConfig })
  return {
    /**
     * Gives a user, named by login or email, a new password; ends all of its sessions and what blocks its sign-in.
     * @throws {Error} with one line for the person at the terminal.
     */
    async setPassword(name: string, password: string): Promise<void> {
      if ([...password].length < shortest) throw new Error(`a password has at least ${shortest} characters`)
      const rules = baseConfig.get().password
      if (!meetsRules(password, rules)) throw new Error(ruleHint(rules, baseConfig.databaseLanguages()))
      const hash = await passwords.hash(password)
      await db.transaction(async (tx) => {
        const id = await store.findByLoginOrEmail(tx, identityKey(name))
        const [user] = id === null ? [] : await store.findUsers(tx, [id])
        if (!user) throw new Error(`there is no user ${JSON.stringify(name)}`)
        if (!passwordUserTypes.includes(user.type)) throw new Error(`users of type ${user.type} have no password here`)
        await store.setPassword(tx, user.id, hash)
        await throttle.forgive(
          tx,
          [user.login, user.email].flatMap((typed) => (typed ? [identityKey(typed)] : [])),
        )
        const info = { login: user.login, displayname: user.generatedDisplayname, reference: user.reference }
        await events.append(tx, [
          {
            type: 'USER_UPDATE',
            actor: null,
            basetype: 'user',
            objectId: user.id,
            objectVersion: user.version + 1,
            info,
          },
        ])
        await sessions.endOfUsers(tx, [{ userId: user.id }], '')
        if (user.id === rootUserId) await initial.forget()
      })
    },

    close: sessions.close,
  }
}
