import { type Static, Type } from 'typebox'
import { grantShown } from '../rights/schema.ts'
import { displayTypes, tagGroupTypes, tagTypes } from './model.ts'

const Id = Type.Integer({ minimum: 1, maximum: 2_147_483_647 })
const OptionalId = Type.Optional(Type.Union([Id, Type.Null()]))
const Loca = Type.Record(Type.String(), Type.String())
const OptionalText = Type.Optional(Type.Union([Type.String({ maxLength: 250 }), Type.Null()]))

/** Alternative to `_id` for referring to a stored entry. */
const Lookup = Type.Optional(Type.Object({ reference: Type.String({ minLength: 1, maxLength: 250 }) }))

export const TagFields = Type.Object(
  {
    _id: OptionalId,
    'lookup:_id': Lookup,
    _version: OptionalId,
    displayname: Type.Optional(Loca),
    description: Type.Optional(Loca),
    frontend_prefs: Type.Optional(Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()])),
    enabled: Type.Optional(Type.Boolean()),
    is_default: Type.Optional(Type.Boolean()),
    sticky: Type.Optional(Type.Boolean()),
    type: Type.Optional(Type.Enum([...tagTypes])),
    displaytype: Type.Optional(Type.Enum([...displayTypes])),
    reference: OptionalText,
    shortname: OptionalText,
    _acl: Type.Optional(
      Type.Union([Type.Array(Type.Unknown(grantShown), { maxItems: 10_000 }), Type.Null()], {
        description: 'Who sees the tag as a choice, applies it, takes it off. Absent: as stored; none: everybody.',
      }),
    ),
  },
  { additionalProperties: true, title: 'TagInput' },
)
export type TagFields = Static<typeof TagFields>

/** A tag in its group: its fields, as answers have them, or wrapped as a record of its own (decisions.md, 29). */
export const TagBody = Type.Object(
  { ...TagFields.properties, _basetype: Type.Optional(Type.Literal('tag')), tag: Type.Optional(TagFields) },
  { additionalProperties: true },
)
export type TagBody = Static<typeof TagBody>

export const TagGroupBody = Type.Object(
  {
    _basetype: Type.Optional(Type.Literal('taggroup')),
    taggroup: Type.Object(
      {
        _id: OptionalId,
        'lookup:_id': Lookup,
        _version: OptionalId,
        displayname: Type.Optional(Loca),
        reference: OptionalText,
        shortname: OptionalText,
        type: Type.Optional(Type.Enum([...tagGroupTypes])),
      },
      { additionalProperties: true },
    ),
    _tags: Type.Optional(Type.Array(TagBody)),
  },
  { additionalProperties: true, title: 'TagGroupInput' },
)
export type TagGroupBody = Static<typeof TagGroupBody>

/** Answers have groups in the shape in which they are sent. */
export const TagGroupOutput = Type.Object({}, { additionalProperties: true, 'x-shown-as': TagGroupBody })

export const TagDocument = Type.Array(TagGroupBody, { maxItems: 10_000 })

/** The members of a tag filter; `changed` applies to transitions only. */
export const TagFilterBody = Type.Object(
  {
    all: Type.Optional(Type.Array(Id)),
    any: Type.Optional(Type.Array(Id)),
    not: Type.Optional(Type.Array(Id)),
    changed: Type.Optional(Type.Array(Id)),
  },
  { additionalProperties: true, title: 'TransitionTagFilter' },
)

const any = Type.Optional(Type.Unknown())

/** A tag in the lists of pools and object types. When it is sent back, only its `_id`, `enabled` and `is_default` count. */
export const ShownTag = Type.Object(
  {
    _id: any,
    _version: any,
    displayname: any,
    description: any,
    frontend_prefs: any,
    enabled: any,
    is_default: any,
    sticky: any,
    type: any,
    displaytype: any,
    reference: any,
    shortname: any,
    _origin: any,
  },
  { additionalProperties: true, title: 'ShownTag' },
)
