/** The `aggregations` of a request: the counted values, and the form of the counts in the answer. */

import { type FormatName, formatNames } from '../../objects/service.ts'
import { AppError } from '../../platform/errors.ts'
import { type PatternBudget, PatternError, patternBudget } from '../../platform/values/patterns.ts'
import type { Measure } from '../plan/measures.ts'
import type { AggregationPlan, Clause, FacetField } from '../plan/plan.ts'
import { assetFields } from './assets.ts'
import type { ElementContext } from './clauses.ts'
import { type MeasureType, measureOf, measureTypes, periodsOf, textChoice } from './measures.ts'
import { linkOf, notAllowed } from './names.ts'
import { resolvePath } from './paths.ts'
import { rangeClause } from './ranges.ts'
import { choice, type Fields, fieldsAt, languageAt, listAt, optional, wrong } from './read.ts'
import { publishedBy } from './values.ts'

/** One requested aggregation: its part of the plan, and how its counts are rendered. */
export interface AggregationRequest {
  readonly name: string
  readonly type: 'term' | 'linked_object' | 'date_range' | 'range' | MeasureType
  /** As written in the request. */
  readonly field: string
  /** null: it is a measurement. */
  readonly plan: AggregationPlan | null
  /** null: it is counted together with the search. */
  readonly measure: Measure | null
  /** Format of linked objects. `null`: their `_standard`, as others show them. */
  readonly format: FormatName | null
  readonly valueField: string | null
  /** For `_linked._asset.…` in several columns: the other columns. Their counts are added up. */
  readonly more: readonly AggregationPlan[]
  readonly limit: number
  readonly offset: number
  readonly sort: 'count' | 'term'
  readonly descending: boolean
  /** Filter on whole labels; null: all labels. */
  readonly include: ((label: string) => boolean) | null
  /** Only objects right below this one (`_system_object_id`; 0: the top level). */
  readonly parent: number | null
  /** The requested ranges as they were sent. */
  readonly ranges: readonly { readonly from?: unknown; readonly to?: unknown }[]
  readonly language: string | null
}

const types = ['term', 'linked_object', 'date_range', 'range', ...measureTypes] as const

function isOneOf<T extends string>(value: string, of: readonly T[]): value is T {
  return (of as readonly string[]).includes(value)
}

/** The highest number of linked objects of one aggregation that are rendered in a format. */
const mostFormatted = 100

const mostAggregations = 100
const mostRanges = 100
export const largestFacet = 10_000

export function aggregationRequests(map: unknown, context: ElementContext): readonly AggregationRequest[] {
  const entries = Object.entries(map === undefined || map === null ? {} : fieldsAt(map, 'aggregations'))
  if (entries.length > mostAggregations) throw wrong('aggregations', `a map of at most ${mostAggregations} entries`)
  const patterns = patternBudget({ longest: 500, total: 2000 })
  return entries.map(([name, entry]) => {
    const place = `aggregations.${name}`
    return aggregation(name, fieldsAt(entry, place), place, context, patterns)
  })
}

function aggregation(
  name: string,
  entry: Fields,
  place: string,
  context: ElementContext,
  patterns: PatternBudget,
): AggregationRequest {
  const type = optional(entry, 'type', 'string', place) ?? ''
  if (!isOneOf(type, types)) {
    throw new AppError('UnsupportedInAggregation', { name: place, type: type.slice(0, 100) })
  }
  const objecttype = optional(entry, 'objecttype', 'string', place)
  const field = optional(entry, 'field', 'string', place) ?? defaultFields[objecttype ?? '']
  if (field === undefined) throw wrong(`${place}.field`, 'the name of a field')
  const sort = choice(optional(entry, 'sort', 'string', place) || 'count', ['count', 'term'], `${place}.sort`)
  const order = optional(entry, 'order', 'string', place)
  const limit = optional(entry, 'limit', 'integer', place) ?? 10
  const offset = optional(entry, 'offset', 'integer', place) ?? 0
  if (limit < 0 || limit > largestFacet) throw wrong(`${place}.limit`, `an integer from 0 to ${largestFacet}`)
  if (offset < 0) throw wrong(`${place}.offset`, 'an integer that is not negative')
  const isRanges = type === 'range' || type === 'date_range'
  const ranges = isRanges ? rangesOf(entry, place) : []
  const measure = isOneOf(type, measureTypes)
    ? measureOf(type, entry, field, place, context)
    : type === 'term'
      ? periodsOf(field, place, context)
      : null
  const [first, ...more] =
    measure !== null
      ? [null]
      : isRanges
        ? [{ kind: 'ranges', name, clauses: rangeClauses(type, field, ranges, place, context) } as const]
        : facetPlans(
            type as 'term' | 'linked_object',
            name,
            { field, language: languageAt(entry, place) },
            place,
            context,
          )
  const format = optional(entry, 'format', 'string', place)
  if (format && limit > mostFormatted)
    throw wrong(`${place}.limit`, `an integer from 0 to ${mostFormatted} with a format`)
  if (format && !(first?.kind === 'facet' && first.field.kind === 'field')) {
    throw wrong(`${place}.format`, 'absent where no objects are counted')
  }
  return {
    name,
    type,
    field,
    plan: first,
    measure,
    format: format ? choice(format, formatNames, `${place}.format`) : null,
    valueField: optional(entry, 'value_field', 'string', place) ?? null,
    more,
    limit,
    offset,
    sort,
    descending: order ? choice(order.toLowerCase(), ['asc', 'desc'], `${place}.order`) === 'desc' : sort === 'count',
    include: includeOf(entry, place, patterns),
    parent: optional(entry, 'filter_parent', 'integer', place) ?? null,
    ranges,
    language: languageAt(entry, place) ?? null,
  }
}

