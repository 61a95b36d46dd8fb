import { type Static, Type } from 'typebox'
import { flag } from '../platform/http/query.ts'

const open = { additionalProperties: true }
export const maxId = Number.MAX_SAFE_INTEGER
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
  { ...open, title: 'Event', description: 'An event of the log; `info` depends on the type.' },
)
export type EventRecord = Static<typeof EventRecord>

const filters = {
  id: Type.Optional(Type.String({ description: 'Ids and ranges: `1,2-30,4`.' })),
  pollable: Type.Optional(Type.String({ description: '`true` or `false`.' })),
  type: Type.Optional(Type.String({ description: 'Event types.' })),
  basetype: Type.Optional(Type.String({ description: 'Base types, for example `object,pool`.' })),
  objecttype: Type.Optional(Type.String({ description: 'Names of object types.' })),
  user_id: Type.Optional(Type.String({ description: 'Ids of the users who caused it.' })),
  group_id: Type.Optional(Type.String({ description: 'Events of the users of these groups, and about the groups.' })),
  user_type: Type.Optional(Type.String({ description: 'Types of the users who caused it.' })),
  object_id: Type.Optional(Type.String({ description: 'Ids within the base type: objects by `_id`.' })),
  system_object_id: Type.Optional(Type.String({ description: 'Ids of objects across all types.' })),
  date_from: Type.Optional(Type.String({ description: 'ISO 8601, inclusive.' })),
  date_to: Type.Optional(Type.String({ description: 'ISO 8601, exclusive.' })),
}
const limit = Type.Integer({ minimum: 0, maximum: maxId, default: 0, description: '0 is unlimited.' })
const character = (description: string) => Type.String({ minLength: 1, maxLength: 1, description })

export const ListQuery = Type.Object(
  {
    ...filters,
    limit: Type.Optional(limit),
    offset: Type.Optional(
      Type.Integer({ minimum: 0, maximum: maxId, default: 0, description: 'How many to leave out at the beginning.' }),
    ),
    sort: Type.Optional(Type.String({ description: '`field.ASC` or `field.DESC`, comma-separated.' })),
    format: Type.Optional(Type.Union([Type.Literal('json'), Type.Literal('csv')], { description: 'JSON by default.' })),
    pretty: flag('Indented JSON; on by default.'),
    csv_delimiter: Type.Optional(character('Between columns; a comma by default.')),
    csv_quote: Type.Optional(character('Around texts; `"` by default.')),
    csv_escape: Type.Optional(character('Before a quote inside a text; the quote itself by default.')),
    csv_explode: flag('A column for each member of `info`.'),
    csv_explode_array_concat: Type.Optional(
      Type.String({ maxLength: 16, description: 'Between the members of an array in one cell.' }),
    ),
    csv_max_length: Type.Optional(
      Type.Integer({ minimum: 0, maximum: maxId, description: 'Longest text of a cell; 0 is unlimited.' }),
    ),
    cvs_use_bom: flag('Begin with a byte order mark.'),
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
  { ...open, title: 'EventList' },
)

export const PollQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ default: 25, description: 'Most events; 1000 where it is 0, negative or larger.' }),
    ),
  },
  open,
)

export const WriteQuery = Type.Object(
  {
    background: flag('Answer at once; what is wrong with the event is not reported.'),
    skip_constraints: flag('Allow all types and a `user`; needs `system.root`.'),
  },
  open,
)

/** The service checks the content. Its errors contain the name of the invalid field; with `background` they are not reported. */
export const PostedEvent = Type.Object(
  {},
  {
    ...open,
    title: 'EventInput',
    description: 'An event: `event` holds `type`, `info`, ….',
    'x-names': () => EventRecord,
  },
)

export const Background = Type.Object({ background: Type.Literal('ok') }, { title: 'Background' })

export const EventIdParams = Type.Object({
  eventId: Type.Integer({ minimum: 0, maximum: maxId, description: 'Id of the event.' }),
})
export const PollParams = Type.Object({
  fromEventId: Type.Integer({
    minimum: 0,
    maximum: maxId,
    description: 'Events with a greater id; 0: from the start.',
  }),
})
