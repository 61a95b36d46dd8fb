/**
 * A *profile* is a file that lists the tags for each piece of information (`caption`: XMP, IPTC and EXIF). A *mapping*
 * binds fields of a profile to columns of object types. A *tag* is named by group and name, as in ExifTool:
 * `XMP-dc:Title`.
 */
import type { Localized } from '../platform/values/localized.ts'
import type { RecipeParams } from '../plugins/service.ts'

/** How the values of a field are combined with those that an earlier field of the mapping has given to its column. */
export const strategies = ['replace', 'append', 'merge', 'skip_if_present'] as const
export type Strategy = (typeof strategies)[number]

/** The purposes of a mapping. */
export const uses = ['exiftool_import', 'exiftool_export', 'xml_export', 'dc_export'] as const
export type Use = (typeof uses)[number]

export type ProfileType = Readonly<Partial<Record<Use | 'exiftool_export_omit_empty' | 'plugins_import', boolean>>>

/** The path of a tag or element, and its shape: one text, a list, a text for each language, or a list of such. */
export interface ExportTag {
  readonly path: string
  readonly list?: boolean
  readonly l10n?: boolean
}

export interface ImportTag {
  readonly search: string
}

/** A field of a profile: one piece of information, and its names in files. */
export interface ProfileField {
  readonly name: string
  readonly text: Localized
  readonly strategy?: Strategy
  /** Only the first one found in a file is read. */
  readonly imports: readonly ImportTag[]
  /** All of them are written. */
  readonly exports: readonly ExportTag[]
  /** Names of columns for it in the mapping of the service itself, the best first. */
  readonly columns: readonly string[]
}

export interface ProfileTab {
  readonly tab: string
  readonly text: Localized
  /** Custom fields may be added there. */
  readonly custom: boolean
  readonly fields: readonly ProfileField[]
}

export interface Profile {
  /** The file name of the profile: `file-metadata.yml`. */
  readonly profile: string
  readonly displayname: Localized
  readonly type: ProfileType
  /** Namespace of the elements of an XML export; null: the profile is for tags. */
  readonly xmlBase: string | null
  readonly tabs: readonly ProfileTab[]
}

/**
 * The place of a value in objects of a type: a column of the object, of a nested table, or of an object to which such a
 * column links. It uses ids, so that it stays valid after a rename.
 */
export interface StoredPath {
  readonly table: number
  /** Nested tables from the outermost to the innermost. */
  readonly nested: readonly number[]
  /** The column; for a linked object, the link and then the column. `_uuid`: the identifier of the object. */
  readonly columns: readonly number[] | '_uuid'
}

/** The source or target of a field's value. */
export type Source =
  | { readonly kind: 'field'; readonly path: StoredPath; readonly text?: string; readonly type?: string }
  | { readonly kind: 'text_fixed'; readonly text: string }
  | { readonly kind: 'deep_link_url'; readonly text?: string }

/** The value that a field takes from the answer of a plugin's recipe: its path in the JSON, and its type. */
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
  /** Parameters that the mapping sets. */
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
  /** Absent: those of the profile. */
  readonly imports?: readonly ImportTag[]
  readonly exports?: readonly ExportTag[]
  readonly sources: readonly Source[]
  /** The position in front ends. */
  readonly place?: { readonly x?: number; readonly y?: number }
}

export interface MappingBody {
  /** The object type of the mapping; null: the paths name it. */
  readonly table: number | null
  readonly type: ProfileType
  readonly fields: readonly MappingField[]
  /** Extensions of the files for which it is used; empty: all. */
  readonly extensions: readonly string[]
  /** The recipes of its fields, by name. */
  readonly recipes?: Readonly<Record<string, MappedRecipe>>
}

export interface Mapping extends MappingBody {
  readonly id: number
  readonly profile: string
  readonly displayname: Localized
}

/** The mapping of the service itself: fields of `file-metadata.yml` are bound to columns of the same names. It has no row. */
export const ownMappingId = 1
export const ownProfile = 'file-metadata.yml'
