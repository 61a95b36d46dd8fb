/**
 * Second factors: proofs besides the password. A user *must* prove one when a group requires it, or when it has set one up; the
 * user `root` never. A *method* is a kind of proof; an authenticator app or a passkey is *enrolled* once, and recovery codes can
 * replace it.
 */

import type { BaseConfigService } from '../../config/service.ts'
import type { EventLog } from '../../events/service.ts'
import { rootUserId, type UserType } from '../../people/model.ts'
import type { FactorReset, ShownFactors } from '../../people/service.ts'
import { signInObstacle } from '../../people/service.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'
import type { Seal } from '../../platform/secrets/seal.ts'
import type { DirectoryStatusService } from '../directories/status.ts'
import type { DirectoryStatus } from '../directories/status-store.ts'
import type { LoginFlows } from '../flows/flows.ts'
import type { Login } from '../flows/login.ts'

import type { Sessions } from '../sessions/service.ts'
import { findAccess } from '../sessions/store.ts'
import { forgiveFactors, type Throttle } from '../throttle.ts'
import type { MailCodes } from './mail-codes.ts'
import type { FactorMethod, RecordedMethod } from './methods.ts'
import { provedFactor, stepName, storedNotes } from './notes.ts'
import type { Passkeys } from './passkeys/service.ts'
import { listPasskeys, type Passkey, removePasskey, removePasskeysOf, renamePasskey } from './passkeys/store.ts'
import { newRecoveryCodes, recoveryHash } from './recovery-codes.ts'
import * as store from './store.ts'
import { newSecret, stepOf, totpAbout } from './totp.ts'

export interface FactorDependencies {
  db: Db
  events: EventLog
  sessions: Sessions
  throttle: Throttle
  baseConfig: BaseConfigService
  /** Address of the service for browsers. */
  externalUrl: string
  passkeys: Passkeys
  mailCodes: MailCodes
  seal: Seal
  words: Pick<DirectoryStatusService, 'now'>
  clock: () => Date
}

/** The factors that a user must prove, and can prove. */
export interface Standing {
  readonly login: string | null
  readonly email: string | null
  /** A second factor must be proved. */
  readonly asked: boolean
  /** A group requires it: the last factor cannot be removed. */
  readonly required: boolean
  /** Methods that the user can prove; empty: one must be set up first. */
  readonly usable: readonly FactorMethod[]
}

/** A sign-in that has proved a password. */
export type ProvedLogin = Login & { readonly userId: number }

/** The result of an attempt: right, wrong (another try), or over, with the address to begin anew. */
export type Outcome =
  | { readonly kind: 'right' }
  | { readonly kind: 'wrong' }
  | { readonly kind: 'over'; readonly address: string }

/** The answer of a user: a code, or the signed answer of a passkey. */
export interface Attempt {
  readonly method: FactorMethod
  readonly answer: string
}

/** A user's view of their own second factors. */
export interface Overview {
  readonly totp: boolean
  readonly recoveryCodes: number
  readonly passkeys: readonly Passkey[]
}

/** A change that users can make to them. */
export type Change =
  | { readonly kind: 'app' }
  | { readonly kind: 'passkey'; readonly id: string }
  | { readonly kind: 'rename'; readonly id: string; readonly name: string }

/** Users that represent many people: nobody signs in as one of them. */
const shared: readonly UserType[] = ['anonymous', 'collection']

/** The result of a sign-in by passkey. `refused`: it was right, but the directory of its user does not let them in. */
export type PasskeyOutcome =
  | { readonly kind: 'wrong' }
  | { readonly kind: 'refused'; readonly word: Exclude<DirectoryStatus, 'there'> }
  | { readonly kind: 'right' | 'over'; readonly address: string }

/** Names for the event of a failed sign-in. */
const directoryErrors: Readonly<Record<Exclude<DirectoryStatus, 'there'>, string>> = {
  gone: 'left_directory',
  refused: 'refused by the directory',
  stale: 'asked the provider too long ago',
  unavailable: 'the directory cannot be asked',
}

export type Factors = ReturnType<typeof createFactors>

