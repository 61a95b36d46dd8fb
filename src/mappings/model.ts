/**
 * A *profile* is a file that says which tags of files there are for what (`caption`: XMP, IPTC and EXIF), a *mapping* binds
 * fields of a profile to columns of object types. A *tag* is named by group and name, as ExifTool does: `XMP-dc:Title`.
 */
import type { Localized } from '../datamodel/model.ts'
import type { RecipeParams } from '../plugins/service.ts'

/** What happens to the values of a field when an earlier field of the mapping has given its column values. */
export const strategies = ['replace', 'append', 'merge', 'skip_if_present'] as const
export type Strategy = (typeof strategies)[number]

/** What a mapping can be used for. */
export const uses = ['exiftool_import', 'exiftool_export', 'xml_export', 'dc_export'] as const
export type Use = (typeof uses)[number]

export type ProfileType = Readonly<Partial<Record<Use | 'exiftool_export_omit_empty' | 'plugins_import', boolean>>>

/** Where a tag or an element is written, and in which shape: one text, a list, a text for each language, or a list of such. */
export interface ExportTag {
  readonly path: string
  readonly list?: boolean
  readonly l10n?: boolean
}

export interface ImportTag {
  readonly search: string
}

/** A field of a profile: what one piece of information is called in files. */
export interface ProfileField {
  readonly name: string
  readonly text: Localized
  readonly strategy?: Strategy
  /** The first one that a file has is read. */
  readonly imports: readonly ImportTag[]
  /** All of them are written. */
  readonly exports: readonly ExportTag[]
  /** Names of columns that the mapping of the service itself takes for it, the best first. */
  readonly columns: readonly string[]
}

export interface ProfileTab {
  readonly tab: string
  readonly text: Localized
  /** Fields of one's own may be added there. */
  readonly custom: boolean
  readonly fields: readonly ProfileField[]
}

export interface Profile {
  /** With the ending of its file: `file-metadata.yml`. */
  readonly profile: string
  readonly displayname: Localized
  readonly type: ProfileType
  /** Namespace of the elements of an export as XML; null: it is for tags. */
  readonly xmlBase: string | null
  readonly tabs: readonly ProfileTab[]
}

/**
 * The place of a value in objects of a type: an own column, one of a nested table, or one of the object that such a column
 * links to. By ids, which a rename leaves as they are.
 */
export interface StoredPath {
  readonly table: number
  /** Nested tables from the outside in. */
  readonly nested: readonly number[]
  /** The column; of a linked object the link and then the column. `_uuid`: the identifier of the object. */
  readonly columns: readonly number[] | '_uuid'
}

/** Where the value of a field comes from or goes to. */
export type Source =
  | { readonly kind: 'field'; readonly path: StoredPath; readonly text?: string; readonly type?: string }
  | { readonly kind: 'text_fixed'; readonly text: string }
  | { readonly kind: 'deep_link_url'; readonly text?: string }

/** What a field takes of what a recipe of a plugin says of a file: the way to it in its JSON, and what it is. */
export interface FieldOfRecipe {
  readonly name: string
  readonly field: string
  readonly path: string
  readonly type: string
}

/** A recipe that fields of a mapping need, as it was when the mapping was saved. */
export interface MappedRecipe {
  readonly params: RecipeParams
  /** Where it says that it has failed; null: nowhere. */
  readonly errorPath: string | null
  /** What the mapping tells it. */
  readonly config: Readonly<Record<string, unknown>>
}

export interface MappingField {
  readonly name: string
  /** Absent: it is a field of tags. */
  readonly recipe?: FieldOfRecipe
  /** Only where it is not a field of the profile. */
  readonly custom: boolean
  readonly text?: string | Localized
  readonly strategy?: Strategy
  /** Absent: as the profile says. */
  readonly imports?: readonly ImportTag[]
  readonly exports?: readonly ExportTag[]
  readonly sources: readonly Source[]
  /** Where front ends show it. */
  readonly place?: { readonly x?: number; readonly y?: number }
}

export interface MappingBody {
  /** The object type that it is for; null: paths say it. */
  readonly table: number | null
  readonly type: ProfileType
  readonly fields: readonly MappingField[]
  /** Extensions of the files that it is for; empty: all. */
  readonly extensions: readonly string[]
  /** Those of its fields, by name. */
  readonly recipes?: Readonly<Record<string, MappedRecipe>>
}

export interface Mapping extends MappingBody {
  readonly id: number
  readonly profile: string
  readonly displayname: Localized
}

/** The mapping of the service itself: fields of `file-metadata.yml` go to columns that are called so. It has no row. */
export const ownMappingId = 1
export const ownProfile = 'file-metadata.yml'
