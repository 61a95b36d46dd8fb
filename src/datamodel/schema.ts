import { type Static, Type } from 'typebox'
import { kept } from '../platform/http/query.ts'

/**
 * Wire shapes of the datamodel (specification, "Datamodel snapshot"; fields of masks as in names/schemas.txt). The
 * same shapes are stored: `datamodel_version.schema` holds a normalised `SchemaApi`.
 *
 * Only the JSON types are checked here; `validate.ts` checks the meaning of the values (unknown types, dangling references, …), so
 * that those errors have their own codes and paths.
 */

const open = { additionalProperties: true }
const Id = Type.Integer({ minimum: 0, maximum: 2_147_483_647, description: 'Absent or 0: a new id is assigned.' })
const Reference = Type.Integer({ minimum: 0, maximum: 2_147_483_647 })
const Text = Type.String({ maxLength: 100_000 })
const Flag = Type.Boolean()

/** Text by locale (`de-DE`). */
export const LocaValue = Type.Record(Type.String(), Type.String(), {
  description: 'Text by locale, for example {"de-DE": "Titel", "en-US": "Title"}.',
  title: 'LocalizedText',
})
const CustomSettings = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Free settings of front ends and plugins; values are strings, other JSON is kept as sent.',
})

export const ColumnApi = Type.Object(
  {
    kind: Type.Optional(Text),
    name: Type.Optional(Text),
    type: Type.Optional(Text),
    column_id: Type.Optional(Id),
    not_null: Type.Optional(Flag),
    reverse_edit: Type.Optional(Flag),
    is_hierarchical: Type.Optional(Flag),
    check: Type.Optional(Text),
    check_regexp: Type.Optional(Text),
    check_regexp_flags: Type.Optional(Text),
    check_range_lower: Type.Optional(Type.Unknown()),
    check_range_upper: Type.Optional(Type.Unknown()),
    check_range_lower_open: Type.Optional(Type.Unknown()),
    check_range_upper_open: Type.Optional(Type.Unknown()),
    check_range_not_empty: Type.Optional(Flag),
    length_min: Type.Optional(Type.Integer()),
    length_max: Type.Optional(Type.Integer()),
    other_table_id: Type.Optional(Reference),
    other_table_name_hint: Type.Optional(Text),
    other_column_id: Type.Optional(Reference),
    other_column_name_hint: Type.Optional(Text),
    bidirectional_reverse: Type.Optional(
      Type.Boolean({
        description:
          'The second column of a pair in `bidirectional`: set by the service. Refused for a column in no pair.',
      }),
    ),
    custom_settings: Type.Optional(CustomSettings),
    name_localized: Type.Optional(LocaValue),
  },
  { ...open, title: 'Column' },
)

const ColumnReference = {
  column_id: Type.Optional(Reference),
  column_name_hint: Type.Optional(Text),
}

export const ForeignKeyApi = Type.Object(
  {
    name: Type.Optional(Text),
    on_delete: Type.Optional(Text),
    on_update: Type.Optional(Text),
    columns: Type.Array(Type.Object(ColumnReference, open)),
    referenced_table: Type.Object(
      {
        table_id: Type.Optional(Reference),
        name_hint: Type.Optional(Text),
        columns: Type.Optional(Type.Array(Type.Object({ auto_column_primary_key: Type.Optional(Flag) }, open))),
      },
      open,
    ),
  },
  { ...open, title: 'ForeignKey' },
)

export const UniqueKeyApi = Type.Object(
  {
    name: Type.Optional(Text),
    group: Type.Optional(Text),
    columns: Type.Array(
      Type.Object(
        { ...ColumnReference, auto_column_parent: Type.Optional(Flag), auto_column_uplink: Type.Optional(Flag) },
        open,
      ),
    ),
  },
  { ...open, title: 'UniqueKey' },
)

export const BidirectionalApi = Type.Object(
  { columns: Type.Array(Type.Object({ ...ColumnReference, auto_column_uplink: Type.Optional(Flag) }, open)) },
  { ...open, title: 'Bidirectional' },
)

