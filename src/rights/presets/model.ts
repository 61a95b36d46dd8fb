import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import type { RightItem, TagFilter } from '../model.ts'

/** Contexts whose grants can be made from presets. */
export const presetContexts = ['object', 'collection'] as const

export type PresetContext = (typeof presetContexts)[number]

/** What a grant takes over from its preset. */
export interface PresetTerms {
  readonly rights: Readonly<Record<string, RightItem>>
  readonly tagfilter?: TagFilter
  /** A new grant that says no end ends after so many hours. */
  readonly default_expiration_hours?: number
  /** Of collections: the base of links in place of the external address. */
  readonly share_url?: string
}

export type Localized = Readonly<Record<string, string>>

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

/** Stored grants that are made from presets; given by the capability that keeps them. */
export interface PresetUse {
  /** How many records have a grant that is made from the preset. */
  count(tx: Queryable, presetId: number): Promise<number>
  /** Whether any record has a grant that is made from one of the presets. */
  used(tx: Queryable, presetIds: readonly number[]): Promise<boolean>
  /** Gives all grants made from the presets what these say now; returns how many records changed. */
  apply(tx: Tx, presets: readonly { id: number; terms: PresetTerms }[]): Promise<number>
  /** Takes the grants made from the preset away; returns how many records changed. */
  remove(tx: Tx, presetId: number): Promise<number>
}
