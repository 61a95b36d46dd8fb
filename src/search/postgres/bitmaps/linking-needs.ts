/** The columns of other types that orders and facets through links need. */
import { isEverything } from '../../../rights/service.ts'
import type { SearchField } from '../../plan/fields.ts'
import type { FacetField, FacetPlan, Which } from '../../plan/plan.ts'
import { readableSql } from '../query/access/visibility.ts'
import type { ConditionContext } from '../query/conditions/context.ts'
import { countedSetSql, valueSetSql } from '../query/facets/reached.ts'
import { isIndexed } from '../query/facets/stored-labels.ts'
import { backOrder } from '../query/order/order.ts'
import type { Sql } from '../query/sql/of-document.ts'
import type { ColumnRequest } from './bitmap-store.ts'
import type { NumberColumn } from './column.ts'
import type { IdOrder } from './page-groups.ts'
import { type Access, accessOf, isColumn, numbersOf, ranksOf } from './requests.ts'

/** Objects at the other end of a link, as far as the caller may read them, with a number of each. */
export interface SideRequest {
  readonly type: number
  /** null: the caller may read all of them. */
  readonly access: Access | null
  /** Sets of their values, or ranks. */
  readonly values: ColumnRequest<NumberColumn>
  /** Numbers of sets as SQL, for objects that have changed since, and whether the caller may read these. */
  readonly sql: { readonly links: string; readonly values: string; readonly readable: string }
}

/** The same of objects that link to the matches: with the sets of their links, and the place of these in documents. */
export interface LinkingRequest extends SideRequest {
  readonly links: ColumnRequest<NumberColumn>
  readonly place: number
}

export interface BackOrder {
  readonly linking: LinkingRequest
  readonly which: Which
  readonly descending: boolean
  readonly ids: IdOrder
}

export interface BackFacet {
  readonly name: string
  readonly linking: LinkingRequest
  /** Of the values in documents. */
  readonly place: number
}

/** A facet of what the matches link to. The sets of their links are counted first. */
export interface TargetFacet {
  readonly targets: SideRequest
  /** Of the links and of the values in documents. */
  readonly places: { readonly links: number; readonly values: number }
}

/** null: it is another order, or one that no column can answer. */
export function backOrderOf(context: ConditionContext): BackOrder | null {
  const [key, next] = context.plan.sort
  const by = key && backOrder(key, context)
  if (!key || !by) return null
  const ranks = ranksIn(by.link.column.table.root.id, by.key, context)
  const linking = ranks && linkingOf(by.link, ranks, context)
  return linking ? { linking, which: by.which, descending: key.descending, ids: idOrderOf(next) } : null
}

/** The direction of the ids if they come next; null: another key does. */
export function idOrderOf(next: ConditionContext['plan']['sort'][number] | undefined): IdOrder {
  if (next?.field.by !== 'id') return null
  return next.descending ? 'descending' : 'ascending'
}

/** null: it is another facet, or one that no column can answer. */
export function backFacetOf({ name, field }: FacetPlan, context: ConditionContext): BackFacet | null {
  if (field.kind !== 'field' || field.steps?.length !== 1) return null
  const [step] = field.steps
  const values = step?.reverse ? valuesIn(step.field.column.table.root.id, field, context) : null
  const linking = step && values && linkingOf(step.field, values, context)
  const place = context.plan.slots.facet(field.field)
  return linking && place !== undefined ? { name, linking, place } : null
}

/** The same of a facet whose sets of links are counted. */
export function targetFacetOf({ field }: FacetPlan, context: ConditionContext): TargetFacet | null {
  if (field.kind !== 'field' || field.steps?.length !== 1) return null
  const [step] = field.steps
  const targets = step && !step.reverse ? valuesIn(step.target.id, field, context) : null
  const [links, values] = [step && context.plan.slots.facet(step.field), context.plan.slots.facet(field.field)]
  return targets && links !== undefined && values !== undefined ? { targets, places: { links, values } } : null
}

/** The ranks of the keys of a type. */
export function ranksIn(type: number, key: Sql, context: ConditionContext): SideRequest | null {
  return isColumn(key) ? sideOf(type, { request: ranksOf(String(key)), sql: 'null::int' }, context) : null
}

type ColumnFacet = Extract<FacetField, { kind: 'field' }>

function valuesIn(type: number, { field, text }: ColumnFacet, context: ConditionContext): SideRequest | null {
  const counted = field.column.table.root.id === type && isIndexed(text, context.plan.languages)
  const sql = counted ? valueSetSql(field, context.plan) : null
  return sql && isColumn(sql) ? sideOf(type, { request: numbersOf(String(sql)), sql: String(sql) }, context) : null
}

function sideOf(
  type: number,
  values: { readonly request: ColumnRequest<NumberColumn>; readonly sql: string },
  { plan }: ConditionContext,
): SideRequest | null {
  const { rights } = plan.fieldVisibility
  const known = isEverything(rights) ? null : plan.accessSets.known(rights)
  if (!known && !isEverything(rights)) return null
  return {
    type,
    access: known && accessOf(known),
    values: values.request,
    sql: { links: 'null::int', values: values.sql, readable: readableSql(plan, 'd') },
  }
}

function linkingOf(link: SearchField, side: SideRequest, { plan }: ConditionContext): LinkingRequest | null {
  const links = countedSetSql({ field: link, reverse: false, target: link.column.table.root }, plan)
  const place = plan.slots.facet(link)
  if (!links || !isColumn(links) || place === undefined) return null
  return { ...side, links: numbersOf(String(links)), place, sql: { ...side.sql, links: String(links) } }
}
