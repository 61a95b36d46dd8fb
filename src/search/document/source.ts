/** What the indexer reads: objects with their newest content, and what is shown of the objects that they link to. */
import type { Localized } from '../../datamodel/model.ts'
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
  readonly content: Readonly<Record<string, unknown>>
  /** Of columns with files: what says who may see these. */
  readonly files?: readonly FileMarks[]
}

/** What holds for all preferred files of a column, and these files as grants ask for them. */
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

/** One change of an object, as its history has it. */
export interface ObjectChange {
  /** Microseconds since 1970. */
  readonly at: number
  readonly operation: 'i' | 'u' | 'd' | 'r'
  readonly userId: number | null
  readonly comment: string | null
}

/** An object that others link to, as they show it. */
export interface LinkTarget {
  readonly parents: readonly number[]
  readonly texts: Localized
}
