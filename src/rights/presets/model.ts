import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import type { Localized } from '../../platform/values/localized.ts'
import type { RightItem, TagFilter } from '../model.ts'

/** Contexts whose grants can be made from presets. */
export const presetContexts = ['object', 'collection'] as const

export type PresetContext = (typeof presetContexts)[number]

/** The content that a grant takes from its preset. */
export interface PresetTerms {
  readonly rights: Readonly<Record<string, RightItem>>
  readonly tagfilter?: TagFilter
  /** The lifetime in hours of a new grant without an end. */
  readonly default_expiration_hours?: number
  /** For collections: the base of links, instead of the external address. */
  readonly share_url?: string
}

export interface Preset {
  readonly id: number
  readonly version: number
  readonly context: PresetContext
  readonly position: number
  readonly displayname: Localized
  readonly description: Localized
  readonly terms: PresetTerms
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Stored grants that are made from presets. The capability that stores them provides the functions. */
export interface PresetUse {
  /** How many records have a grant that is made from the preset. */
  count(tx: Queryable, presetId: number): Promise<number>
  /** Whether any record has a grant that is made from one of the presets. */
  used(tx: Queryable, presetIds: readonly number[]): Promise<boolean>
  /** Updates all grants made from the presets to their current content; returns how many records changed. */
  apply(tx: Tx, presets: readonly { id: number; terms: PresetTerms }[]): Promise<number>
  /** Removes the grants made from the preset; returns how many records changed. */
  remove(tx: Tx, presetId: number): Promise<number>
}
