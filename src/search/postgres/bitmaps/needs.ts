/** The columns that a search needs to be answered from memory. */
import { hash } from 'node:crypto'
import type { SearchField } from '../../plan/fields.ts'
import type { AggregationPlan, Clause } from '../../plan/plan.ts'
import { lexically } from '../lexical.ts'
import { rightsCondition } from '../query/access/access.ts'
import { clauseSql } from '../query/conditions/condition.ts'
import type { ConditionContext } from '../query/conditions/context.ts'
import { isRange, type KeyRange, keyRange } from '../query/conditions/key-ranges.ts'
import type { FacetColumn } from '../query/facets/facets.ts'
import { orderByIndex, orderColumns, targetOrder } from '../query/order/order.ts'
import { isOfDocument, longestCondition } from '../query/sql/of-document.ts'
import { Parameters } from '../query/sql/sql.ts'
import type { ColumnRequest } from './bitmap-store.ts'
import type { KeyColumn, MatchColumn, NumberColumn, OrderColumn } from './column.ts'
import {
  type BackFacet,
  type BackOrder,
  backFacetOf,
  backOrderOf,
  idOrderOf,
  ranksIn,
  type TargetFacet,
  targetFacetOf,
} from './linking-needs.ts'
import { readKeys, readMatches, readOrder } from './read.ts'
import { type Access, accessOf, atOnce, isColumn, numbersOf, objectsAlone } from './requests.ts'
import type { TargetOrder } from './target-order.ts'

export interface Needs {
  readonly type: number
  /** Conditions under which the caller may read the objects and sees the searched fields. All of them must hold. */
  readonly access: readonly Access[]
  readonly matches: readonly ColumnRequest<MatchColumn>[]
  readonly ranges: readonly { readonly range: KeyRange; readonly wanted: ColumnRequest<KeyColumn> }[]
  readonly among: readonly { readonly ids: readonly number[]; readonly not: boolean }[]
  readonly facets: readonly ColumnRequest<NumberColumn>[]
  /** By name: facets of what the matches link to, as far as columns of that can answer them. */
  readonly targetFacets: ReadonlyMap<string, TargetFacet>
  /** null: no page is needed, or its order is not kept in memory. */
  readonly order: OrderRequest | null
  /** The order of the page where it is one by linked objects, or by objects that link to the matches. */
  readonly targets: TargetOrder | null
  readonly back: BackOrder | null
  readonly backFacets: readonly BackFacet[]
}

/** An order of the objects that fulfil `matches` (the key of a condition); null: of all objects. */
export type OrderRequest = ColumnRequest<OrderColumn> & { readonly matches: string | null }

/** The highest number of objects of a type for which sort keys are kept: they take sixteen times the memory of a condition. */
const mostKeys = 500_000
/** The highest number of objects of a type for which all scores are compared, when not every match must contain searched words. */
const mostScored = 100_000
/**
 * A condition on words with many matches will be used again, so it is read at once. Another condition may belong to one search
 * only: a filter that a person has put together.
 */
const times = { text: atOnce, other: { usual: 2, large: 2 } }

/** null: the search has a part that no column can answer. `uncounted`: aggregations without a column of the matches. */
export function needsOf(
  context: ConditionContext,
  facets: readonly FacetColumn[],
  uncounted: readonly AggregationPlan[],
): Needs | null {
  const { plan } = context
  const { scope } = plan
  const [type, ...others] = scope.objecttypes ?? []
  if (type === undefined || others.length > 0 || scope.deleted !== false) return null
  const columns = facets.flatMap(({ sql }) => (isColumn(sql) ? String(sql) : []))
  if (columns.length < facets.length) return null
  const rights = rightsCondition(scope.rights)
  if (rights.never) return null
  const order = orderOf(context)
  const isPaged = plan.limit > 0 && !plan.after
  const targets = isPaged ? targetsOf(context) : null
  const back = isPaged ? backOrderOf(context) : null
  const backFacets = uncounted.flatMap((each) => (each.kind === 'facet' ? (backFacetOf(each, context) ?? []) : []))
  if (backFacets.length < uncounted.length) return null
  // PostgreSQL walks through all matches for the page, and counts them at the same time.
  if (isPaged && !order && !targets && !back && facets.length + uncounted.length === 0) return null
  const found = conditionsOf(scope.where, context)
  if (!found) return null
  const visibilities = found.ranges.map(({ range: { field } }) => plan.fieldVisibility.column(field))
  if (visibilities.includes('never')) return null
  const places = visibilities.flatMap((visibility) => (typeof visibility === 'string' ? [] : [visibility.place]))
  const asked = rights.node ? [scope.rights, ...places] : places
  const access = asked.flatMap((expression): Access[] => {
    const known = plan.accessSets.known(expression)
    return known ? [accessOf(known)] : []
  })
  if (access.length < asked.length) return null
  return {
    ...found,
    type,
    access,
    facets: columns.map(numbersOf),
    targetFacets: new Map(
      facets.flatMap(({ facet, reached }) => {
        const targetFacet = reached ? targetFacetOf(facet, context) : null
        return targetFacet ? [[facet.name, targetFacet] as const] : []
      }),
    ),
    order,
    targets,
    back,
    backFacets,
  }
}

