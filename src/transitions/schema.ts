import { type Static, Type } from 'typebox'
import { TagFilterBody } from '../tags/schema.ts'
import { operations, transitionTriggers, transitionTypes } from './model.ts'

const Id = Type.Integer({ minimum: 1, maximum: 2_147_483_647 })
const Loca = Type.Record(Type.String(), Type.String())
const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Optional(Type.Union([schema, Type.Null()]))

/** A user, a group, or the owner or pool contact of the object. */
const Who = Type.Object({}, { additionalProperties: true })

export const TransitionBody = Type.Object(
  {
    _id: Nullable(Id),
    _version: Nullable(Id),
    _set_by: Type.Optional(
      Type.Unknown({ description: 'Shown: the user who has set it as it is. A sent value is ignored.' }),
    ),
    type: Type.Enum([...transitionTypes]),
    trigger: Type.Optional(Type.Enum([...transitionTriggers])),
    operations: Type.Optional(Type.Array(Type.Enum([...operations]))),
    event_types: Type.Optional(Type.Array(Type.String({ maxLength: 100 }))),
    displayname: Nullable(Loca),
    comment: Nullable(Type.String({ maxLength: 10_000 })),
    confirm: Nullable(Loca),
    sticky: Type.Optional(Type.Boolean()),
    who: Nullable(Type.Array(Who)),
    who_not: Type.Optional(Type.Boolean()),
    objecttype_ids: Nullable(Type.Array(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))),
    'tagfilter:before': Nullable(TagFilterBody),
    'tagfilter:after': Nullable(TagFilterBody),
    actions: Nullable(
      Type.Array(
        Type.Object(
          { type: Type.String({ maxLength: 200 }), info: Type.Record(Type.String(), Type.Unknown()) },
          { additionalProperties: true },
        ),
        { maxItems: 100 },
      ),
    ),
  },
  { additionalProperties: true, title: 'TransitionInput' },
)
export type TransitionBody = Static<typeof TransitionBody>

export const TransitionList = Type.Array(TransitionBody, { maxItems: 5000 })

/** `info` of the built-in actions. */
export const SetTagsInfo = Type.Object({
  tags: Type.Array(Type.Object({ _id: Id, set: Type.Boolean() }), { minItems: 1 }),
})
export const EmailInfo = Type.Object({
  subject: Nullable(Loca),
  message: Nullable(Loca),
  batchable: Type.Optional(Type.Boolean()),
  recipients: Type.Array(Who, { minItems: 1 }),
})
