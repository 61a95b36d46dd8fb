import type { Actor } from '../platform/actor.ts'
import type { Queryable, Tx } from '../platform/postgres/db.ts'
import type { LockOut } from './sign-in-obstacle.ts'

/** A user whose sessions end. */
export interface EndedSessions {
  userId: number
  reason?: LockOut
}

/** The functions for sessions that changes of users and groups need. */
export interface SessionHooks {
  /** Ends all sessions of users, in the caller's transaction. */
  endOfUsers(tx: Tx, ended: readonly EndedSessions[], remoteAddr: string): Promise<void>
  /** Tells all processes after the commit that sessions of these users must be read again. */
  changed(tx: Tx, userIds: Iterable<number>): Promise<void>
  /** The same for all users. */
  allChanged(tx: Tx): Promise<void>
}

/** The second factors of a user, as its record shows them. */
export interface ShownFactors {
  readonly userId: number
  readonly totp: boolean
  readonly passkey: boolean
  readonly lastMethod: string | null
}

/** The users whose second factors are removed. */
export interface FactorReset {
  /** Authenticator apps, and the recovery codes. */
  readonly totp: readonly number[]
  /** Passkeys. Recovery codes are removed too, if no other factor is left. */
  readonly passkeys: readonly number[]
}

export interface FactorHooks {
  /** The second factors of the users who have any. */
  shown(from: Queryable, userIds: readonly number[]): Promise<readonly ShownFactors[]>
  /** Removes second factors of users, and blocks on their codes. */
  reset(tx: Tx, factors: FactorReset): Promise<void>
}

/** A mail to be sent to a user. */
export interface DueMail {
  readonly userId: number
  readonly kind: 'welcome' | 'confirm'
}

export interface AccountMails {
  /**
   * Queues mails to users, in the transaction that makes them due. A welcome mail has a link for setting a password if there is
   * none. For users who never have a password, it has what they need for sign-in.
   * @throws {AppError} `ServerGeneric` when no mail can be sent, because users who wait for one could not sign in.
   */
  send(tx: Tx, due: readonly DueMail[]): Promise<void>
}

/** A PIN that a user enters. Absent: an entered PIN stays valid. `null`: it is forgotten. */
export interface CollectionPinCode {
  readonly collection_id: number
  readonly pin_code?: string | null
}

export interface PinHooks {
  /**
   * Checks PINs. The returned function runs in the transaction and stores the correct ones.
   * @throws {AppError} `TooManyAttempts`
   */
  enter(actor: Actor, codes: readonly CollectionPinCode[], path: string): Promise<(tx: Tx) => Promise<void>>
  /** Collections whose PIN the caller has entered. */
  enteredBy(from: Queryable, actor: Actor): Promise<readonly number[]>
}

/** Allows an actor to change its own credentials, or throws. Runs in the transaction of the change. */
export type FreshSignIn = (tx: Queryable, actor: Actor) => Promise<void>
