/**
 * Vocabulary of rights through collections. A collection *shares* its objects where a grant on it, or on one above it, gives rights on
 * objects. What such a grant gives is never more than the *owner* of the collection may pass on at that moment.
 */
import type { Caller } from '../compile.ts'
import type { StoredGrant } from '../model.ts'

/** A list, as it was with a version of it. */
export interface SharedList {
  readonly version: number
  /** System object ids, ascending. */
  readonly ids: Float64Array
}

/** A collection that grants on it or above it share. */
export interface SharedCollection {
  readonly id: number
  readonly parentId: number | null
  readonly ownerId: number
  readonly acl: readonly StoredGrant[]
  /** Does not inherit the grants of its parent, except sticky ones. */
  readonly privateAcl: boolean
  /** Who has entered its PIN, as `pinHolder` names them; absent: it has none. */
  readonly pin?: ReadonlySet<string>
  readonly list: SharedList
}

/** Somebody who enters PINs: a user, or one of the browsers in which many act as one user. */
export const pinHolder = (userId: number, visitor: string): string => `${userId} ${visitor}`

/** What a request says about grants that say more than may be passed on. */
export interface ShareOptions {
  /** They are stored all the same. */
  readonly allow: boolean
  /** Nobody is asked: they are looked for later. */
  readonly background: boolean
  /** Milliseconds that looking for them takes at most at a time. */
  readonly timeLimit?: number | undefined
}

/** All of them. */
export interface SharedCollections {
  /** Parents before their children. */
  readonly collections: readonly SharedCollection[]
  /** Those who own them, as callers, by user id. */
  readonly owners: ReadonlyMap<number, Caller>
}

export const noShares: SharedCollections = { collections: [], owners: new Map() }