export function createFactors(given: FactorDependencies) {
  const { db, events, sessions, throttle, baseConfig, passkeys, mailCodes, seal, words, clock } = given

  async function standing(userId: number, remoteAddr: string): Promise<Standing> {
    const nothing: Standing = { login: null, email: null, asked: false, required: false, usable: [] }
    if (!baseConfig.get().two_factor.enabled || userId === rootUserId) return nothing
    // Both are loaded for everybody: otherwise the time would reveal who has to prove a factor.
    const [found, actor] = await Promise.all([store.findFactors(db, userId), sessions.actorOfUser(userId, remoteAddr)])
    if (!found || !actor || shared.includes(found.type)) return nothing
    const required = found.requiringGroups.some((id) => actor.groupIds.includes(id))
    const usable: FactorMethod[] = enrolledIn(found)
    const enrolled = usable.length > 0
    const asked = required || enrolled
    // Needs no enrolment; where no factor is required, a mail address alone does not create a requirement.
    if (asked && found.email !== null && mailCodes.available()) usable.push('email')
    if (enrolled && found.recoveryCodes > 0) usable.push('recovery')
    return { login: found.login ?? found.email, email: found.email, asked, required, usable }
  }

  /** The enrolled methods of a user that are switched on. */
  function enrolledIn(found: store.FactorRow): RecordedMethod[] {
    const methods: RecordedMethod[] = []
    if (found.passkeys > 0 && setsUp('passkey')) methods.push('passkey')
    if (found.totp && setsUp('totp')) methods.push('totp')
    return methods
  }

  /**
   * Whether a sign-in must not enrol a method: it has proved no factor, and another, faster sign-in has enrolled one that must be
   * proved.
   */
  async function isTooLate(tx: Tx, login: ProvedLogin): Promise<boolean> {
    if (provedFactor(login) !== null) return false
    const found = await store.findFactors(tx, login.userId)
    return found === null || enrolledIn(found).length > 0
  }

  /** Whether an answer is right; uses it up. */
  async function accepts(tx: Tx, login: ProvedLogin, { method, answer: code }: Attempt): Promise<boolean> {
    const { userId } = login
    const { totpSecret, totpLastStep } = await store.lockFactors(tx, userId)
    if (method === 'recovery') return store.useRecoveryCode(tx, userId, recoveryHash(userId, code))
    if (method === 'passkey') {
      if ((await passkeys.prove(tx, login, code)) !== userId) return false
      await store.setLastMethod(tx, userId, method)
      return true
    }
    if (method === 'email') {
      if (!(await mailCodes.use(tx, login, code))) return false
      await store.setLastMethod(tx, userId, method)
      return true
    }
    const secret = totpSecret === null ? null : await seal.open(totpSecret, totpAbout(userId))
    const step = secret === null ? null : stepOf(secret, code, clock())
    if (step === null || step <= totpLastStep) return false
    await store.useStep(tx, userId, step)
    await store.setLastMethod(tx, userId, method)
    return true
  }

  /** `last`: it is the only factor, and required. `none`: it does not exist. */
  async function apply(
    tx: Tx,
    userId: number,
    change: Change,
    { required }: { required: boolean },
  ): Promise<'done' | 'last' | 'none'> {
    if (change.kind === 'rename') return (await renamePasskey(tx, userId, change.id, change.name)) ? 'done' : 'none'
    const before = await store.findFactors(tx, userId)
    if (!before) return 'none'
    const left = change.kind === 'app' ? { ...before, totp: false } : { ...before, passkeys: before.passkeys - 1 }
    if (required && enrolledIn(left).length === 0) return 'last'
    if (change.kind === 'app') await store.removeTotpAlone(tx, userId)
    else if (!(await removePasskey(tx, userId, change.id))) return 'none'
    await store.removeLoneRecoveryCodes(tx, [userId])
    return 'done'
  }

  async function renewRecoveryCodes(tx: Tx, userId: number): Promise<string[]> {
    const codes = newRecoveryCodes()
    await store.setRecoveryCodes(
      tx,
      userId,
      codes.map((code) => recoveryHash(userId, code)),
    )
    return codes
  }

  return {
    standing,

    /** Whether a password alone is not enough (CLIENT-017). Takes the same time for everybody. */
    async mustPass(userId: number, remoteAddr: string): Promise<boolean> {
      return (await standing(userId, remoteAddr)).asked
    },

    /** Checks an answer. `right` joins the transaction of a right answer: if it throws, the answer is not used up. */
    async check(
      flows: LoginFlows,
      login: ProvedLogin,
      attempt: Attempt,
      right: (tx: Tx) => Promise<void>,
    ): Promise<Outcome> {
      const { userId, remoteAddr } = login
      const actor = await sessions.actorOfUser(userId, remoteAddr)
      if (attempt.method === 'passkey') await passkeys.ready()
      return db.transaction(async (tx): Promise<Outcome> => {
        await store.lockFactors(tx, userId)
        await flows.hold(tx, login)
        const open = await throttle.openForFactor(tx, userId, remoteAddr)
        if (await accepts(tx, login, attempt)) {
          await right(tx)
          await throttle.cleared(tx, open)
          return { kind: 'right' }
        }
        const failures = await throttle.failed(tx, open)
        const over = await flows.failed(login, tx)
        const info = {
          method: login.method,
          client: login.clientId,
          two_factor: attempt.method,
          attempt: failures,
          error: attempt.method === 'passkey' ? 'wrong passkey' : 'wrong code',
          login: login.login,
        }
        await events.append(tx, [{ type: 'USER_LOGIN_FAILED', actor, basetype: 'user', objectId: userId, info }])
        return over === null ? { kind: 'wrong' } : { kind: 'over', address: over }
      })
    },

    renewRecoveryCodes,

    /**
     * Enrols an authenticator app in place of an existing one; returns new recovery codes. `null`: the code is wrong. `right` joins
     * the transaction.
     */
    async enrol(
      flows: LoginFlows,
      login: ProvedLogin,
      { sealed, code }: { sealed: Buffer; code: string },
      right: (tx: Tx) => Promise<void>,
    ): Promise<readonly string[] | null> {
      const { userId, remoteAddr } = login
      const actor = await sessions.actorOfUser(userId, remoteAddr)
      return db.transaction(async (tx) => {
        await store.lockFactors(tx, userId)
        await flows.hold(tx, login)
        if (await isTooLate(tx, login)) return null
        const secret = await seal.open(sealed, totpAbout(userId))
        const step = secret === null ? null : stepOf(secret, code, clock())
        if (step === null) return null
        await store.setTotp(tx, userId, sealed, step)
        await store.setLastMethod(tx, userId, 'totp')
        const codes = await renewRecoveryCodes(tx, userId)
        await right(tx)
        await tellChange(tx, actor, userId)
        return codes
      })
    },

    externalUrl: given.externalUrl,
    passkeys,
    mailCodes,
    setsUp,

    /** A secret for an authenticator app, with its sealed form for storage. */
    async newTotp({ userId }: ProvedLogin): Promise<{ secret: Buffer; sealed: Buffer }> {
      const secret = newSecret()
      return { secret, sealed: await seal.seal(secret, totpAbout(userId)) }
    },

    /** The plain secret; null: it cannot be opened any more. */
    openTotp: ({ userId }: ProvedLogin, sealed: Buffer): Promise<Buffer | null> => seal.open(sealed, totpAbout(userId)),

    /** A user's view of their own second factors. */
    async overview({ userId }: ProvedLogin): Promise<Overview> {
      const [found, passkeys] = await Promise.all([store.findFactors(db, userId), listPasskeys(db, userId)])
      return { totp: found?.totp ?? false, recoveryCodes: found?.recoveryCodes ?? 0, passkeys }
    },

    /** A change of the user's own second factors. `last`: a group requires a factor, and it is the only one. */
    async change(flows: LoginFlows, login: ProvedLogin, change: Change): Promise<'done' | 'last'> {
      const { userId, remoteAddr } = login
      const actor = await sessions.actorOfUser(userId, remoteAddr)
      const { required } = await standing(userId, remoteAddr)
      return db.transaction(async (tx) => {
        await store.lockFactors(tx, userId)
        await flows.hold(tx, login)
        const outcome = await apply(tx, userId, change, { required })
        if (outcome === 'done') await tellChange(tx, actor, userId)
        return outcome === 'last' ? 'last' : 'done'
      })
    },

    /**
     * The same without the page, for callers that are allowed to. `allowed` joins the transaction and throws when it is not
     * allowed. `last`: users cannot remove the last factor when a group requires one; their administrators can.
     */
    async changeFor(
      actor: Actor,
      userId: number,
      change: Change,
      allowed: (tx: Tx) => Promise<void>,
    ): Promise<'done' | 'last' | 'none'> {
      const { required } = await standing(userId, actor.remoteAddr)
      return db.transaction(async (tx) => {
        await store.lockFactors(tx, userId)
        await allowed(tx)
        const outcome = await apply(tx, userId, change, { required: required && userId === actor.userId })
        if (outcome === 'done') await tellChange(tx, actor, userId)
        return outcome
      })
    },

    /** New recovery codes in place of the existing ones, for a user who has proved a second factor. */
    newRecoveryCodes(flows: LoginFlows, login: ProvedLogin): Promise<readonly string[]> {
      return db.transaction(async (tx) => {
        await store.lockFactors(tx, login.userId)
        await flows.hold(tx, login)
        return renewRecoveryCodes(tx, login.userId)
      })
    },

    /** The page for users without any factor. */
    setupPage: (): 'twoFactorSetup' | 'twoFactorSetupPasskey' =>
      !setsUp('totp') && passkeys.available() ? 'twoFactorSetupPasskey' : 'twoFactorSetup',

    /**
     * Stores a passkey that a device has created; returns new recovery codes, if there were none before. `null`: the answer of the
     * device is not valid. `right` joins the transaction.
     */
    async addPasskey(
      flows: LoginFlows,
      login: ProvedLogin,
      { name, answer }: { name: string; answer: string },
      right: (tx: Tx, codes: readonly string[]) => Promise<void>,
    ): Promise<readonly string[] | null> {
      const { userId, remoteAddr } = login
      const [actor] = await Promise.all([sessions.actorOfUser(userId, remoteAddr), passkeys.ready()])
      return db.transaction(async (tx) => {
        const { recoveryCodes } = await store.lockFactors(tx, userId)
        await flows.hold(tx, login)
        if ((await isTooLate(tx, login)) || !(await passkeys.add(tx, login, name, answer))) return null
        await store.setLastMethod(tx, userId, 'passkey')
        const codes = recoveryCodes > 0 ? [] : await renewRecoveryCodes(tx, userId)
        await right(tx, codes)
        await tellChange(tx, actor, userId)
        return codes
      })
    },

    /**
     * A user identifies themselves by a passkey. It counts as both factors, but not as a statement of the directory, which is asked
     * whether it still has the user. Right: the address to continue at.
     */
    async signInWithPasskey(flows: LoginFlows, login: Login, answer: string): Promise<PasskeyOutcome> {
      await passkeys.ready()
      const userId = await db.transaction(async (tx) => {
        await flows.hold(tx, login)
        return passkeys.available() ? passkeys.prove(tx, login, answer) : null
      })
      const word = userId === null ? 'there' : await words.now(userId, login.remoteAddr)
      return db.transaction(async (tx) => {
        await flows.hold(tx, login)
        const [user] = userId === null ? [] : await findAccess(tx, [userId])
        const obstacle = (user && signInObstacle(user, clock())) || (word === 'there' ? null : directoryErrors[word])
        if (userId !== null && user && obstacle === null) {
          const proved = await flows.proved(login, { userId, method: 'passkey', login: user.login }, tx)
          await flows.note(proved, stepName, storedNotes({ proved: 'passkey' }), tx)
          await store.setLastMethod(tx, userId, 'passkey')
          return { kind: 'right', address: await flows.passed(proved, stepName, tx) }
        }
        const address = await flows.failed(login, tx)
        const info = { method: 'passkey', client: login.clientId, error: obstacle ?? 'wrong passkey' }
        const about = user ? { basetype: 'user', objectId: user.userId } : {}
        await events.append(tx, [
          {
            type: 'USER_LOGIN_FAILED',
            actor: null,
            ...about,
            info: { ...info, ...(user?.login ? { login: user.login } : {}) },
          },
        ])
        if (word !== 'there') return { kind: 'refused', word }
        return address === null ? { kind: 'wrong' } : { kind: 'over', address }
      })
    },
  }

  /** Whether the base configuration allows users to enrol an app, or a passkey. */
  function setsUp(method: 'totp' | 'passkey'): boolean {
    return method === 'passkey' ? passkeys.available() : baseConfig.get().two_factor.methods.includes('totp')
  }

  /** Reports a change of values that the record of a user shows. */
  async function tellChange(tx: Tx, actor: Actor | null, userId: number): Promise<void> {
    const user = await store.touchUser(tx, userId)
    if (!user) return
    const { version, ...info } = user
    const about = { basetype: 'user', objectId: userId, objectVersion: version, info }
    await events.append(tx, [{ type: 'USER_UPDATE', actor, ...about }])
  }
}

/** Removes second factors of users, and the blocks on their codes. */
export async function resetFactors(tx: Tx, { totp, passkeys }: FactorReset): Promise<void> {
  const userIds = [...new Set([...totp, ...passkeys])]
  if (userIds.length === 0) return
  if (totp.length > 0) await store.removeTotp(tx, totp)
  if (passkeys.length > 0) {
    await removePasskeysOf(tx, passkeys)
    await store.removeLoneRecoveryCodes(tx, passkeys)
  }
  await forgiveFactors(tx, userIds)
}

/** Removes all factors of one user, as a separate change; returns the new version of the user. */
export async function resetFactorsOf(tx: Tx, userId: number): Promise<number | null> {
  await resetFactors(tx, { totp: [userId], passkeys: [userId] })
  return (await store.touchUser(tx, userId))?.version ?? null
}

/** The second factors in the records of users; users without any are left out. */
export async function factorsOf(from: Queryable, userIds: readonly number[]): Promise<readonly ShownFactors[]> {
  return userIds.length === 0 ? [] : store.findShown(from, userIds)
}
