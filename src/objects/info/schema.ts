import { type Static, Type } from 'typebox'
import { GeneratedRightsApi } from '../../rights/schema.ts'

const open = { additionalProperties: true } as const
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const Name = Type.String({ minLength: 1, maxLength: 200, description: 'Name of the object type.' })
const TagIds = Type.Array(Id, { maxItems: 1000 })

export const CreateInfoBody = Type.Object(
  {
    objecttype: Type.Optional(Name),
    pool_id: Type.Optional(Type.Union([Id, Type.Null()], { description: 'The pool of the new object.' })),
    tag_ids: Type.Optional(
      Type.Union([TagIds, Type.Null()], {
        description: 'Tags that it is to have. Absent: the default tags; null: whatever they are.',
      }),
    ),
  },
  { ...open, title: 'CreateInfoRequest' },
)
export type CreateInfoBody = Static<typeof CreateInfoBody>

export const UpdateInfoBody = Type.Object(
  {
    objecttype: Name,
    object_ids: Type.Array(Id, { minItems: 1, maxItems: 10_000, description: '`_id` of the objects.' }),
    pool_id: Type.Optional(Type.Union([Id, Type.Null()], { description: 'The new pool of the objects.' })),
    tag_ids: Type.Optional(Type.Union([TagIds, Type.Null()], { description: 'Tags that they are to have.' })),
  },
  { ...open, title: 'UpdateInfoRequest' },
)
export type UpdateInfoBody = Static<typeof UpdateInfoBody>

const Masks = Type.Array(Type.Object({ _id: Type.Optional(Type.Integer()), name: Type.String() }), {
  description: 'The ones to prefer first; `_all_fields` has no id.',
})

export const CreateInfo = Type.Object(
  {
    _available_objecttypes: Type.Array(
      Type.Object({ _id: Type.Integer(), name: Type.String(), pool_ids: Type.Array(Type.Integer()) }),
      { description: 'What can be created, and in which pools; none for types without pools.' },
    ),
    _available_masks: Type.Optional(Masks),
    _available_tags: Type.Optional(
      Type.Array(Type.Object({ _id: Type.Integer(), is_default: Type.Boolean() }), {
        description: 'Tags that can be set, and tags that are set automatically.',
      }),
    ),
  },
  { title: 'CreateInfo' },
)
export type CreateInfo = Static<typeof CreateInfo>

export const UpdateInfo = Type.Object(
  {
    _generated_rights: GeneratedRightsApi,
    _available_pools: Type.Array(Type.Integer(), { description: 'Pools that all of them can be moved to, or are in.' }),
    _available_tags: Type.Optional(Type.Array(Type.Object({ _id: Type.Integer() }))),
    _available_masks: Type.Optional(Masks),
  },
  { title: 'UpdateInfo', description: 'The answer for each of the objects.' },
)
export type UpdateInfo = Static<typeof UpdateInfo>
