import type { Tx } from '../platform/postgres/db.ts'
import type { Localized } from '../platform/values/localized.ts'
import type { Person, StoredGrant } from '../rights/service.ts'
import type { Transition } from '../transitions/model.ts'

/** The settings of an object type for one tag; absent members are those of the tag itself. */
export interface ObjecttypeTag {
  readonly id: number
  readonly enabled?: boolean
  readonly isDefault?: boolean
}

/** File name templates by language, by file field; `default`: for all others. */
export type FilenameTemplates = Readonly<Record<string, Localized>>

/**
 * Settings of an object type, which administrators change without a commit of the datamodel. Members that only clients read are
 * stored in wire spelling.
 */
export interface ObjecttypeSettings {
  /** Mask ids in order of preference, the first is the default; null: no preference. */
  readonly standardMasks: readonly number[] | null
  readonly acl: readonly StoredGrant[]
  readonly privateTags: boolean
  readonly tags: readonly ObjecttypeTag[]
  readonly privateTransitions: boolean
  readonly transitions: readonly Transition[]
  readonly exportAssetFilenames: FilenameTemplates
  /** Mask id (as text) with the tag filter of objects that are shown in the mask. */
  readonly maskfilters: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly columnfilters: readonly Readonly<Record<string, unknown>>[]
  readonly contact: Person | null
  readonly fields: ObjecttypeFields
}

/** The plain members of the `objecttype` block; absent: not set. */
export interface ObjecttypeFields {
  readonly mapping_image_export?: string | number
  readonly mapping_image_import?: string | number
  readonly mapping_dc_export?: string | number
  readonly mapping_image_import_recipe_configs?: Readonly<Record<string, unknown>>
  readonly show_in_collections?: boolean
  readonly show_in_facet_grouping?: boolean
  readonly show_in_main_menu_with_icon?: string
  readonly empty_placeholder_icon?: string
  readonly description?: Localized
  readonly custom_data?: Readonly<Record<string, unknown>>
  readonly watermark?: Readonly<Record<string, unknown>>
  readonly caption?: Readonly<Record<string, unknown>>
  /** The user who has set the caption; absent: root, because older releases did not record it. */
  readonly caption_set_by?: number
  readonly janitor_policy?: JanitorPolicy
}

/**
 * The mappings of an object type without settings for them, as shown and in effect: metadata are imported by the built-in mapping,
 * nothing is written.
 */
export const shownMappings = {
  mapping_image_export: 'none',
  mapping_image_import: 1,
  mapping_dc_export: 'none',
} as const

/** Checks the mappings that settings refer to. Another capability provides it. @throws {AppError} */
export type RequireMappings = (
  tx: Tx,
  named: readonly {
    readonly id: number
    readonly use: 'exiftool_import' | 'exiftool_export' | 'dc_export'
    /** Id of the object type that uses it. */
    readonly table?: number
    readonly path: string
    /** Parameters that the setting has for the recipes of the mapping, as they were sent. */
    readonly recipes?: { readonly sent: unknown; readonly path: string; readonly by: 'manager' | 'user' }
  }[],
) => Promise<void>

/** Limits after which data may be deleted; null: it stays. */
export interface JanitorPolicy {
  readonly file_link_delete?: {
    readonly keep_days_history_versions: number | null
    readonly keep_count: number | null
    readonly min_object_deleted_days: number | null
  }
  readonly object_purge?: { readonly min_deleted_days: number | null }
}

export interface StoredObjecttype {
  readonly id: number
  readonly version: number
  readonly settings: ObjecttypeSettings
}

/** The settings of an object type for which nothing was set. */
export const defaultSettings: ObjecttypeSettings = {
  standardMasks: null,
  acl: [],
  privateTags: false,
  tags: [],
  privateTransitions: false,
  transitions: [],
  exportAssetFilenames: {},
  maskfilters: {},
  columnfilters: [],
  contact: null,
  fields: {},
}
