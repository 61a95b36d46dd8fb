/** Wire shapes of pools (`PoolApi`). */
import { type Static, Type } from 'typebox'
import { Captions, FileStats, Watermark } from '../objecttypes/schema.ts'
import { kept } from '../platform/http/query.ts'
import { GeneratedRightsApi, grantShown, LookupByReference, RightApi, WhoApi } from '../rights/schema.ts'
import { ShownTag } from '../tags/schema.ts'
import { TransitionBody } from '../transitions/schema.ts'

const open = { additionalProperties: true } as const
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const Loca = Type.Record(Type.String(), Type.String({ maxLength: 10_000 }))

function optional<T extends Parameters<typeof Type.Union>[0][number]>(type: T) {
  return Type.Optional(Type.Union([type, Type.Null()]))
}

const Mapping = Type.Union([Type.String(), Type.Integer()])

const PoolTag = Type.Object(
  { _id: Id, enabled: optional(Type.Boolean()), is_default: optional(Type.Boolean()) },
  { ...open, description: 'A tag; what is set here differs from the tag itself.', title: 'PoolTag' },
)

/** A pool as sent: absent members stay unchanged, `null` clears them. */
export const PoolInput = Type.Object(
  {
    _basetype: Type.Optional(Type.Literal('pool')),
    pool: Type.Object(
      {
        _id: optional(Id),
        'lookup:_id': optional(LookupByReference),
        _version: optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647 })),
        _id_parent: optional(Id),
        'lookup:_id_parent': optional(LookupByReference),
        reference: optional(Type.String({ maxLength: 250 })),
        name: optional(Loca),
        shortname: optional(Loca),
        description: optional(Loca),
        comment: optional(Type.String({ maxLength: 100_000 })),
        contact: optional(WhoApi),
        is_system_pool: optional(Type.Boolean()),
        watermark: optional(Watermark),
        caption: optional(Captions),
        janitor_policy: optional(Type.Object({}, { ...open, ...kept('the janitor') })),
        custom_data: optional(Type.Object({}, { ...open, ...kept('the client that put it there') })),
        mapping_dc_export: optional(Mapping),
        mapping_image_export: optional(Mapping),
        mapping_image_import: optional(Mapping),
      },
      open,
    ),
    _owner: optional(WhoApi),
    // The entries are checked one by one (rights/acl.ts), with errors that name right and parameter.
    _acl: optional(Type.Array(Type.Unknown(grantShown))),
    _private_acl: optional(Type.Boolean()),
    _tags: optional(Type.Array(PoolTag)),
    _private_tags: optional(Type.Boolean()),
    _transitions: optional(Type.Array(Type.Object({}, { ...open, 'x-names': () => TransitionBody }))),
    _private_transitions: optional(Type.Boolean()),
    _standard_masks: optional(Type.Record(Type.String(), Type.Union([Type.Array(Id), Type.Null()]))),
  },
  { ...open, title: 'PoolInput' },
)
export type PoolInput = Static<typeof PoolInput>

export const PoolInputs = Type.Array(PoolInput, { maxItems: 10_000 })

/** A pool as shown. `_acl` is present for callers who may see it (`bag_acl`). */
export const PoolOutput = Type.Object(
  {
    _basetype: Type.Literal('pool'),
    pool: Type.Object(
      {
        _id: Id,
        _version: Type.Integer(),
        _id_parent: Type.Optional(Type.Union([Id, Type.Null()])),
        reference: Type.Optional(Type.String()),
        name: Loca,
        shortname: Loca,
        description: Loca,
        comment: Type.String(),
        contact: Type.Optional(WhoApi),
        is_system_pool: Type.Boolean(),
      },
      open,
    ),
    _owner: Type.Optional(WhoApi),
    _level: Type.Integer(),
    _path: Type.Array(Type.Object({}, open)),
    _has_children: Type.Boolean(),
    _acl: Type.Optional(Type.Array(RightApi)),
    _private_acl: Type.Boolean(),
    _generated_rights: GeneratedRightsApi,
    _tags: Type.Array(ShownTag),
    _private_tags: Type.Boolean(),
    _compiled_tags: Type.Array(Type.Object({}, open)),
    _transitions: Type.Array(Type.Object({}, open)),
    _private_transitions: Type.Boolean(),
    _standard_masks: Type.Record(Type.String(), Type.Array(Id)),
    _created_at: Type.String(),
    _updated_at: Type.String(),
  },
  { ...open, title: 'Pool' },
)
export type PoolOutput = Static<typeof PoolOutput>

export const PoolStats = Type.Object(
  {
    pool_id: Type.Integer(),
    created_at: Type.String({ format: 'date-time', description: 'When the files were counted.' }),
    files: FileStats,
  },
  { title: 'PoolStats' },
)
export type PoolStats = Static<typeof PoolStats>
