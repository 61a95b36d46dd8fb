import { isEverything } from '../../../../rights/service.ts'
import type { TypeFields } from '../../../plan/fields.ts'
import type { Clause } from '../../../plan/plan.ts'
import { belowObject, belowPool, inPool, ofObjecttype, standsBelow } from '../../document/lexemes.ts'
import type { RowScope } from '../access/predicate.ts'
import { readableSql, visibilityNode, whereSeen } from '../access/visibility.ts'
import { type Condition, never, ofNode } from '../sql/conditions.ts'
import { allOf, anyOf, lexeme } from '../sql/tsquery.ts'
import { type ConditionContext, disjunction } from './context.ts'

export function withinPool(id: number, { plan }: ConditionContext): string | string[] {
  const pools = plan.fieldVisibility.poolsWithin(id)
  return pools === 'all' ? belowPool(id) : pools.map(inPool)
}

/** Objects below others in a hierarchy, if the caller sees their parents. */
export function belowCondition(
  { objecttype, ids }: Extract<Clause, { is: 'below' }>,
  place: RowScope,
  context: ConditionContext,
): Condition {
  const { plan, parameters } = context
  const hierarchies = [...plan.fields.types.values()].filter(
    ({ table: { id, hierarchical, polyhierarchical } }) =>
      (hierarchical || polyhierarchical) && (objecttype === null || objecttype === id),
  )
  // In a polyhierarchy the caller knows only those parents that they may read.
  const readsAll = isEverything(plan.fieldVisibility.rights)
  const isKnown = ({ table }: TypeFields): boolean => readsAll || !table.polyhierarchical
  const among = (types: readonly TypeFields[], readable: string | null): Condition => {
    const seen = types.flatMap(
      ({ table }) => whereSeen(plan.fieldVisibility.system(table, 'parent'), lexeme(ofObjecttype(table.id))) ?? [],
    )
    if (seen.length === 0 || ids.length === 0) return never
    if (objecttype === null && readable === null) {
      return ofNode(allOf([anyOf(seen), anyOf(ids.map((id) => lexeme(standsBelow(id))))]))
    }
    const wanted = parameters.add(ids, 'bigint[]')
    const own = objecttype === null ? `t.system_object_id = any(${wanted})` : ownIds(objecttype, wanted)
    const above = `select string_agg('${belowObject}' || t.system_object_id, '|')::tsquery
      from object t where ${own}${readable ?? ''}`
    return { never: false, node: anyOf(seen), sql: `${place.alias}.lexemes @@ (${above})` }
  }
  const ownIds = (type: number, wanted: string): string =>
    `t.objecttype = ${parameters.add(type, 'int')} and t.id = any(${wanted})`
  const readable = readsAll
    ? null
    : ` and exists (select from search_document r where r.id = t.system_object_id and ${readableSql(plan, 'r')})`
  return disjunction(
    [
      among(hierarchies.filter(isKnown), null),
      among(
        hierarchies.filter((type) => !isKnown(type)),
        readable,
      ),
    ],
    place,
    context,
  )
}

export function childOfCondition(
  { objecttype, ids, none }: Extract<Clause, { is: 'childOf' }>,
  alias: string,
  { plan, parameters }: ConditionContext,
): Condition {
  const table = plan.fields.types.get(objecttype)?.table
  if (!table) return never
  const type = parameters.add(objecttype, 'int')
  // In a polyhierarchy parents that the caller may not read are shown without their `_id`.
  const readable =
    table.polyhierarchical && !plan.fieldVisibility.whole
      ? ` and exists (select from search_document t where t.id = p.system_object_id and ${readableSql(plan, 't')})`
      : ''
  const parents = `array(select p.system_object_id from object p where p.objecttype = ${type}
    and p.id = any(${parameters.add(ids, 'bigint[]')})${readable})`
  // The index on parents answers the first part of each branch.
  const children = `select c.system_object_id from object c
    where c.parents && ${parents} and c.parents <> '{}' and c.objecttype = ${type}`
  const tops = `select c.system_object_id from object c where c.objecttype = ${type} and c.parents = '{}'`
  const visibility = plan.fieldVisibility.system(table, 'parent')
  if (visibility === 'never') return never
  const sql = `${alias}.id in (${none ? `${children} union all ${tops}` : children})`
  return { never: false, node: visibilityNode(visibility), sql }
}
