import { objectSql } from '../../../../rights/service.ts'
import type { Clause, SearchPlan } from '../../../plan/plan.ts'

/**
 * Excludes objects in the trash that may not be found; null: all are found. The right to delete an object is not part of its
 * document, so it is checked on the stored object.
 */
export function trashSql(
  { deleted }: Pick<SearchPlan['scope'], 'deleted'>,
  alias: string,
  { model }: Pick<SearchPlan, 'model'>,
  parameter: (value: string | number, type: string) => string,
): string | null {
  if (deleted === true) return null
  if (deleted === false) return `not ${alias}.deleted`
  const withGrants = [...model.tablesById.values()].filter((table) => table.aclTable).map((table) => table.id)
  const { right, when } = deleted
  const may = objectSql(when, { alias: 'trashed', withGrants, right, parameter })
  // Not `exists`: PostgreSQL may turn it into a table of all objects that fulfil it, which pays only if many matches are in the
  // trash.
  return `(not ${alias}.deleted or (select ${may} from object trashed where trashed.system_object_id = ${alias}.id))`
}

/** Whether results depend on data whose changes do not change the index: they are computed anew each time. */
export function isTimely({ scope, aggregations }: Pick<SearchPlan, 'scope' | 'aggregations'>): boolean {
  if (typeof scope.deleted === 'object' || asksOutside(scope.where)) return true
  return aggregations.some((each) => each.kind === 'facet' && ['collections', 'collectors'].includes(each.field.kind))
}

/** Lists of collections and publish records are not part of documents. */
function asksOutside(clause: Clause): boolean {
  switch (clause.is) {
    case 'and':
    case 'or':
      return clause.of.some(asksOutside)
    case 'not':
    case 'row':
      return asksOutside(clause.of)
    case 'linked':
    case 'joined':
      return asksOutside(clause.of.where)
    default:
      return clause.is === 'collected' || clause.is === 'published'
  }
}
