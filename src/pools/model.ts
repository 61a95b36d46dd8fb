/**
 * Pools in memory. A *pool* holds objects and other pools; the *root* pool holds pools only, and its settings apply to all of them.
 * *Private* switches of a pool block inheritance, for it and all pools below.
 */

import type { JanitorPolicy } from '../objecttypes/model.ts'
import type { Localized } from '../platform/values/localized.ts'
import type { Person, StoredGrant } from '../rights/model.ts'
import type { Transition } from '../transitions/model.ts'

/** The settings of a pool for a tag; absent members are inherited. */
export interface PoolTag {
  readonly id: number
  readonly enabled?: boolean
  readonly isDefault?: boolean
}

/** Mask ids by object type id, best first. */
export type StandardMasks = Readonly<Record<string, readonly number[]>>

/** Settings that other capabilities use: wire form, checked by settings.ts; absent: not set. */
export interface PoolSettings {
  readonly watermark?: Readonly<Record<string, unknown>>
  readonly caption?: Readonly<Record<string, unknown>>
  /** The user who has set the caption; absent: root, because older releases did not record it. */
  readonly caption_set_by?: number
  readonly janitor_policy?: JanitorPolicy
  readonly custom_data?: Readonly<Record<string, unknown>>
  readonly mapping_dc_export?: string | number
  readonly mapping_image_export?: string | number
  readonly mapping_image_import?: string | number
}

/** A pool as it is stored. */
export interface StoredPool {
  readonly id: number
  readonly version: number
  readonly parentId: number | null
  readonly reference: string | null
  readonly isSystem: boolean
  readonly owner: Person | null
  readonly contact: Person | null
  readonly name: Localized
  readonly shortname: Localized
  readonly description: Localized
  readonly comment: string
  readonly settings: PoolSettings
  readonly acl: readonly StoredGrant[]
  readonly privateAcl: boolean
  readonly tags: readonly PoolTag[]
  readonly privateTags: boolean
  readonly transitions: readonly Transition[]
  readonly privateTransitions: boolean
  readonly standardMasks: StandardMasks
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A pool with its place in the tree. */
export interface Pool extends StoredPool {
  /** Ids from the root down to and including this pool. */
  readonly path: readonly number[]
  /** 0 for the root. */
  readonly level: number
  /** Ids of the pools directly below, ascending. */
  readonly children: readonly number[]
  /** False for the root. */
  readonly holdsObjects: boolean
  /** Own preferences of masks, and inherited ones for object types without own. */
  readonly effectiveMasks: StandardMasks
}

/** All pools by id, parents before their children. */
export interface PoolSnapshot extends ReadonlyMap<number, Pool> {
  readonly byReference: ReadonlyMap<string, Pool>
  readonly root: Pool
}
