/**
 * Vocabulary of rights through collections. A collection *shares* its objects if a grant on it, or on a collection above it, gives
 * rights on objects. Such a grant never gives more than the *owner* of the collection may pass on at that moment.
 */
import type { Caller } from '../compile.ts'
import type { StoredGrant } from '../model.ts'

/** The list of a collection in one of its versions. */
export interface SharedList {
  readonly version: number
  /** System object ids, ascending. */
  readonly ids: Float64Array
}

/** A collection that is shared by grants on it or above it. */
export interface SharedCollection {
  readonly id: number
  readonly parentId: number | null
  readonly ownerId: number
  readonly acl: readonly StoredGrant[]
  /** Whether it does not inherit the grants of its parent, except sticky ones. */
  readonly privateAcl: boolean
  /** The callers who have entered its PIN, by `pinHolder`; absent: it has none. */
  readonly pin?: ReadonlySet<string>
  readonly list: SharedList
}

/** The key of a caller who enters PINs: a user, or one browser if many people share the user. */
export const pinHolder = (userId: number, visitor: string): string => `${userId} ${visitor}`

/** Options of a request for grants that give more than may be passed on. */
export interface ShareOptions {
  /** Whether they are stored nevertheless. */
  readonly allow: boolean
  /** Whether the check runs later in the background, without a question to the caller. */
  readonly background: boolean
  /** The longest time for one search for them, in milliseconds. */
  readonly timeLimit?: number | undefined
}

/** All shared collections. */
export interface SharedCollections {
  /** Parents before their children. */
  readonly collections: readonly SharedCollection[]
  /** Their owners, as callers, by user id. */
  readonly owners: ReadonlyMap<number, Caller>
}

export const noShares: SharedCollections = { collections: [], owners: new Map() }