export const SchemaTableApi = Type.Object(
  {
    name: Text,
    table_id: Type.Optional(Id),
    pool_link: Type.Optional(Flag),
    owned_by: Type.Optional(
      Type.Object({ other_table_id: Type.Optional(Reference), other_table_name_hint: Type.Optional(Text) }, open),
    ),
    acl_table: Type.Optional(Flag),
    has_tags: Type.Optional(Flag),
    is_hierarchical: Type.Optional(Flag),
    polyhierarchical: Type.Optional(Flag),
    in_main_search: Type.Optional(Flag),
    comment: Type.Optional(Text),
    columns: Type.Optional(Type.Array(ColumnApi)),
    foreign_keys: Type.Optional(Type.Array(ForeignKeyApi)),
    unique_keys: Type.Optional(Type.Array(UniqueKeyApi)),
    bidirectional: Type.Optional(Type.Array(BidirectionalApi)),
  },
  { ...open, title: 'Table' },
)

export const SchemaApi = Type.Object(
  {
    version: Type.Integer({ minimum: 0, description: 'On HEAD: the version that the next commit produces.' }),
    based_on_version: Type.Optional(Type.Integer({ minimum: 0 })),
    based_on_base_version: Type.Optional(Type.Integer({ minimum: 0 })),
    max_table_id: Type.Optional(Reference),
    max_column_id: Type.Optional(Reference),
    type: Type.Optional(Type.Literal('user')),
    committed_at: Type.Optional(
      Type.Unknown({ readOnly: true, description: 'Time of the commit, null on HEAD. Ignored on input.' }),
    ),
    tables: Type.Array(SchemaTableApi),
  },
  { ...open, title: 'Schema' },
)

/** The use of a field or a mask by front ends; every caller may read the value through the mask and through search. */
const shownBy = (what: string) => Type.Boolean(kept(`front ends: ${what}`))

const Mode = Type.Optional(Type.Object({ mode: Type.Optional(Text) }, open))
const Order = Type.Optional(Type.Object({ order: Type.Optional(Type.Integer()) }, open))
const MaskReference = Type.Union([Type.Integer(), Type.String()])

const SystemFieldDef = Type.Object(
  { inline: Type.Optional(Text), mask_id: Type.Optional(MaskReference), output: Mode, edit: Mode },
  { ...open, title: 'SystemField' },
)

export const FieldApi = Type.Object(
  {
    kind: Type.Optional(Text),
    type: Type.Optional(Text),
    column_id: Type.Optional(Reference),
    column_name_hint: Type.Optional(Text),
    is_hierarchical: Type.Optional(Flag),
    other_table_id: Type.Optional(Reference),
    other_table_name_hint: Type.Optional(Text),
    other_column_id: Type.Optional(Reference),
    other_column_name_hint: Type.Optional(Text),
    inline: Type.Optional(Text),
    mask_id: Type.Optional(MaskReference),
    edit: Type.Optional(
      Type.Object(
        { mode: Type.Optional(Text), append_only: Type.Optional(Flag), remove_only: Type.Optional(Flag) },
        open,
      ),
    ),
    output: Type.Optional(
      Type.Object(
        {
          detail: Type.Optional(shownBy('whether they show the field in the detail view')),
          text: Type.Optional(shownBy('whether they show the field in texts')),
          table: Type.Optional(Flag),
          standard: Type.Optional(
            Type.Object(
              {
                design: Type.Optional(
                  Type.String({ maxLength: 100_000, ...kept('front ends: the looks of the title') }),
                ),
                format: Type.Optional(Text),
                format_inner: Type.Optional(Text),
                order: Type.Optional(Type.Integer()),
                stop_if_set: Type.Optional(Flag),
              },
              open,
            ),
          ),
          standard_eas: Order,
          standard_geo: Order,
        },
        open,
      ),
    ),
    search: Type.Optional(
      Type.Object(
        {
          expert: Type.Optional(shownBy('whether they offer the field in the expert search')),
          fulltext: Type.Optional(Flag),
          facet: Type.Optional(Flag),
          nested: Type.Optional(Flag),
        },
        open,
      ),
    ),
    custom_settings: Type.Optional(CustomSettings),
    nested_sort: Type.Optional(
      Type.Array(Type.Object({ field: Type.Optional(Text), order: Type.Optional(Text) }, open)),
    ),
    nested_standard_first_only: Type.Optional(Flag),
    inheritance: Type.Optional(
      Type.Object(
        {
          inherit: Type.Optional(Flag),
          show_in_detail: Type.Optional(shownBy('whether the detail view says that a value is inherited')),
        },
        open,
      ),
    ),
    mask: Type.Optional(
      Type.Object(
        {},
        {
          ...open,
          description: 'The inline mask of a nested or reverse table: a mask of the same shape.',
          'x-shown-as': { $ref: '#/components/schemas/Mask' },
          'x-names': () => MaskApi,
        },
      ),
    ),
  },
  { ...open, title: 'Field' },
)