/** One plan, or several under names that no request can have. */
function facetPlans(
  type: 'term' | 'linked_object',
  name: string,
  { field, language }: { readonly field: string; readonly language: string | undefined },
  place: string,
  context: ElementContext,
): readonly [AggregationPlan, ...AggregationPlan[]] {
  const names = assetFields(field, context)?.map((each) => each.name) ?? [field]
  if (names.length === 0) return [{ kind: 'ranges', name, clauses: [] }]
  const [first, ...others] = names.map((each) => facetField(type, { name: each, language }, place, context))
  return [
    { kind: 'facet', name, field: first as FacetField },
    ...others.map((each, index) => ({ kind: 'facet', name: `${name}\0${index}`, field: each }) as const),
  ]
}

/** Default field of aggregation types that are named after their field. */
const defaultFields: Readonly<Record<string, string>> = { pool: '_pool', tag: '_tags' }

function facetField(
  type: 'term' | 'linked_object',
  { name, language }: { readonly name: string; readonly language: string | undefined },
  place: string,
  context: ElementContext,
): FacetField {
  const { steps, named: found } = resolvePath(context.fields, name)
  const named = found.kind === 'targetId' ? linkOf(found) : found
  if (steps.length > 0 && named.kind !== 'field') throw notAllowed(name, 'aggregations')
  if (named.kind === 'system') {
    if (named.name === '_objecttype' && type === 'term') return { kind: 'objecttype' }
    if (named.name === '_pool' && type === 'linked_object') return { kind: 'pool' }
    if (named.name === '_tags') return { kind: 'tags' }
    if (named.name === '_owner' && type === 'term') return { kind: 'owner' }
    if (named.name === '_collections' && type === 'term') return { kind: 'collections', seen: context.collections }
    if (named.name === '_published' && type === 'term' && publishedBy(name) === 'collector')
      return { kind: 'collectors' }
    throw notAllowed(name, 'aggregations')
  }
  if (named.kind !== 'field') throw notAllowed(name, 'aggregations')
  const { field } = named
  const fits = type === 'linked_object' ? field.kind === 'link' : field.kind !== 'link'
  if (!fits || field.kind === 'geo' || field.kind === 'files' || (field.part && !field.facet)) {
    throw new AppError('UnsupportedInAggregation', { name: place, type, field: name })
  }
  const text = textChoice(named, language)
  return { kind: 'field', field, ...(steps.length > 0 ? { steps } : {}), ...(text && { text }) }
}

function rangesOf(entry: Fields, place: string): { from?: unknown; to?: unknown }[] {
  return listAt(entry.ranges ?? [], `${place}.ranges`, mostRanges).map((range, index) => {
    const { from, to } = fieldsAt(range, `${place}.ranges[${index}]`)
    return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
  })
}

function rangeClauses(
  type: 'date_range' | 'range',
  field: string,
  ranges: readonly Fields[],
  place: string,
  context: ElementContext,
): Clause[] {
  const [asset] = assetFields(field, context) ?? []
  const { named } = resolvePath(context.fields, asset?.name ?? field)
  const isNumber = named.kind === 'field' && named.field.kind === 'number'
  if ((type === 'range') !== isNumber) throw new AppError('UnsupportedInAggregation', { name: place, type, field })
  return ranges.map((range, index) => rangeClause({ ...range, field }, `${place}.ranges[${index}]`, context))
}

/** `include`: a pattern that the whole label matches. */
function includeOf(entry: Fields, place: string, patterns: PatternBudget): AggregationRequest['include'] {
  const include = optional(entry, 'include', 'string', place)
  if (!include) return null
  try {
    const pattern = patterns.compile(include, { script: true })
    return (label) => pattern.matches(label)
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    throw wrong(`${place}.include`, `a regular expression (${error.message})`)
  }
}
