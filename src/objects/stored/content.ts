import type { Table } from '../../datamodel/model.ts'

/**
 * Content as stored, keyed by column id (`Column.key`); rows of nested tables are under `Table.key` and have their uuid as `_u`. An
 * absent key means that there is no value; null is never stored. Links are system object ids.
 */
export interface Content {
  [key: string]: unknown
}

export interface ContentRow extends Content {
  _u: string
}

/** `_standard`: up to three text slots, and the picture and map data of the object. */
export interface Standard {
  [slot: string]: unknown
}

export type Operation = 'i' | 'u' | 'd' | 'r'

/** One version of one object as loaded from the database. */
export interface StoredObject {
  readonly systemObjectId: number
  readonly table: Table
  readonly id: number
  readonly version: number
  readonly uuid: string
  readonly poolId: number | null
  readonly ownerUser: number | null
  readonly ownerGroup: number | null
  readonly tags: readonly number[]
  /** Grants on the object as stored (rights/service.ts, `StoredGrant[]`). */
  readonly acl: unknown
  /** Private permissions: the grants of pool and object type do not apply. */
  readonly privateAcl: boolean
  /** System object ids of the parents. */
  readonly parents: readonly number[]
  readonly childIdx: number | null
  readonly standard: Standard
  readonly createdAt: Date
  readonly createdBy: number | null
  readonly modifiedAt: Date
  readonly deletedAt: Date | null
  /** The operation of the version itself. */
  readonly operation: Operation
  readonly at: Date
  readonly byUser: number | null
  readonly comment: string | null
  readonly content: Content
  /** The newest version of the object, equal to `version` unless history is read. */
  readonly latestVersion: number
}

/** Rows of a nested table in a content or a row; empty when there are none. */
export function rowsOf(content: Content, table: Table): readonly ContentRow[] {
  return (content[table.key] as ContentRow[] | undefined) ?? []
}
