/**
 * Vocabulary of collections. A *collection* is a list of objects in an order chosen by people, and contains other
 * collections. The *top collection* of a user is made with the user and contains the user's own ones. An *entry* is one
 * object in a list. A *remote* object is one of another instance, known by its global id only. Everything below a top
 * collection has the same owner.
 */
import type { Localized } from '../platform/values/localized.ts'
import type { StoredGrant } from '../rights/service.ts'

/** Settings for objects made of uploads into a collection; wire form, checked by create-object.ts. */
export type CreateObject = Readonly<Record<string, unknown>>

/** The settings of a collection that users can change. */
export interface CollectionFields {
  readonly reference: string | null
  readonly shortname: string | null
  readonly uuid: string
  readonly type: string | null
  readonly displayname: Localized
  readonly description: Localized
  readonly webfrontendProps: Readonly<Record<string, unknown>>
  readonly createObject: CreateObject | null
  readonly childrenAllowed: boolean
  readonly objectsAllowed: boolean
  readonly acl: readonly StoredGrant[]
  readonly privateAcl: boolean
  /** Changes with each PIN that is set; null: there is none. */
  readonly pinId: string | null
}

/** A collection as it is stored. */
export interface Collection extends CollectionFields {
  readonly id: number
  readonly version: number
  readonly parentId: number | null
  /** Ids from the root to this one, inclusive. */
  readonly path: readonly number[]
  readonly isSystem: boolean
  /** The user whose top collection it is. */
  readonly userId: number | null
  readonly ownerId: number
  /** The owner is archived: only root can reach it. */
  readonly unreachable: boolean
  readonly objectCount: number
  /** A grant gives more on some object than the owner may pass on. */
  readonly invalidAcl: boolean
  /** Number of objects of other instances in it. */
  readonly remoteCount: number
  /** Number of renewals of its upload addresses. */
  readonly uploadGeneration: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** The members of a collection that its children inherit, for one caller. */
export interface Ancestor extends Heritage {
  /** It has a PIN that the caller has not entered. */
  readonly locked: boolean
}

type Heritage = Pick<
  Collection,
  'id' | 'version' | 'parentId' | 'reference' | 'displayname' | 'acl' | 'privateAcl' | 'createObject'
>
