import type { Actor } from '../platform/actor.ts'
import type { Queryable, Tx } from '../platform/postgres/db.ts'
import type { LockOut } from './sign-in-obstacle.ts'

/** Whose sessions end. */
export interface EndedSessions {
  userId: number
  reason?: LockOut
}

/** What a change of users and groups asks of their sessions. */
export interface SessionHooks {
  /** Ends all sessions of users, in the caller's transaction. */
  endOfUsers(tx: Tx, ended: readonly EndedSessions[], remoteAddr: string): Promise<void>
  /** Tells all processes after the commit that sessions of these users must be read again. */
  changed(tx: Tx, userIds: Iterable<number>): Promise<void>
  /** The same of all users. */
  allChanged(tx: Tx): Promise<void>
}

/** What the record of a user tells of its second factors. */
export interface ShownFactors {
  readonly userId: number
  readonly totp: boolean
  readonly passkey: boolean
  readonly lastMethod: string | null
}

/** What is taken away from whom. */
export interface FactorReset {
  /** Authenticator apps, and the recovery codes. */
  readonly totp: readonly number[]
  /** Passkeys, and recovery codes where nothing else is left. */
  readonly passkeys: readonly number[]
}

export interface FactorHooks {
  /** Of those who have any. */
  shown(from: Queryable, userIds: readonly number[]): Promise<readonly ShownFactors[]>
  /** Takes second factors of users away, and what blocks their codes. */
  reset(tx: Tx, factors: FactorReset): Promise<void>
}

/** A mail that a user is to be sent. */
export interface DueMail {
  readonly userId: number
  readonly kind: 'welcome' | 'confirm'
}

export interface AccountMails {
  /**
   * Queues mails to users, in the transaction that makes them due. A welcome has a link for a password where there is none,
   * and for those who never have one what they sign in with.
   * @throws {AppError} `ServerGeneric` when no mail can be sent: nobody could sign in who waits for one.
   */
  send(tx: Tx, due: readonly DueMail[]): Promise<void>
}

/** A PIN that somebody enters: absent, what is remembered stays; null, it is forgotten. */
export interface CollectionPinCode {
  readonly collection_id: number
  readonly pin_code?: string | null
}

export interface PinHooks {
  /** Looks at PINs; what it gives joins the transaction, and remembers those that were right. @throws {AppError} `TooManyAttempts` */
  enter(actor: Actor, codes: readonly CollectionPinCode[], path: string): Promise<(tx: Tx) => Promise<void>>
  /** Collections whose PIN the caller has entered. */
  enteredBy(from: Queryable, actor: Actor): Promise<readonly number[]>
}

/** Lets an actor change what proves itself, or throws. Joins the transaction of the change. */
export type FreshSignIn = (tx: Queryable, actor: Actor) => Promise<void>
