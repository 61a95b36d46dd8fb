import { type Static, Type } from 'typebox'
import { LocaValue } from '../datamodel/schema.ts'
import { kept, refusedChange } from '../platform/http/query.ts'
import { grantShown, RightApi, WhoApi } from '../rights/schema.ts'
import { ShownTag } from '../tags/schema.ts'
import { TransitionBody } from '../transitions/schema.ts'

/** Wire shapes of object type settings (`ObjecttypeApi`). */

const open = { additionalProperties: true } as const
const Id = Type.Integer({ minimum: 1, maximum: 2_147_483_647 })

const Anything = Type.Object({}, open)
const AnyTransition = Type.Object({}, { ...open, 'x-names': () => TransitionBody })

function optional<T extends Parameters<typeof Type.Union>[0][number]>(type: T) {
  return Type.Optional(Type.Union([type, Type.Null()]))
}

/** The watermark of renditions; see media-settings.ts. */
export const Watermark = Type.Object(
  {
    image: optional(Type.Object({ _id: Id }, { ...open, description: 'A picture; null: no watermark.' })),
    gravity: Type.Optional(
      Type.Unknown({ description: '`nw`, `n`, `ne`, `w`, `c`, `e`, `sw`, `s`, `se`; empty: `c`.' }),
    ),
    dissolve: Type.Optional(Type.Unknown({ description: 'Percent; 100 hides what is below it.' })),
    size: Type.Optional(Type.Unknown({ description: '`200`, `30%`, `200x100`, `20%x10%`; empty: as it is.' })),
    tile: Type.Optional(Type.Unknown({ description: 'Repeated over the whole picture.' })),
  },
  { ...open, description: 'Members that are absent are inherited.', title: 'Watermark' },
)
export const Captions = Type.Record(Type.String(), Type.Unknown(), {
  description: 'By file field: `text`, `size` (`24`, `4%`), `padding`, `multiline`, `overlay`.',
})

const Mapping = Type.Union([Type.Integer(), Type.String({ maxLength: 100 })], {
  description: 'The id of a mapping, or `none`.',
})
const TagSetting = Type.Object(
  { _id: Id, enabled: optional(Type.Boolean()), is_default: optional(Type.Boolean()) },
  { ...open, title: 'TagSetting' },
)

/** A descriptor as sent: absent members keep their stored value, `null` clears them. */
export const ObjecttypeInput = Type.Object(
  {
    _basetype: Type.Optional(Type.Literal('objecttype')),
    objecttype: Type.Object(
      {
        _id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
        _version: Type.Integer({ description: 'The stored version plus one.' }),
        name: optional(Type.String({ maxLength: 10_000, ...refusedChange('names are those of the datamodel') })),
        contact: optional(WhoApi),
        mapping_image_export: optional(Mapping),
        mapping_image_import: optional(Mapping),
        mapping_image_import_recipe_configs: optional(Anything),
        mapping_dc_export: optional(Mapping),
        show_in_collections: optional(Type.Boolean(kept('front ends'))),
        show_in_facet_grouping: optional(Type.Boolean(kept('front ends'))),
        show_in_main_menu_with_icon: optional(Type.String({ maxLength: 10_000, ...kept('front ends') })),
        empty_placeholder_icon: optional(Type.String({ maxLength: 10_000, ...kept('front ends') })),
        standard_numbering: Type.Optional(Type.Unknown({ description: 'Accepted and ignored.' })),
        description: optional(LocaValue),
        custom_data: optional(Type.Object({}, { ...open, ...kept('the client that put it there') })),
        watermark: optional(Watermark),
        caption: optional(Captions),
        janitor_policy: optional(Type.Object({}, { ...open, ...kept('the janitor') })),
      },
      open,
    ),
    _standard_masks: optional(Type.Array(Type.Integer())),
    _export_asset_filenames: Type.Optional(
      Type.Unknown({
        'x-kept': 'exports; there are none yet.',
        description: 'Template, or templates by language. Kept for exports; there are none yet.',
      }),
    ),
    _acl: optional(Type.Array(Type.Unknown(grantShown))),
    _private_tags: optional(Type.Boolean()),
    _tags: optional(Type.Array(TagSetting)),
    tags: optional(Type.Array(TagSetting)),
    _private_transitions: optional(Type.Boolean()),
    _transitions: optional(Type.Array(AnyTransition)),
    transitions: optional(Type.Array(AnyTransition)),
    _maskfilters: optional(Type.Record(Type.String(), Anything)),
    _columnfilters: optional(Type.Array(Anything, kept('front ends'))),
  },
  { ...open, title: 'ObjecttypeInput' },
)
export type ObjecttypeInput = Static<typeof ObjecttypeInput>
export const ObjecttypeInputs = Type.Array(ObjecttypeInput, { maxItems: 2000 })

/** A descriptor as shown; the fields that need `system.objecttypemanager` may be absent (OTAPI-002). */
export const ObjecttypeOutput = Type.Object(
  {
    _basetype: Type.Literal('objecttype'),
    objecttype: Type.Object(
      {
        _id: Type.Integer(),
        _version: Type.Integer(),
        name: Type.String(),
        contact: Type.Optional(WhoApi),
        mapping_image_export: Mapping,
        mapping_image_import: Mapping,
        mapping_dc_export: Mapping,
        show_in_collections: Type.Boolean(),
        show_in_facet_grouping: Type.Boolean(),
        show_in_main_menu_with_icon: Type.String(),
        empty_placeholder_icon: Type.String(),
        standard_numbering: Type.String({ description: 'Always empty.' }),
        description: LocaValue,
        custom_data: Anything,
      },
      open,
    ),
    _standard_masks: Type.Union([Type.Array(Type.Integer()), Type.Null()]),
    _export_asset_filenames: Type.Record(Type.String(), LocaValue),
    _filename_replacements: Type.Record(Type.String(), Type.Array(Type.String())),
    _compiled_tags: Type.Array(Anything),
    _private_tags: Type.Boolean(),
    _private_transitions: Type.Boolean(),
    _acl: Type.Optional(Type.Array(RightApi)),
    _tags: Type.Optional(Type.Array(ShownTag)),
    _transitions: Type.Optional(Type.Array(Anything)),
    _maskfilters: Type.Optional(Type.Record(Type.String(), Anything)),
    _columnfilters: Type.Optional(Type.Array(Anything)),
  },
  { ...open, title: 'Objecttype' },
)
export type ObjecttypeOutput = Static<typeof ObjecttypeOutput>

const Bucket = Type.Object(
  {
    size: Type.Integer(),
    count: Type.Integer(),
    by_extension: Type.Record(Type.String(), Type.Object({ size: Type.Integer(), count: Type.Integer() })),
    by_class: Type.Record(Type.String(), Type.Object({ size: Type.Integer(), count: Type.Integer() })),
  },
  { title: 'FileCounts' },
)
const Buckets = Type.Object({ latest: Bucket, history: Bucket, deleted: Bucket }, { title: 'FileCountsByAge' })

export const FileStats = Type.Object(
  { count: Type.Integer(), size: Type.Integer(), originals: Buckets, versions: Buckets },
  { title: 'FileStats' },
)
export type FileStats = Static<typeof FileStats>

/** Files of an object type: counts and bytes by class and extension, of latest, former and deleted versions. */
export const ObjecttypeStats = Type.Object(
  {
    files: FileStats,
  },
  { title: 'ObjecttypeStats' },
)
export type ObjecttypeStats = Static<typeof ObjecttypeStats>
