/** Compiles a whole search request to a plan. */
import type { Model, Table } from '../../datamodel/model.ts'
import { AppError } from '../../platform/errors.ts'
import type { FieldVisibility } from '../plan/field-visibility.ts'
import { fieldsOf } from '../plan/fields.ts'
import type { SearchEngine, SearchPlan, SearchScope, VisibleCollections } from '../plan/plan.ts'
import { type AggregationRequest, aggregationRequests } from './aggregations.ts'
import type { ElementContext, PoolByReference } from './clauses.ts'
import { elementsClause } from './elements.ts'
import { type FieldRequest, fieldRequests } from './fields.ts'
import { ignoredNames } from './known.ts'
import { timeZoneOf } from './moments.ts'
import { type Fields, fieldsAt, optional, stringsAt, unsupported, wrong } from './read.ts'
import type { AlikeFiles } from './similar.ts'
import { searchAfter, sortKeys } from './sort.ts'
import type { LanguageSynonyms } from './synonyms.ts'

export const defaultLimit = 100
export const largestPage = 1000
/** The highest number of hits on a page whose texts are highlighted. */
export const mostHighlighted = 200

export interface CompileContext {
  readonly model: Model
  readonly languages: readonly string[]
  readonly fieldVisibility: FieldVisibility
  readonly databaseName: string
  /** Pictures that look like the pictures in the request (`picturesOf`). */
  readonly alike: AlikeFiles
  readonly synonyms: readonly LanguageSynonyms[]
  /** The collections that the caller may see, if the request uses any (`namesCollections`). */
  readonly collections: VisibleCollections
  readonly poolByReference: PoolByReference
  readonly isSortValue: SearchEngine['isSortValue']
  readonly moment: SearchPlan['moment']
  /** When the request was made: dates such as `$now-7d` are relative to it. */
  readonly now: Date
}

export interface CompiledSearch {
  /** Without the trash; the service adds the part of it that the caller may see. */
  readonly plan: SearchPlan
  readonly includeDeleted: boolean
  readonly objecttypes: readonly Table[]
  readonly aggregations: readonly AggregationRequest[]
  /** Values that are returned beside the hits. */
  readonly fields: readonly FieldRequest[]
  /** Whether the answer has the texts with matches. */
  readonly highlight: boolean
  /** Languages in which the caller wants to read; empty: all. */
  readonly languages: readonly string[]
  /** Places of unknown names in the request. */
  readonly ignored: readonly string[]
}

export function compileSearch(request: Fields, context: CompileContext): CompiledSearch {
  const ignored = ignoredNames(request)
  if (request.field) throw unsupported('field', 'a field of a search that is within no other')
  const fields = fieldsOf(context.model)
  const objecttypes = objecttypesOf(request, '', context.model)
  const elements = elementContext(request, '', objecttypes, { ...context, links: { count: 0 } }, 0)
  const { clause, score } = elementsClause(request.search, 'search', elements)
  const languages = request.languages ? stringsAt(request.languages, 'languages', 100) : []
  const wanted = languages.filter((language) => context.languages.includes(language))
  const sort = sortKeys(request.sort, {
    fields,
    objecttypes,
    languages: [...wanted, ...context.languages.filter((language) => !wanted.includes(language))],
    scored: score.length > 0,
  })
  const aggregations = aggregationRequests(request.aggregations, elements)
  const collected = fieldRequests(request.fields, elements)
  const after = searchAfter(request.search_after, sort, context.isSortValue)
  const plan: SearchPlan = {
    model: context.model,
    fields,
    languages: context.languages,
    scope: { ...scopeOf(objecttypes, request), where: clause, rights: context.fieldVisibility.rights, deleted: false },
    fieldVisibility: context.fieldVisibility,
    score,
    sort,
    after,
    ...pageOf(request, after !== null),
    aggregations: aggregations.flatMap(({ plan, more }) => (plan === null ? [] : [plan, ...more])),
    moment: context.moment,
  }
  const includeDeleted = optional(request, 'include_deleted', 'boolean', 'body') ?? false
  const highlight = optional(request, 'highlight', 'boolean', 'body') ?? false
  if (highlight && plan.limit > mostHighlighted) throw wrong('limit', `at most ${mostHighlighted} with highlight`)
  return { plan, highlight, includeDeleted, objecttypes, aggregations, fields: collected, languages, ignored }
}

/** The context that all parts of one request share. */
interface RequestContext extends CompileContext {
  readonly links: ElementContext['links']
}

function elementContext(
  request: Fields,
  place: string,
  objecttypes: readonly Table[],
  context: RequestContext,
  depth: number,
): ElementContext {
  const own: ElementContext = {
    fields: fieldsOf(context.model),
    objecttypes,
    clock: { now: context.now, zone: timeZoneOf(optional(request, 'timezone', 'string', place || 'body')) },
    nested: null,
    depth,
    databaseName: context.databaseName,
    alike: context.alike,
    synonyms: context.synonyms,
    scope: (inner, innerPlace, innerDepth) => innerScope(inner, innerPlace, context, innerDepth),
    within: (target) => withinTarget(own, target),
    scopeOf: ({ id }, where) => ({
      objecttypes: [id],
      where,
      rights: context.fieldVisibility.rights,
      deleted: false,
    }),
    links: context.links,
    collections: context.collections,
    poolByReference: context.poolByReference,
  }
  return own
}

function withinTarget(context: ElementContext, target: Table): ElementContext {
  const inner: ElementContext = {
    ...context,
    objecttypes: [target],
    nested: null,
    depth: context.depth + 1,
    within: (next) => withinTarget(inner, next),
  }
  return inner
}

/** A search within an `in` element. Its results are the targets of links. */
function innerScope(request: Fields, place: string, context: RequestContext, depth: number): SearchScope {
  const objecttypes = objecttypesOf(request, place, context.model)
  const elements = elementContext(request, place, objecttypes, context, depth)
  const { clause } = elementsClause(request.search, `${place}.search`, elements)
  return { ...scopeOf(objecttypes, request), where: clause, rights: context.fieldVisibility.rights, deleted: false }
}

function scopeOf(objecttypes: readonly Table[], request: Fields): Pick<SearchScope, 'objecttypes'> {
  const restricted = Array.isArray(request.objecttypes) && request.objecttypes.length > 0
  return { objecttypes: restricted ? objecttypes.map((table) => table.id) : null }
}

/** @throws {AppError} `UnknownObjecttype` */
function objecttypesOf(request: Fields, place: string, model: Model): Table[] {
  const path = place === '' ? 'objecttypes' : `${place}.objecttypes`
  const names = request.objecttypes ? stringsAt(request.objecttypes, path) : []
  if (names.length === 0) return [...model.objecttypes.values()]
  return [...new Set(names)].map((name) => {
    const table = model.objecttypes.get(name)
    if (!table) throw new AppError('UnknownObjecttype', { name: path, objecttype: name.slice(0, 200) })
    return table
  })
}

export function pageOf(request: Fields, continues: boolean): { offset: number; limit: number } {
  const offset = optional(fieldsAt(request, 'body'), 'offset', 'integer', 'body') ?? 0
  const limit = optional(request, 'limit', 'integer', 'body') ?? defaultLimit
  if (offset < 0) throw wrong('offset', 'an integer that is not negative')
  if (offset > 0 && continues) throw wrong('offset', '0 together with search_after')
  if (limit < 0 || limit > largestPage) throw wrong('limit', `an integer from 0 to ${largestPage}`)
  return { offset, limit }
}
