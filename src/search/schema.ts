import { type Static, Type } from 'typebox'
import { DbObject } from '../objects/schema.ts'
import { flag } from '../platform/http/query.ts'

const additional = { additionalProperties: true } as const

/** Elements group elements, so they are checked by hand (request/elements.ts); docs/search.md describes them. */
const Elements = Type.Array(
  Type.Object({}, { ...additional, title: 'SearchElement', description: 'A search element: see docs/search.md.' }),
)

const PointInTime = Type.Object(
  {
    id: Type.Optional(
      Type.Union([Type.String(), Type.Null()], { description: 'The one whose page it is; without it one is opened.' }),
    ),
    keep_alive: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description: 'How long it lives after this use: `10s`, `1m`, at most `1h`; `1m` when it is opened without.',
      }),
    ),
  },
  { ...additional, title: 'PointInTimeRequest', description: 'Pages that do not shift: see docs/search.md.' },
)

export const SearchRequest = Type.Object(
  {
    type: Type.Optional(
      Type.String({
        description:
          'Search domain: `pool`, `collection`, `event`, `message`, `user`, `group` or `acl`; empty: indexed objects.',
      }),
    ),
    objecttypes: Type.Optional(Type.Array(Type.String(), { maxItems: 1000 })),
    search: Type.Optional(Elements),
    offset: Type.Optional(Type.Integer()),
    limit: Type.Optional(Type.Integer()),
    format: Type.Optional(Type.String()),
    merge_linked_objects: Type.Optional(Type.String()),
    merge_max_depth: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
    languages: Type.Optional(Type.Array(Type.String(), { maxItems: 100 })),
    sort: Type.Optional(
      Type.Array(
        Type.Object(
          {
            field: Type.String(),
            order: Type.Optional(Type.String()),
            language: Type.Optional(Type.String()),
            with_path: Type.Optional(
              Type.Boolean({ description: 'By the titles from the top of the hierarchy down.' }),
            ),
            mode: Type.Optional(
              Type.String({
                description: 'Of dates `from`, `to` or `from_to`; of fields through links back `min` or `max`.',
              }),
            ),
            numeric: Type.Optional(Type.Boolean({ description: '`false`: digits in texts are letters.' })),
            number_groups: Type.Optional(
              Type.Array(Type.Integer(), { description: 'Runs of digits in texts that decide, one after the other.' }),
            ),
            width: Type.Optional(
              Type.String({ description: 'Dates by the `year`, `month`, `week` or `day` that they begin in.' }),
            ),
          },
          additional,
        ),
      ),
    ),
    include_deleted: Type.Optional(Type.Boolean()),
    aggregations: Type.Optional(Type.Record(Type.String(), Type.Object({}, additional))),
    fields: Type.Optional(
      Type.Array(
        Type.Object(
          {
            key: Type.Optional(Type.String({ description: 'The name in `_fields`; the field when nothing is said.' })),
            field: Type.String(),
            with_path: Type.Optional(
              Type.Boolean({ description: 'Each value as a list from the top of its hierarchy down.' }),
            ),
            mode: Type.Optional(Type.String({ description: 'Of ranges of dates: `from`, `to` or `from_to`.' })),
            language: Type.Optional(Type.String()),
          },
          { ...additional, title: 'SearchRequestField' },
        ),
        { description: 'Values that are answered with each hit, in `_fields`.' },
      ),
    ),
    field: Type.Optional(Type.String({ description: 'Of a search within another: the link whose targets are meant.' })),
    include_fields: Type.Optional(Type.Array(Type.String(), { maxItems: 1000 })),
    exclude_fields: Type.Optional(Type.Array(Type.String(), { maxItems: 1000 })),
    point_in_time: Type.Optional(PointInTime),
    search_after: Type.Optional(Type.Array(Type.Unknown())),
    file_url_expire: Type.Optional(Type.Integer({ minimum: 1, maximum: 36_500 })),
    timezone: Type.Optional(Type.String()),
    generate_rights: Type.Optional(Type.Boolean()),
    highlight: Type.Optional(
      Type.Boolean({ description: 'Each hit with the texts in which something was found, in `_highlight`.' }),
    ),
    best_mask_filter: Type.Optional(Type.Boolean()),
  },
  { ...additional, title: 'SearchRequest' },
)
export type SearchRequest = Static<typeof SearchRequest>

