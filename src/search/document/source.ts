/** The input of the indexer: objects with their newest content, and the displayed data of linked objects. */
import type { Localized } from '../../platform/values/localized.ts'
import type { StoredGrant } from '../../rights/service.ts'

export interface IndexSource {
  readonly id: number
  readonly objecttype: number
  readonly uuid: string
  /** `_id`, its number among the objects of its type. */
  readonly ownId: number
  readonly poolId: number | null
  readonly ownerUser: number | null
  readonly ownerGroup: number | null
  readonly tags: readonly number[]
  readonly acl: readonly StoredGrant[] | null
  readonly privateAcl: boolean
  readonly parents: readonly number[]
  readonly standard: StandardTexts
  /** Microseconds since 1970. */
  readonly createdAt: number
  readonly modifiedAt: number
  readonly deleted: boolean
  /** Objects linked to it before it was created, and it has not been indexed since. */
  readonly promised?: boolean
  readonly content: Readonly<Record<string, unknown>>
  /** For columns with files: the properties that decide who may see the files. */
  readonly files?: readonly FileMarks[]
}

/** The properties that all preferred files of a column share, and these files in the form that grants use. */
export interface FileMarks {
  readonly columnId: number
  readonly classes: readonly string[]
  /** `image.preview` */
  readonly versions: readonly string[]
  /** `u5` */
  readonly uploaders: readonly string[]
  readonly files: readonly {
    readonly class: string
    readonly extension: string
    readonly versions: readonly string[]
  }[]
}

/** `_standard` as it is stored (objects/standard/compute.ts): slot to text per language. */
export type StandardTexts = Readonly<Record<string, { readonly text?: Localized } | undefined>>

/** One change of an object, from its history. */
export interface ObjectChange {
  /** Microseconds since 1970. */
  readonly at: number
  readonly operation: 'i' | 'u' | 'd' | 'r'
  readonly userId: number | null
  readonly comment: string | null
}

/** A linked object, in the form in which others show it. */
export interface LinkTarget {
  readonly parents: readonly number[]
  readonly texts: Localized
}