export type Conditions = Pick<Needs, 'matches' | 'ranges' | 'among'>

export function conditionsOf(where: Clause, context: ConditionContext): Conditions | null {
  const { slots, scope } = context.plan
  const [matches, ranges, among]: [ColumnRequest<MatchColumn>[], Needs['ranges'][number][], Needs['among'][number][]] =
    [[], [], []]
  for (const clause of partsOf(where)) {
    const listed = idsOf(clause)
    const range = isRange(clause) ? keyRange(clause, slots, scope.objecttypes) : null
    if (listed) among.push(listed)
    else if (range) ranges.push({ range, wanted: keysOf(range.field, range) })
    else {
      const wanted = matchesOf(clause, context)
      if (!wanted) return null
      matches.push(wanted)
    }
  }
  return { matches, ranges, among }
}

/** The conditions that must all hold. */
export function partsOf(clause: Clause): Clause[] {
  if (clause.is === 'all') return []
  if (clause.is === 'and' || (clause.is === 'or' && clause.of.length === 1)) return clause.of.flatMap(partsOf)
  return [clause]
}

function idsOf(clause: Clause): Needs['among'][number] | null {
  if (clause.is === 'id') return { ids: clause.ids, not: false }
  if (clause.is !== 'not') return null
  const [only, ...others] = partsOf(clause.of)
  return only?.is === 'id' && others.length === 0 ? { ids: only.ids, not: true } : null
}

function keysOf(field: SearchField, { place }: KeyRange): ColumnRequest<KeyColumn> {
  return {
    key: `keys ${field.kind} ${place}`,
    times: atOnce,
    read: async (db, table) => (table.ids.length > mostKeys ? null : readKeys(db, table, { field, place })),
  }
}

function matchesOf(clause: Clause, context: ConditionContext): ColumnRequest<MatchColumn> | null {
  const parameters = new Parameters()
  const sql = clauseSql(clause, 'd', { ...context, parameters })
  if (!isOfDocument(sql) || parameters.length(longestCondition) === longestCondition) return null
  const [text, values] = parameters.statement(sql.text)
  return {
    key: `matches ${digestOf(text, values)}`,
    times: clause.is === 'text' ? times.text : times.other,
    read: (db, table) => lexically(db, (tx) => readMatches(tx, table, text, values)),
  }
}

function orderOf(context: ConditionContext): OrderRequest | null {
  const { limit, after, scope, sort } = context.plan
  if (limit === 0 || after) return null
  const isScored = sort.some(({ field }) => field.by === 'score')
  const parameters = new Parameters()
  const own = { ...context, parameters }
  const by = orderColumns(own)
  const order = orderByIndex(by)
  // By score: only objects with the words are ordered. Ordering all objects would cost in proportion to their number.
  const where = isScored ? wordsSql(scope.where, own) : 'true'
  if (
    where === null ||
    !by.every(({ sql }) => isOfDocument(sql)) ||
    parameters.length(longestCondition) === longestCondition
  )
    return null
  const [text, values] = parameters.statement(`${where} order by ${order}`)
  return {
    key: `order ${digestOf(text, values)}`,
    matches: isScored ? onlyWords(scope.where, context) : null,
    times: isScored ? times.text : atOnce,
    async read(db, table) {
      if (!isScored) return readOrder(db, table, text, values)
      if (where === 'true' && table.ids.length > mostScored) return null
      return lexically(db, (tx) => readOrder(tx, table, text, values))
    },
  }
}

function targetsOf(context: ConditionContext): TargetOrder | null {
  const [key, next] = context.plan.sort
  const by = key && targetOrder(key, context)
  if (!key || !by || !isColumn(by.target)) return null
  return {
    targets: numbersOf(`(${by.target})::int`),
    keyOf: (statement) => by.keySql(statement.context),
    ranks: by.key && ranksIn(by.type, by.key, context),
    descending: key.descending,
    ids: idOrderOf(next),
  }
}

/** The key of the condition on words, where there is exactly one. */
function onlyWords(where: Clause, context: ConditionContext): string | null {
  const [only, ...others] = partsOf(where).filter(({ is }) => is === 'text')
  return only && others.length === 0 ? (matchesOf(only, context)?.key ?? null) : null
}

/** The condition on words that every match fulfils; null: it needs more than search documents. */
function wordsSql(where: Clause, context: ConditionContext): string | null {
  const conditions = partsOf(where)
    .filter(({ is }) => is === 'text')
    .map((clause) => clauseSql(clause, 'd', context))
  return conditions.every(isOfDocument) ? ['true', ...conditions].join(' and ') : null
}

const digestOf = (text: string, values: readonly unknown[]): string =>
  hash(
    'sha256',
    `${text} ${JSON.stringify(values, (_, value) => (typeof value === 'bigint' ? String(value) : value))}`,
    'base64',
  )

/** All columns of the type that must be read. An order contains the matches already. */
export const columnsOf = ({ matches, ranges, facets, order, targets, back, backFacets }: Needs): ColumnRequest[] => [
  ...matches.filter(({ key }) => key !== order?.matches),
  ...ranges.map(({ wanted }) => wanted),
  ...facets,
  ...(order ? [order] : []),
  ...(targets ? [targets.targets] : []),
  ...(back || backFacets.length > 0 ? [objectsAlone] : []),
]
