/** `aggregations` of a search in records: the values of fields with their counts. */
import { AppError } from '../../platform/errors.ts'
import type { Parameters } from '../postgres/query/sql/sql.ts'
import { largestFacet } from '../request/aggregations.ts'
import { notAllowed } from '../request/names.ts'
import { choice, type Fields, fieldsAt, languageAt, optional, wrong } from '../request/read.ts'
import { preferredText, resolveField } from './fields.ts'
import type { Bind } from './model.ts'
import type { Source } from './source.ts'

const mostFacets = 100

/** One requested aggregation. */
export interface Facet {
  readonly name: string
  readonly field: string
  /** The value of a row as a text; `list`: its values, as a list of texts. */
  readonly value: string
  readonly list: boolean
  readonly limit: number
  readonly offset: number
  readonly order: string
}

interface FacetContext {
  readonly source: Source
  readonly bind: Bind
  readonly languages: readonly string[]
}

export function facetsOf(sent: unknown, context: FacetContext): readonly Facet[] {
  const entries = Object.entries(sent === undefined || sent === null ? {} : fieldsAt(sent, 'aggregations'))
  if (entries.length > mostFacets) throw wrong('aggregations', `a map of at most ${mostFacets} entries`)
  return entries.map(([name, entry]) => facet(name, fieldsAt(entry, `aggregations.${name}`), context))
}

function facet(name: string, entry: Fields, { source, bind, languages }: FacetContext): Facet {
  const place = `aggregations.${name}`
  const type = optional(entry, 'type', 'string', place) ?? ''
  if (type !== 'term') throw new AppError('UnsupportedInAggregation', { name: place, type: type.slice(0, 100) })
  for (const member of ['include', 'objecttype'])
    if (entry[member]) throw wrong(`${place}.${member}`, 'absent: it is for objects only')
  const written = optional(entry, 'field', 'string', place)
  if (written === undefined) throw wrong(`${place}.field`, 'the name of a field')
  const limit = optional(entry, 'limit', 'integer', place) ?? 10
  const offset = optional(entry, 'offset', 'integer', place) ?? 0
  if (limit < 0 || limit > largestFacet) throw wrong(`${place}.limit`, `an integer from 0 to ${largestFacet}`)
  if (offset < 0) throw wrong(`${place}.offset`, 'an integer that is not negative')
  const by = choice(optional(entry, 'sort', 'string', place) || 'count', ['count', 'term'], `${place}.sort`)
  const asked = optional(entry, 'order', 'string', place)
  const direction = asked
    ? choice(asked.toLowerCase(), ['asc', 'desc'], `${place}.order`)
    : by === 'count'
      ? 'desc'
      : 'asc'
  const { field, language } = resolveField(source, written)
  if (field.kind === 'date') throw notAllowed(written, 'aggregations')
  const wanted = language ?? languageAt(entry, place)
  const preferred = wanted === undefined ? languages : [wanted, ...languages]
  const value = field.kind === 'l10n' ? preferredText(field.sql, preferred, bind) : field.sql
  const isNumber = field.kind === 'id' || field.kind === 'number'
  const term = isNumber ? 'term::bigint' : 'term collate "und-x-icu"'
  return {
    name,
    field: written,
    value: field.list ? `${value}::text[]` : `(${value})::text`,
    list: field.list,
    limit,
    offset,
    order: by === 'count' ? `count ${direction}, ${term}` : `${term} ${direction}`,
  }
}

/**
 * SQL: `term` and `count` of the values of an aggregation. The rows `found` have the values of it as `value`, and the columns `record`,
 * which tell a record from others. A record counts once for a value that it has twice.
 */
export function termsOf({ list }: Facet, value: string, record: string): string {
  return list
    ? `select term, count(*) from (select distinct ${record}, term ${byCodePoints} as term
      from found cross join lateral unnest(found.${value}) as term where term is not null) as each group by term`
    : `select ${value} ${byCodePoints} as term, count(*) from found where ${value} is not null group by 1`
}

/** Values are told apart in half the time that their order in a language takes. */
export const byCodePoints = 'collate "C"'

/** SQL: the answer of an aggregation, given its `termsOf`. */
export function facetSql({ limit, offset, order }: Facet, terms: string, parameters: Parameters): string {
  return `(with terms as materialized (${terms})
    select jsonb_build_object('count', (select count(*) from terms), 'terms', coalesce((
      select jsonb_agg(jsonb_build_object('term', term, 'count', count) order by place) from (
        select term, count, row_number() over (order by ${order}) as place from terms
        order by ${order} limit ${parameters.add(limit)} offset ${parameters.add(offset)}) as page), '[]')))`
}

/** The answers of all aggregations, from a row that has them as `a0`, `a1`, … */
export function facetAnswers(
  facets: readonly Facet[],
  row: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    facets.map(({ name, field }, index) => [name, { type: 'term', field, ...(row[`a${index}`] as object) }]),
  )
}
