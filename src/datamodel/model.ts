/**
 * The committed datamodel for the rest of the service: compiled once per version, immutable, with direct references so that a
 * request never looks anything up by name.
 *
 * Vocabulary. A *table* is either an object type (`kind: 'object'`) or a nested table (`kind: 'nested'`) owned by
 * another table. A *column* holds a value or a link. A *reverse* is the view of a link column of another table
 * (`reverse_edit`) from the table it points to. A *mask* selects and shapes the fields of one object type.
 */

import type { Localized } from '../platform/values/localized.ts'
import type { CustomTypes } from './custom-types.ts'

export type ColumnType =
  | 'text'
  | 'text_oneline'
  | 'string'
  | 'text_l10n'
  | 'text_l10n_oneline'
  | 'number'
  | 'integer.2'
  | 'double'
  | 'boolean'
  | 'date'
  | 'datetime'
  | 'daterange'
  | 'geo_json'
  | 'eas'
  | 'link'
  | 'custom'

export type OnDelete = 'restrict' | 'cascade' | 'setnull'

export interface Constraints {
  readonly notNull: boolean
  /** Compiled `check_regexp`, in a linear-time engine. */
  readonly regexp: { readonly source: string; readonly flags: string; readonly test: (text: string) => boolean } | null
  /** `check`: the expression text (`value > 0 and value < 10`, see check/compile.ts). */
  readonly check: string | null
  /** `check` compiled: whether a stored value (null: no value) satisfies it. Null when there is no `check`. */
  readonly checkTest: ((value: unknown) => boolean) | null
  readonly rangeLower: unknown
  readonly rangeUpper: unknown
  readonly rangeLowerOpen: boolean
  readonly rangeUpperOpen: boolean
  readonly rangeNotEmpty: boolean
  /** In characters (code points). */
  readonly lengthMin: number | null
  readonly lengthMax: number | null
}

export interface Column {
  readonly id: number
  readonly name: string
  readonly type: ColumnType
  /** For `custom`: the full type name, e.g. `custom:base.custom-data-type-gnd.gnd`; otherwise equal to `type`. */
  readonly typeName: string
  readonly table: Table
  /** `table.name + '.' + name`, the name used by search (`artwork.title`, `artwork._nested:artwork__contributor.role`). */
  readonly fullName: string
  /** Target of a link column. */
  readonly target: Table | null
  readonly onDelete: OnDelete
  /** Whether the link is shown and edited from the target as `_reverse_nested:{table}:{column}`. */
  readonly reverseEdit: boolean
  readonly constraints: Constraints
  readonly customSettings: Readonly<Record<string, string>>
  readonly nameLocalized: Localized
  /** Key of the value in stored content: the column id as text. */
  readonly key: string
}

export interface UniqueKey {
  /**
   * Identifies the key across commits: its column ids, and whether the parent and the owner belong to it. Used in
   * `object_unique.key`.
   */
  readonly key: string
  readonly name: string
  readonly table: Table
  readonly columns: readonly Column[]
  /** `auto_column_parent`: unique below one parent of the hierarchy. */
  readonly withParent: boolean
  /** `auto_column_uplink`: unique within the owning object (nested tables). */
  readonly withUplink: boolean
}

/**
 * A link that is maintained on both sides: when object A gets a link to B through `column`, B gets one to A through `opposite`.
 * `column.target` is the object type with `opposite`, and vice versa.
 */
export interface Bidirectional {
  readonly table: Table
  /** The link column whose opposite side is maintained. */
  readonly column: Column
  /** The link column of the opposite side; `column` itself when an object type is linked with itself. */
  readonly opposite: Column
}

export interface Table {
  readonly id: number
  readonly name: string
  readonly kind: 'object' | 'nested'
  /** Owner of a nested table; null for object types. */
  readonly owner: Table | null
  /** The object type at the top of the ownership chain (itself for object types). */
  readonly root: Table
  readonly poolLink: boolean
  readonly hasTags: boolean
  readonly aclTable: boolean
  /** Hierarchical (one parent) or polyhierarchical (many). */
  readonly hierarchical: boolean
  readonly polyhierarchical: boolean
  readonly inMainSearch: boolean
  readonly comment: string
  readonly columns: readonly Column[]
  readonly columnByName: ReadonlyMap<string, Column>
  readonly columnByKey: ReadonlyMap<string, Column>
  /** Nested tables owned directly by this one. */
  readonly nested: readonly Table[]
  /** Key of a nested table's rows in stored content (`n` + table id) and on the wire (`_nested:` + name). */
  readonly key: string
  readonly wireKey: string
  /** Link columns with `reverseEdit` that point to this object type. */
  readonly reverses: readonly Column[]
  /** All link columns anywhere in the model that point to this object type. */
  readonly linkedFrom: readonly Column[]
  readonly uniqueKeys: readonly UniqueKey[]
  readonly bidirectional: readonly Bidirectional[]
  readonly nameLocalized: Localized
  /** Masks of an object type by name, `_all_fields` included. */
  readonly masks: ReadonlyMap<string, Mask>
  /** The preferred mask in the datamodel (`is_preferred`), else the first one, else `_all_fields`. */
  readonly preferredMask: Mask
}