export const MaskApi = Type.Object(
  {
    name: Type.Optional(Text),
    mask_id: Type.Optional(Id),
    table_id: Type.Optional(Reference),
    table_name_hint: Type.Optional(Text),
    is_preferred: Type.Optional(Flag),
    hide_in_detail: Type.Optional(shownBy('whether the mask can be chosen in the detail view')),
    hide_in_editor: Type.Optional(shownBy('whether the mask can be chosen in the editor')),
    hide_in_print_dialog: Type.Optional(shownBy('whether the mask can be chosen for printing')),
    require_comment: Type.Optional(Text),
    comment: Type.Optional(Text),
    system_fields: Type.Optional(
      Type.Object(
        {
          parent: Type.Optional(SystemFieldDef),
          object_id: Type.Optional(SystemFieldDef),
          tags: Type.Optional(SystemFieldDef),
          acl: Type.Optional(SystemFieldDef),
          owner: Type.Optional(SystemFieldDef),
          pool: Type.Optional(SystemFieldDef),
          collections: Type.Optional(SystemFieldDef),
          publish: Type.Optional(SystemFieldDef),
        },
        open,
      ),
    ),
    fields: Type.Optional(Type.Array(FieldApi)),
    name_localized: Type.Optional(LocaValue),
    custom_settings: Type.Optional(CustomSettings),
  },
  { ...open, title: 'Mask' },
)

export const MaskSchemaApi = Type.Object(
  {
    type: Type.Optional(Type.Literal('user')),
    version: Type.Optional(Type.Integer({ minimum: 0 })),
    based_on_schema_version: Type.Optional(
      Type.Integer({ minimum: 0, readOnly: true, description: 'That of the snapshot. Ignored on input.' }),
    ),
    max_mask_id: Type.Optional(Reference),
    masks: Type.Array(MaskApi),
  },
  { ...open, title: 'MaskSchema' },
)

export const LocaApi = Type.Record(Type.String({ maxLength: 1000 }), LocaValue, {
  description: 'Localised names by key, for example "schema.artwork.column.title".',
  title: 'Localization',
})

export type ColumnApi = Static<typeof ColumnApi>
export type ForeignKeyApi = Static<typeof ForeignKeyApi>
export type UniqueKeyApi = Static<typeof UniqueKeyApi>
export type BidirectionalApi = Static<typeof BidirectionalApi>
export type SchemaTableApi = Static<typeof SchemaTableApi>
export type SchemaApi = Static<typeof SchemaApi>
export type FieldApi = Omit<Static<typeof FieldApi>, 'mask'> & { mask?: MaskApi }
export type MaskApi = Omit<Static<typeof MaskApi>, 'fields'> & { fields?: FieldApi[] }
export type MaskSchemaApi = Omit<Static<typeof MaskSchemaApi>, 'masks'> & { masks: MaskApi[] }
export type LocaApi = Static<typeof LocaApi>
