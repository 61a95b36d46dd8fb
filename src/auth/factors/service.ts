/**
 * Second factors: what users prove besides their password. A user *must* prove one when a group asks for it, or when it
 * has set one up; the user `root` never. A *method* is a kind of proof; an authenticator app is *enrolled* once, and
 * recovery codes stand in for it.
 */
import type { BaseConfigService } from '../../config/service.ts'
import type { EventLog } from '../../events/service.ts'
import type { Db, Queryable, Tx } from '../../platform/db.ts'
import { rootUserId, type UserType } from '../model.ts'
import type { LoginFlows } from '../oauth/login/flows.ts'
import type { Login } from '../oauth/login/login.ts'
import type { Sessions } from '../sessions/service.ts'
import type { Throttle } from '../throttle.ts'
import type { FactorMethod } from './methods.ts'
import { newRecoveryCodes, recoveryHash } from './recovery-codes.ts'
import * as store from './store.ts'
import { stepOf } from './totp.ts'

export interface FactorDependencies {
  db: Db
  events: EventLog
  sessions: Sessions
  throttle: Throttle
  baseConfig: BaseConfigService
  clock: () => Date
}

export type { ShownFactors } from './store.ts'

/** What a user has to prove, and can. */
export interface Standing {
  readonly login: string | null
  /** A second factor must be passed. */
  readonly asked: boolean
  /** Methods that the user can prove with; empty: one must be set up first. */
  readonly usable: readonly FactorMethod[]
}

/** A sign-in that has proved a password. */
export type ProvedLogin = Login & { readonly userId: number }

/** How an attempt ended: passed, wrong (another try), or over, and where to begin anew. */
export type Outcome =
  | { readonly kind: 'right' }
  | { readonly kind: 'wrong' }
  | { readonly kind: 'over'; readonly address: string }

/** Users that are many people: nobody signs in as one of them. */
const shared: readonly UserType[] = ['anonymous', 'collection']

export type Factors = ReturnType<typeof createFactors>

export function createFactors({ db, events, sessions, throttle, baseConfig, clock }: FactorDependencies) {
  async function standing(userId: number, remoteAddr: string): Promise<Standing> {
    const nothing: Standing = { login: null, asked: false, usable: [] }
    const { enabled, methods } = baseConfig.get().two_factor
    if (!enabled || userId === rootUserId) return nothing
    // Both for everybody: the time says nothing of who has to prove what.
    const [found, actor] = await Promise.all([store.findFactors(db, userId), sessions.actorOfUser(userId, remoteAddr)])
    if (!found || !actor || shared.includes(found.type)) return nothing
    const required = found.requiringGroups.some((id) => actor.groupIds.includes(id))
    const enrolled = found.totp && methods.includes('totp')
    const usable: FactorMethod[] = enrolled ? ['totp', ...(found.recoveryCodes > 0 ? (['recovery'] as const) : [])] : []
    return { login: found.login ?? found.email, asked: required || enrolled, usable }
  }

  /** Whether a code is right; uses it up. */
  async function accepts(tx: Tx, userId: number, method: FactorMethod, code: string): Promise<boolean> {
    const { totpSecret, totpLastStep } = await store.lockFactors(tx, userId)
    if (method === 'recovery') return store.useRecoveryCode(tx, userId, recoveryHash(userId, code))
    const step = totpSecret === null ? null : stepOf(totpSecret, code, clock())
    if (step === null || step <= totpLastStep) return false
    await store.useStep(tx, userId, step)
    await store.setLastMethod(tx, userId, method)
    return true
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

    /** Whether a password alone is too little (CLIENT-017). Takes the same time for everybody. */
    async mustPass(userId: number, remoteAddr: string): Promise<boolean> {
      return (await standing(userId, remoteAddr)).asked
    },

    /**
     * Checks a code. `right` joins the transaction of one that fits: what it throws leaves the code unused.
     * @throws {AppError} `TooManyAttempts` while the user's codes are blocked; `PageExpired`
     */
    async check(
      flows: LoginFlows,
      login: ProvedLogin,
      attempt: { method: FactorMethod; code: string },
      right: (tx: Tx) => Promise<void>,
    ): Promise<Outcome> {
      const { userId, remoteAddr } = login
      const actor = await sessions.actorOfUser(userId, remoteAddr)
      return db.transaction(async (tx): Promise<Outcome> => {
        await store.lockFactors(tx, userId)
        await flows.hold(tx, login)
        const open = await throttle.openForFactor(tx, userId, remoteAddr)
        if (await accepts(tx, userId, attempt.method, attempt.code)) {
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
          error: 'wrong code',
          login: login.login,
        }
        await events.append(tx, [{ type: 'USER_LOGIN_FAILED', actor, basetype: 'user', objectId: userId, info }])
        return over === null ? { kind: 'wrong' } : { kind: 'over', address: over }
      })
    },

    renewRecoveryCodes,

    /**
     * Sets up an authenticator app in place of the one that there may be; returns new recovery codes. `null`: the code is
     * wrong. `right` joins the transaction.
     */
    async enrol(
      flows: LoginFlows,
      login: ProvedLogin,
      { secret, code, replaces }: { secret: Buffer; code: string; replaces: boolean },
      right: (tx: Tx) => Promise<void>,
    ): Promise<readonly string[] | null> {
      const { userId, remoteAddr } = login
      const actor = await sessions.actorOfUser(userId, remoteAddr)
      return db.transaction(async (tx) => {
        const { totpSecret } = await store.lockFactors(tx, userId)
        await flows.hold(tx, login)
        // Another sign-in was faster: whoever has not proved its app cannot replace it.
        if (totpSecret !== null && !replaces) return null
        const step = stepOf(secret, code, clock())
        if (step === null) return null
        await store.setTotp(tx, userId, secret, step)
        await store.setLastMethod(tx, userId, 'totp')
        const codes = await renewRecoveryCodes(tx, userId)
        await right(tx)
        const user = await store.touchUser(tx, userId)
        if (user) {
          const { version, ...info } = user
          const about = { basetype: 'user', objectId: userId, objectVersion: version, info }
          await events.append(tx, [{ type: 'USER_UPDATE', actor, ...about }])
        }
        return codes
      })
    },
  }
}

/** Takes the authenticator apps and recovery codes of users away; what blocks their codes, too. */
export async function resetFactors(tx: Tx, throttle: Throttle, userIds: readonly number[]): Promise<void> {
  if (userIds.length === 0) return
  await store.removeTotp(tx, userIds)
  await throttle.forgiveFactors(tx, userIds)
}

/** The same for one, as a change of its own; returns the new version of the user. */
export async function resetFactorsOf(tx: Tx, throttle: Throttle, userId: number): Promise<number | null> {
  await resetFactors(tx, throttle, [userId])
  return (await store.touchUser(tx, userId))?.version ?? null
}

/** What the record of a user tells of its second factors; those who have none are not in it. */
export async function factorsOf(from: Queryable, userIds: readonly number[]) {
  return userIds.length === 0 ? [] : store.findShown(from, userIds)
}
