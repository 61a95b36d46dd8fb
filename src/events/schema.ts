import { type Static, Type } from 'typebox'
import { Flag } from '../platform/query.ts'

const open = { additionalProperties: true }
const maxId = Number.MAX_SAFE_INTEGER
const id = Type.Integer({ minimum: 0, maximum: maxId })

export const EventRecord = Type.Object(
  {
    _basetype: Type.Literal('event'),
    event: Type.Object(
      {
        _id: id,
        type: Type.String(),
        timestamp: Type.String({ description: 'ISO 8601, UTC.' }),
        pollable: Type.Boolean(),
        schema: Type.Optional(Type.String()),
        basetype: Type.Optional(Type.String()),
        objecttype: Type.Optional(Type.String()),
        object_id: Type.Optional(id),
        object_version: Type.Optional(id),
        system_object_id: Type.Optional(id),
        global_object_id: Type.Optional(Type.String()),
        remote_addr: Type.Optional(Type.String()),
        user_generated_displayname: Type.Optional(Type.String()),
        info: Type.Object({}, open),
      },
      open,
    ),
    user: Type.Optional(
      Type.Object(
        {
          _basetype: Type.Literal('user'),
          user: Type.Object(
            {
              _id: id,
              'lookup:_id': Type.Optional(Type.Object({ reference: Type.String() }, open)),
              _generated_displayname: Type.Optional(Type.String()),
            },
            open,
          ),
        },
        open,
      ),
    ),
  },
  { ...open, description: 'An event of the log; `info` depends on the type.' },
)
export type EventRecord = Static<typeof EventRecord>

const filters = {
  id: Type.Optional(Type.String({ description: 'Ids and ranges: `1,2-30,4`.' })),
  pollable: Type.Optional(Type.String()),
  type: Type.Optional(Type.String()),
  basetype: Type.Optional(Type.String()),
  objecttype: Type.Optional(Type.String()),
  user_id: Type.Optional(Type.String()),
  group_id: Type.Optional(Type.String({ description: 'Events of the users of these groups, and about the groups.' })),
  user_type: Type.Optional(Type.String()),
  object_id: Type.Optional(Type.String()),
  system_object_id: Type.Optional(Type.String()),
  date_from: Type.Optional(Type.String({ description: 'ISO 8601, inclusive.' })),
  date_to: Type.Optional(Type.String({ description: 'ISO 8601, exclusive.' })),
}
const limit = Type.Integer({ minimum: 0, maximum: maxId, default: 0, description: '0 is unlimited.' })
const character = Type.String({ minLength: 1, maxLength: 1 })

export const ListQuery = Type.Object(
  {
    ...filters,
    limit: Type.Optional(limit),
    offset: Type.Optional(Type.Integer({ minimum: 0, maximum: maxId, default: 0 })),
    sort: Type.Optional(Type.String({ description: '`field.ASC` or `field.DESC`, comma-separated.' })),
    format: Type.Optional(Type.Union([Type.Literal('json'), Type.Literal('csv')])),
    pretty: Type.Optional(Flag),
    csv_delimiter: Type.Optional(character),
    csv_quote: Type.Optional(character),
    csv_escape: Type.Optional(character),
    csv_explode: Type.Optional(Flag),
    csv_explode_array_concat: Type.Optional(Type.String({ maxLength: 16 })),
    csv_max_length: Type.Optional(Type.Integer({ minimum: 0, maximum: maxId })),
    cvs_use_bom: Type.Optional(Flag),
  },
  open,
)
export type ListQuery = Static<typeof ListQuery>

export const DeleteQuery = Type.Object({ ...filters, limit: Type.Optional(limit) }, open)

export const EventList = Type.Object(
  {
    count: Type.Integer({ description: 'Matches, ignoring paging.' }),
    limit: Type.Integer({ description: '0 is unlimited.' }),
    offset: Type.Integer(),
    objects: Type.Array(EventRecord),
  },
  open,
)

export const PollQuery = Type.Object({ limit: Type.Optional(Type.Integer({ default: 25 })) }, open)

export const WriteQuery = Type.Object({ background: Type.Optional(Flag), skip_constraints: Type.Optional(Flag) }, open)

/** Checked by the service, which names the field that is wrong and reports nothing with `background`. */
export const PostedEvent = Type.Object({}, { ...open, description: 'An event: `event` holds `type`, `info`, ….' })

export const Background = Type.Object({ background: Type.Literal('ok') })
export const Acknowledged = Type.Object({ status: Type.Object({ acknowledged: Type.Literal('ok') }) })

export const EventIdParams = Type.Object({ eventId: id })
export const PollParams = Type.Object({ fromEventId: id })
