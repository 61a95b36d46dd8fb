import { type Static, Type } from 'typebox'
import { DbObject } from '../../objects/schema.ts'

const additional = { additionalProperties: true } as const
const names = (description: string, maxItems = 1000) =>
  Type.Optional(Type.Array(Type.String({ maxLength: 300 }), { maxItems, description }))

export const suggestLimits = {
  /** Characters of the typed text. */
  query: 1000,
  /** Suggestions of each kind. */
  limit: 100,
  /** Milliseconds. */
  timeout: 60_000,
} as const

export const SuggestRequest = Type.Object(
  {
    query: Type.Optional(
      Type.String({
        maxLength: suggestLimits.query,
        description: 'What was typed so far; the last word is completed.',
      }),
    ),
    tokens_dont_split_query: Type.Optional(
      Type.Boolean({ description: 'The whole query stands for one word or one value of a `string` column.' }),
    ),
    tokens: Type.Optional(Type.Boolean({ description: '`false`: no words.' })),
    fields: names('Where words and values stand; `_fulltext` when nothing is said.', 100),
    fields_suggest: Type.Optional(Type.Boolean({ description: 'Whole values of `fields`, which are texts then.' })),
    objecttypes: names('Words and values of objects of these types alone.'),
    pool_ids: Type.Optional(
      Type.Array(Type.Integer(), { maxItems: 1000, description: 'Of objects in exactly these pools.' }),
    ),
    languages: names('Of localized texts only those in these languages.', 100),
    linked_objecttypes: names('Objects of these types that fit are answered in `linked_objects`.'),
    linked_objects_referenced_by_objecttypes: names(
      'Of these only such that an object of one of the types, or what stands below them, is linked by.',
    ),
    analyze_wildcards: Type.Optional(
      Type.Boolean({
        description: '`*` and `?` in the last word stand for any characters and for one. Of words alone.',
      }),
    ),
    tokens_mode: Type.Optional(
      Type.Enum(['', 'ngram', 'edgengram', 'exact'], {
        description:
          'Empty, `ngram`: words that have what was typed in them; `edgengram`: that begin so; `exact`: the word.',
      }),
    ),
    timeout: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: suggestLimits.timeout,
        description: 'Milliseconds; 1000 when nothing or 0 is said.',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: suggestLimits.limit,
        description: 'Of each kind; 10 when nothing or 0 is said.',
      }),
    ),
  },
  { ...additional, title: 'SuggestRequest' },
)
export type SuggestRequest = Static<typeof SuggestRequest>

const shown = 'HTML: escaped, what was typed in `<b>`.'

const SuggestedToken = Type.Object(
  {
    suggest: Type.String({ description: shown }),
    tokens: Type.Array(Type.String(), { description: 'The words of the suggestion; the last one is new.' }),
    count: Type.Integer({ description: 'Objects that a search for all of them finds.' }),
  },
  { title: 'SuggestedToken' },
)

const SuggestedValue = Type.Object(
  {
    field: Type.String({ description: 'The value.' }),
    suggest: Type.String({ description: shown }),
    count: Type.Integer({ description: 'Objects that have it.' }),
    _system_object_id: Type.Array(Type.Integer(), { description: 'Some of them, at most as many as `limit`.' }),
  },
  { title: 'SuggestedValue' },
)

export type SuggestedToken = Static<typeof SuggestedToken>
export type SuggestedValue = Static<typeof SuggestedValue>

export const SuggestResponse = Type.Object(
  {
    es_time: Type.Integer({ description: 'Milliseconds that it took.' }),
    timed_out: Type.Boolean({ description: 'The time was over; there may be more.' }),
    suggestions: Type.Object({
      tokens: Type.Optional(Type.Array(SuggestedToken)),
      fields: Type.Optional(Type.Array(SuggestedValue)),
      linked_objects: Type.Optional(Type.Array(Type.Unknown(), { 'x-shown-as': { type: 'array', items: DbObject } })),
    }),
  },
  { title: 'SuggestResponse' },
)

export const SuggestQuery = Type.Object({
  BODY: Type.String({ description: 'The request as JSON.' }),
  cache_seconds: Type.Optional(Type.Integer({ minimum: 0, description: 'How long caches may keep the answer.' })),
})