const SearchRecord = Type.Object(
  { _basetype: Type.Enum(['pool', 'collection', 'event', 'message', 'user', 'group']) },
  { ...additional, title: 'SearchRecord', description: 'A record of another domain, as its own endpoint shows it.' },
)

export const SearchResponse = Type.Object(
  {
    type: Type.Optional(Type.String()),
    objecttypes: Type.Array(Type.String()),
    language: Type.String({ description: 'The language that texts fall back to.' }),
    count: Type.Integer({ description: 'Exact number of matches.' }),
    offset: Type.Integer(),
    limit: Type.Integer(),
    format: Type.String(),
    merge_linked_objects: Type.String(),
    merge_max_depth: Type.Integer(),
    objects: Type.Array(Type.Unknown(), {
      'x-shown-as': { type: 'array', items: Type.Union([DbObject, SearchRecord]) },
      description: 'With `type` the records of that domain, as their own endpoints show them.',
    }),
    aggregations: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    point_in_time: Type.Optional(
      Type.Object({ id: Type.String(), keep_alive: Type.String() }, { title: 'PointInTime' }),
    ),
  },
  { ...additional, title: 'SearchResponse' },
)

export type SearchResponse = Static<typeof SearchResponse>

export const SearchQuery = Type.Object({
  BODY: Type.String({ description: 'The search request as JSON.' }),
  cache_seconds: Type.Optional(Type.Integer({ minimum: 0, description: 'How long caches may keep the answer.' })),
})

const syntax = Type.Optional(
  Type.Enum(['query', 'words'], {
    description: '`query` (when nothing is said): the query language. `words`: what people type in a search bar.',
  }),
)

const parseOptions = {
  query: Type.String({ description: 'The query, at most 100,000 characters.' }),
  objecttypes: Type.Optional(
    Type.Array(Type.String(), { maxItems: 1000, description: 'Only objects of these types.' }),
  ),
  limit: Type.Optional(Type.Integer({ description: 'Hits of a page.' })),
  offset: Type.Optional(Type.Integer({ description: 'Hits before the page.' })),
  format: Type.Optional(Type.String({ description: 'The format that hits are answered in.' })),
  timezone: Type.Optional(Type.String({ description: 'The zone of times without one, and of times relative to now.' })),
  syntax,
}

export const SearchParseQuery = Type.Object({
  ...parseOptions,
  search: flag('Runs the search and answers what it finds in place of the request.'),
})

export const SearchParseOptions = Type.Object(
  {
    ...parseOptions,
    search: Type.Optional(
      Type.Boolean({ description: 'Runs the search and answers what it finds in place of the request.' }),
    ),
  },
  { ...additional, title: 'SearchParseOptions' },
)
export type SearchParseOptions = Omit<Static<typeof SearchParseOptions>, 'search'>

export const SearchParseResponse = Type.Union([SearchRequest, SearchResponse])

export const SearchElements = Type.Object(
  { search: Elements },
  { ...additional, title: 'SearchElements', description: 'The elements of a search request.' },
)

export const SearchQueryText = Type.Object({ query: Type.String() }, { title: 'SearchQueryText' })

export const ReindexQuery = Type.Object({
  blockFrontend: flag('Refuse searches of others than root until it is done.'),
})

export const EndedPoints = Type.Object({
  pit_id: Type.Array(Type.String(), { maxItems: 1000, description: 'Points in time; unknown ones are ignored.' }),
})

const checkCounts = {
  checked: Type.Integer({ description: 'Objects that were compared with their documents.' }),
  missing: Type.Integer({ description: 'Objects without document.' }),
  surplus: Type.Integer({ description: 'Documents of objects that are not there.' }),
  different: Type.Integer({ description: 'Documents that were not what is made of their objects.' }),
}

export const IndexCheck = Type.Object(
  {
    status: Type.Enum(['off', 'running', 'waiting'], {
      description: '`waiting`: a round has ended, and the next one is not due.',
    }),
    began_at: Type.String({ format: 'date-time' }),
    ended_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    ...checkCounts,
    last: Type.Union([
      Type.Object({ began_at: Type.String(), ended_at: Type.String(), ...checkCounts }),
      Type.Null({ description: 'There was no round before.' }),
    ]),
  },
  { $id: 'IndexCheck' },
)
export type IndexCheck = Static<typeof IndexCheck>
