/** The context in which conditions are compiled, and helpers to combine them. */
import type { SystemFieldName } from '../../../../datamodel/model.ts'
import type { Visibility } from '../../../plan/field-visibility.ts'
import type { SearchField, TypeFields } from '../../../plan/fields.ts'
import type { PostgresPlan } from '../access/postgres-plan.ts'
import { predicateSql, type RowScope } from '../access/predicate.ts'
import { accessSql, visibilityNode, visibilityOfTypes, whereSeen } from '../access/visibility.ts'
import type { LinkedObjects } from '../linked/linked.ts'
import { always, type Condition, never, ofNode, ofSql } from '../sql/conditions.ts'
import { documentSql, madeOf, type Sql } from '../sql/of-document.ts'
import type { Parameters } from '../sql/sql.ts'
import { anyOf, type Node } from '../sql/tsquery.ts'
import type { Expansions } from '../words/text.ts'

export interface ConditionContext {
  readonly plan: PostgresPlan
  readonly expansions: Expansions
  readonly linked: LinkedObjects
  readonly parameters: Parameters
  /** Ids of the object types of the search that is compiled, if it is a search within another; absent: the types of the plan. */
  readonly searched?: readonly number[]
  /** Whether ranges are compared by sort keys, where these are exact. */
  readonly byKeys?: boolean
}

export function expression(condition: Condition, place: RowScope, { parameters }: ConditionContext): Sql | null {
  if (condition.never) return null
  const parts = [
    ...(condition.node ? [predicateSql(condition.node, place, parameters)] : []),
    ...(condition.sql ? [condition.sql] : []),
  ]
  return parts.length === 0 ? documentSql('true') : madeOf(parts, `(${parts.join(' and ')})`)
}

export function disjunction(conditions: readonly Condition[], place: RowScope, context: ConditionContext): Condition {
  const possible = conditions.filter((condition) => !condition.never)
  if (possible.length === 0) return never
  const nodes = possible.map((condition) => condition.node)
  const known = nodes.filter((node) => node !== null)
  const node = known.length === nodes.length ? anyOf(known) : null
  if (possible.every((condition) => condition.sql === null)) return node ? ofNode(node) : always
  const parts = possible.flatMap((condition) => expression(condition, place, context) ?? [])
  return { never: false, node, sql: madeOf(parts, `(${parts.join(' or ')})`) }
}

export function negation(condition: Condition, place: RowScope, context: ConditionContext): Condition {
  if (condition.never) return always
  if (condition.sql === null) return condition.node ? ofNode({ op: 'not', of: condition.node }) : never
  const of = expression(condition, place, context)
  return of === null ? always : ofSql(madeOf([of], `not coalesce(${of}, false)`))
}

/** A condition on a column, where the caller sees the column. */
export function whereVisible(field: SearchField, of: Node, { plan }: ConditionContext): Condition {
  const node = whereSeen(plan.fieldVisibility.column(field), of)
  return node ? ofNode(node) : never
}

/** The same for a condition in SQL. */
export function whereVisibleSql(
  field: SearchField,
  sql: Sql,
  { root }: RowScope,
  { plan }: ConditionContext,
): Condition {
  const visibility = plan.fieldVisibility.column(field)
  if (visibility === 'never') return never
  const where = visibilityNode(visibility)
  return ofSql(where ? madeOf([sql], `(${accessSql(where, root)} and ${sql})`) : sql)
}

export function systemField(name: SystemFieldName, context: ConditionContext): Condition {
  return ofTypes(context, (type) => context.plan.fieldVisibility.system(type.table, name))
}

/** Objects for which the caller may use some mask. Of other objects the caller knows only the id and the title. */
export function anyMask(context: ConditionContext): Condition {
  return ofTypes(context, (type) => context.plan.fieldVisibility.any(type.table))
}

export function ofTypes({ plan }: ConditionContext, visibilityOf: (type: TypeFields) => Visibility): Condition {
  if (plan.fieldVisibility.whole) return always
  const node = visibilityOfTypes(
    [...plan.fields.types.values()].map((type) => ({ id: type.table.id, visibility: visibilityOf(type) })),
  )
  return node ? ofNode(node) : always
}

export function textContext({
  plan,
  expansions,
  linked,
  searched = plan.scope.objecttypes ?? [...plan.fields.types.keys()],
}: ConditionContext) {
  const types = searched.flatMap((id) => plan.fields.types.get(id) ?? [])
  return { types, languages: plan.languages, expansions, fieldVisibility: plan.fieldVisibility, linked }
}