export type FieldMode = 'edit' | 'show' | 'off'

export interface FieldSearch {
  readonly fulltext: boolean
  /** For columns of files: whether the text of the preferred file is searched. */
  readonly expert: boolean
  readonly facet: boolean
  readonly nested: boolean
}

export type StandardFormat =
  | 'comma'
  | 'space'
  | 'colon'
  | 'semicolon'
  | 'newline'
  | 'brackets'
  | 'round-parentheses'
  | 'square-brackets'
  | 'dash'
  | 'pipe'

export interface FieldStandard {
  /** Slot 1, 2 or 3 of `_standard`. */
  readonly order: 1 | 2 | 3
  readonly format: StandardFormat
  readonly formatInner: StandardFormat
  readonly stopIfSet: boolean
}

interface FieldBase {
  readonly mode: FieldMode
  readonly appendOnly: boolean
  readonly removeOnly: boolean
  /** Whether it is shown in lists of objects. */
  readonly inTable: boolean
  readonly standard: FieldStandard | null
  readonly standardEas: number | null
  readonly standardGeo: number | null
  readonly search: FieldSearch
  readonly inherit: boolean
  /** The mask requires a value (`custom_settings.required` = `true`) beyond the datamodel's `not_null`. */
  readonly required: boolean
  /** Default for new objects (`custom_settings.default`, JSON), `undefined` when there is none. */
  readonly defaultValue: unknown
}

/** A value column, or a link column (with `linkMask` for the linked object). */
export interface ColumnField extends FieldBase {
  readonly kind: 'column'
  readonly column: Column
  /** For links: mask of the linked object, null = the target's standard mask. */
  readonly linkMask: Mask | null
}

export interface NestedField extends FieldBase {
  readonly kind: 'nested'
  readonly table: Table
  readonly fields: readonly MaskField[]
  readonly sort: readonly { readonly column: Column; readonly descending: boolean }[]
  readonly standardFirstOnly: boolean
}

/** Objects of another type (or children of a hierarchy) that link to this one and are managed through this mask. */
export interface ReverseField extends FieldBase {
  readonly kind: 'reverse'
  /** The link column at the other table; null for children of a hierarchy (`_reverse_nested:{table}:_id_parent`). */
  readonly column: Column | null
  /** The object type of the reverse objects. */
  readonly table: Table
  readonly mask: Mask
  readonly wireKey: string
}

export type MaskField = ColumnField | NestedField | ReverseField

export interface SystemFieldMode {
  readonly output: FieldMode
  readonly edit: FieldMode
}

export type SystemFieldName = 'parent' | 'object_id' | 'tags' | 'acl' | 'owner' | 'pool' | 'collections' | 'publish'

export interface Mask {
  readonly id: number
  readonly name: string
  readonly table: Table
  readonly isAllFields: boolean
  /** Whether it is a mask inside another one (for reverse fields): it has no id (0), and requests cannot refer to it. */
  readonly isInline: boolean
  readonly isPreferred: boolean
  readonly fields: readonly MaskField[]
  readonly fieldByColumn: ReadonlyMap<string, ColumnField>
  readonly system: Readonly<Record<SystemFieldName, SystemFieldMode>>
  readonly requireComment: 'never' | 'always' | 'insert' | 'update' | 'delete'
  /** The treatment of reverse objects when the pool of the top object changes. */
  readonly reversePoolChanged: 'always' | 'never' | 'ask'
  readonly nameLocalized: Localized
}

export interface Model {
  readonly version: number
  /** Types of values that plugins define, and the number of their changes. */
  readonly customTypes: CustomTypes
  readonly customRevision: number
  readonly committedAt: Date | null
  /** Object types by name and by table id. */
  readonly objecttypes: ReadonlyMap<string, Table>
  readonly tablesById: ReadonlyMap<number, Table>
  readonly columnsById: ReadonlyMap<number, Column>
  readonly masksById: ReadonlyMap<number, Mask>
  /** Texts of pages and mails that an administrator has put into the localisation, by key (`page.…`). */
  readonly pageTexts: ReadonlyMap<string, Localized>
}
