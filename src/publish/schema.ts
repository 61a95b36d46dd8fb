import { type Static, Type } from 'typebox'

const open = { additionalProperties: true } as const
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const Version = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 })

/** Most characters of an address. */
const mostCharacters = 10_000

/** Records per request. */
const batchLimit = 1000

const description = {
  version: 'The version of the object that is published; 0 or absent: always the latest one.',
  collector: '`internalname` of a target in the base configuration (`publish.collectors`).',
  publish_uri: 'Where the publication is.',
  svc_uri: 'The link back to the object.',
}

const Uri = (text: string) => Type.String({ maxLength: mostCharacters, description: text })

/** An undeclared member may be an alias of `svc_uri`, see check.ts. */
export const PublishInput = Type.Object(
  {
    _basetype: Type.Optional(Type.Literal('publish')),
    publish: Type.Object(
      {
        _id: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: Number.MAX_SAFE_INTEGER,
            description: 'Of the record to change; 0 or absent: a new one.',
          }),
        ),
        version: Type.Optional(Type.Integer({ ...Version, description: description.version })),
        system_object_id: Id,
        collector: Type.String({ minLength: 1, maxLength: 200, description: description.collector }),
        publish_uri: Uri(description.publish_uri),
        svc_uri: Type.Optional(Uri(`${description.svc_uri} Absent: its deep link by uuid.`)),
      },
      open,
    ),
  },
  { ...open, title: 'PublishInput', description: 'A publication to record, or to change the record of.' },
)
export type PublishInput = Static<typeof PublishInput>

export const PublishBatch = Type.Array(PublishInput, { maxItems: batchLimit })

export const PublishOutput = Type.Object(
  {
    _basetype: Type.Literal('publish'),
    publish: Type.Object({
      _id: Id,
      version: Type.Integer({ ...Version, description: description.version }),
      system_object_id: Id,
      collector: Type.String({ description: description.collector }),
      publish_uri: Type.String({ description: description.publish_uri }),
      svc_uri: Type.String({ description: description.svc_uri }),
    }),
    _timestamp_created: Type.String({ format: 'date-time' }),
  },
  { title: 'Publish', description: 'A record of a publication.' },
)
export type PublishOutput = Static<typeof PublishOutput>

export const PublishQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 10_000, default: 10_000, description: 'Most records.' }),
  offset: Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1, default: 0, description: 'How many to leave out.' }),
})

export const PublishOfId = Type.Object({
  systemObjectId: Type.Integer({
    ...Id,
    description: 'The `_id` of the record. The name of the parameter says otherwise for historical reasons.',
  }),
})

export const PublishId = Type.Object({
  publishId: Type.Integer({ ...Id, description: 'The `_id` of the record.' }),
})

export const Acknowledged = Type.Object({ status: Type.Object({ acknowledged: Type.Literal('ok') }) })
