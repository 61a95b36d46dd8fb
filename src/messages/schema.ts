import { type Static, Type } from 'typebox'

const open = { additionalProperties: true } as const
const nullable = <const T extends Type.TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const Lookup = Type.Object({ reference: Type.String({ minLength: 1, maxLength: 1000 }) }, open)
const texts = (maxLength: number) =>
  nullable(
    Type.Record(Type.String({ maxLength: 35 }), Type.Union([Type.String({ maxLength }), Type.Null()]), {
      description: 'Text by language.',
    }),
  )
const moment = nullable(Type.Object({ value: nullable(Type.String({ maxLength: 40 })) }, { ...open, title: 'Moment' }))

/** Messages per request. */
const batchLimit = 1000

export const MessageParams = Type.Object({ id: Type.Integer({ ...Id, description: 'Id of the message.' }) })

const MessageFields = {
  _id: nullable(Id),
  'lookup:_id': nullable(Lookup),
  _version: nullable(Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 })),
  reference: nullable(Type.String({ maxLength: 1000 })),
  title: texts(1000),
  message: texts(100_000),
  confirmation: texts(10_000),
  webfrontend_type: nullable(Type.String({ maxLength: 200 })),
  webfrontend_props: nullable(Type.Record(Type.String({ maxLength: 200 }), Type.String({ maxLength: 10_000 }))),
  confirm_every_version: nullable(Type.Boolean()),
  show_always: nullable(Type.Boolean()),
  client_ids: nullable(Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 100 })),
  start_time: moment,
  end_time: moment,
}

export const MessageInput = Type.Object(
  {
    _basetype: Type.Optional(Type.Literal('message')),
    message: Type.Object(MessageFields, open),
    _groups: nullable(
      Type.Array(
        Type.Object(
          {
            _basetype: Type.Optional(Type.Literal('group')),
            group: Type.Object({ _id: nullable(Id), 'lookup:_id': nullable(Lookup) }, open),
          },
          open,
        ),
        { maxItems: 1000, description: 'Whose members it is for; none: everybody.' },
      ),
    ),
  },
  { ...open, title: 'MessageInput', description: 'A message to create or to change.' },
)
export type MessageInput = Static<typeof MessageInput>

export const MessageBatch = Type.Array(MessageInput, { maxItems: batchLimit })

const Texts = Type.Record(Type.String(), Type.String(), { description: 'Text by language.' })
const ShownMoment = Type.Union([Type.Object({ value: Type.String({ format: 'date-time' }) }), Type.Null()])

const ShownFields = Type.Object(
  {
    _id: Id,
    _version: Type.Integer(),
    reference: Type.Optional(Type.String()),
    title: Texts,
    message: Texts,
    confirmation: Texts,
    webfrontend_type: Type.Optional(Type.String()),
    webfrontend_props: Type.Record(Type.String(), Type.String()),
    confirm_every_version: Type.Boolean(),
    show_always: Type.Boolean(),
    client_ids: Type.Array(Type.String()),
    start_time: ShownMoment,
    end_time: ShownMoment,
  },
  { ...open, title: 'MessageFields' },
)

const shown = { _created_at: Type.Optional(Type.String()), _updated_at: Type.Optional(Type.String()) }
const ShownGroup = Type.Object(
  { _basetype: Type.Literal('group'), group: Type.Object({ _generated_displayname: Type.String() }, open) },
  open,
)

export const MessageOutput = Type.Object(
  {
    _basetype: Type.Literal('message'),
    message: ShownFields,
    _groups: Type.Array(ShownGroup),
    ...shown,
  },
  { ...open, title: 'Message' },
)
export type MessageOutput = Static<typeof MessageOutput>

export const OwnMessageOutput = Type.Object(
  {
    _basetype: Type.Literal('message'),
    message: ShownFields,
    _confirmed: Type.Boolean({ description: 'Agreed to, or seen where it asks for nothing.' }),
    ...shown,
  },
  { ...open, title: 'OwnMessage', description: 'A message as its readers see it.' },
)
export type OwnMessageOutput = Static<typeof OwnMessageOutput>

export const MessageQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 1000, description: 'Most messages.' }),
  offset: Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1, default: 0, description: 'How many to leave out.' }),
})
export type MessageQuery = Static<typeof MessageQuery>

export const Confirm = Type.Object(
  { version: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1, description: 'The version that was read.' }) },
  { ...open, title: 'MessageConfirmation' },
)
