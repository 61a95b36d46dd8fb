/**
 * Vocabulary of collections. A *collection* is a list of objects in the order that people gave it, and holds other
 * collections. The *top collection* of a user is made with the user and holds the user's own ones. An *entry* is one object
 * in a list. A *remote* object is one of another instance, known by its global id only. Everything below a top collection
 * has the same owner.
 */
import type { StoredGrant } from '../rights/service.ts'

export type Localized = Readonly<Record<string, string>>

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
  /** Another one for each PIN that is set; null: there is none. */
  readonly pinId: string | null
}

/** A collection as it is stored. */
export interface Collection extends CollectionFields {
  readonly id: number
  readonly version: number
  readonly parentId: number | null
  /** Ids from the root down to and including this one. */
  readonly path: readonly number[]
  readonly isSystem: boolean
  /** The user whose top collection it is. */
  readonly userId: number | null
  readonly ownerId: number
  /** The owner is archived: only root can reach it. */
  readonly unreachable: boolean
  readonly objectCount: number
  /** A grant says more of some object than the owner may pass on. */
  readonly invalidAcl: boolean
  /** Objects of other instances among them. */
  readonly remoteCount: number
  /** Counts the renewals of its upload addresses. */
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
