import type { BaseConfigService } from '../config/service.ts'
import type { EventLog, NewEvent } from '../events/service.ts'
import { identityKey, passwordUserTypes, rootUserId, type StoredUser, type SystemRights } from '../people/model.ts'
import { draftUser, meetsRules, ruleHint, users as store } from '../people/service.ts'
import { divideMemory, standardMemory } from '../platform/memory/shares.ts'
import type { Bus } from '../platform/postgres/bus.ts'
import type { Db, Queryable } from '../platform/postgres/db.ts'
import { resetFactorsOf } from './factors/service.ts'
import type { InitialPassword } from './initial-password.ts'
import { createPasswords } from './passwords.ts'
import { createSessions } from './sessions/service.ts'
import { forgiveSignIns } from './throttle.ts'

export interface RecoveryDependencies {
  db: Db
  bus: Bus
  events: EventLog
  baseConfig: BaseConfigService
  initial: InitialPassword
}

/** A user to create at the terminal. */
export interface NewAccount {
  readonly login: string
  readonly email: string | null
  /** The user gets all rights. */
  readonly root: boolean
  readonly password: string
}

export interface OpenSession {
  readonly clientId: string
  readonly method: string
  readonly since: Date
  readonly lastUsed: Date
  readonly address: string
  readonly device: string | null
}

/** Minimum length of passwords on the command line, whatever the rules of the instance. */
const shortest = 8

/** The command line's functions for users who cannot sign in any more; a person who may run it can access the database anyway. */
export function createRecovery({ db, bus, events, baseConfig, initial }: RecoveryDependencies) {
  const passwords = createPasswords()
  const sessions = createSessions({ db, bus, events, baseConfig, maxBytes: divideMemory(standardMemory).sessions })

  async function hashOf(password: string): Promise<string> {
    if ([...password].length < shortest) throw new Error(`a password has at least ${shortest} characters`)
    const rules = baseConfig.get().password
    if (!meetsRules(password, rules)) throw new Error(ruleHint(rules, baseConfig.databaseLanguages()))
    return passwords.hash(password)
  }

  async function userNamed(from: Queryable, name: string): Promise<StoredUser> {
    const id = await store.findByLoginOrEmail(from, identityKey(name))
    const [user] = id === null ? [] : await store.findUsers(from, [id])
    if (!user) throw new Error(`there is no user ${JSON.stringify(name)}`)
    return user
  }

  /** All messages are single lines for the person at the terminal. */
  return {
    /** Gives a user, named by login or email, a new password; ends all of its sessions and lifts all blocks on its sign-in. */
    async setPassword(name: string, password: string): Promise<void> {
      const hash = await hashOf(password)
      await db.transaction(async (tx) => {
        const user = await userNamed(tx, name)
        if (!passwordUserTypes.includes(user.type)) throw new Error(`users of type ${user.type} have no password here`)
        await store.setPassword(tx, user.id, hash)
        await forgiveSignIns(tx, [user.id])
        await events.append(tx, [userEvent('USER_UPDATE', { ...user, version: user.version + 1 })])
        await sessions.endOfUsers(tx, [{ userId: user.id }], '')
        if (user.id === rootUserId) await initial.forget()
      })
    },

    /** Creates a user; with `root` a user with all rights. */
    async create({ login, email, root, password }: NewAccount): Promise<void> {
      const hash = await hashOf(password)
      await db.transaction(async (tx) => {
        for (const name of [login, ...(email === null ? [] : [email])]) {
          const taken = await store.findByLoginOrEmail(tx, identityKey(name))
          if (taken !== null) throw new Error(`there is a user ${JSON.stringify(name)} already`)
        }
        const draft = draftUser({ user: { login, email } }, null, 'user', new Date())
        const [id = 0] = await store.newUserIds(tx, 1)
        const rights: SystemRights = root ? { 'system.root': {} } : {}
        const owner = { acl: [], owner_user: rootUserId, owner_group: null }
        await store.insertUsers(tx, [
          { ...draft, ...owner, id, version: 1, password_hash: hash, system_rights: rights },
        ])
        const [user] = await store.findUsers(tx, [id])
        if (user) await events.append(tx, [userEvent('USER_INSERT', user)])
      })
    },

    /** The sessions of a user. */
    async sessions(name: string): Promise<readonly OpenSession[]> {
      return openSessions(db, (await userNamed(db, name)).id)
    },

    /** Signs a user out everywhere; returns the number of sessions. */
    endSessions: (name: string): Promise<number> =>
      db.transaction(async (tx) => {
        const user = await userNamed(tx, name)
        const open = await openSessions(tx, user.id)
        await sessions.endOfUsers(tx, [{ userId: user.id }], '')
        return open.length
      }),

    /** Removes the second factors of a user. */
    async resetFactors(name: string): Promise<void> {
      await db.transaction(async (tx) => {
        const user = await userNamed(tx, name)
        const version = await resetFactorsOf(tx, user.id)
        if (version !== null) await events.append(tx, [userEvent('USER_UPDATE', { ...user, version })])
      })
    },

    close: sessions.close,
  }
}

function userEvent(type: 'USER_INSERT' | 'USER_UPDATE', user: StoredUser): NewEvent {
  const info = { login: user.login, displayname: user.generatedDisplayname, reference: user.reference }
  return { type, actor: null, basetype: 'user', objectId: user.id, objectVersion: user.version, info }
}

/** Last used first. */
async function openSessions(from: Queryable, userId: number): Promise<readonly OpenSession[]> {
  const { rows } = await from.query<OpenSession>(
    `select client_id as "clientId", method, authenticated_at as since, last_used_at as "lastUsed",
       remote_addr as address, user_agent as device
     from oauth_session where user_id = $1 and revoked_at is null and expires_at > now()
     order by last_used_at desc, id limit 1000`,
    [userId],
  )
  return rows
}
