import type { Model } from '../../datamodel/model.ts'
import { all, any, type CallerRights, objectSql, type ReadExpression } from '../../rights/service.ts'
import { nameOf, objectsWithGrants, type ReadableSql } from '../stored/readable-sql.ts'
import { maskAccess, showingMasks } from './access.ts'
import type { MaskDeps } from './preference.ts'

/** The objects that the caller may read with at least one mask: of others it knows only the titles. */
export function shownSql(deps: MaskDeps, model: Model, caller: CallerRights): ReadableSql {
  const access = maskAccess(deps, caller)
  const tables = [...model.objecttypes.values()].map((table) => ({
    id: table.id,
    where: access(table).where(showingMasks(table).any),
  }))
  const always = tables.filter(({ where }) => where === 'always').map(({ id }) => id)
  const places = tables.flatMap(({ id, where }): ReadExpression[] =>
    typeof where === 'string' ? [] : [all<ReadExpression>([{ is: 'types', ids: [id] }, where.place])],
  )
  const withMask = any<ReadExpression>([{ is: 'types', ids: always }, ...places])
  const values: unknown[] = []
  const sql = objectSql(all([caller.readable(), withMask]), {
    alias: 'o',
    withGrants: objectsWithGrants(model),
    parameter: (value, type) => `$${values.push(value)}::${type}`,
  })
  return { sql, values, shape: nameOf(sql) }
}
