import type { Queryable } from '../../../../platform/postgres/db.ts'
import { isEverything } from '../../../../rights/service.ts'
import type { ChangedObject, ChangesPage, ChangesWindow } from '../../../plan/plan.ts'
import { expressionNode } from '../access/access.ts'
import { accessSql, readableSql } from '../access/visibility.ts'
import { atMicroseconds, microseconds } from '../sql/sql.ts'
import type { Statement } from './statements.ts'

/**
 * Changes in their order. Objects that are found, or that may be read and do not match (any more), have the moment at which their
 * documents last changed. Other objects have the moment at which they became invisible: `search_tombstone` records who could see
 * them until then. So a later change removes nothing from a window unless the next window reports it.
 */
export async function readChanges(db: Queryable, statement: Statement, window: ChangesWindow): Promise<ChangesPage> {
  const { plan, parameters } = statement
  const moment = (at: number): string => atMicroseconds(parameters.add(at, 'bigint'))
  const until = window.until === null ? 'state.changed_at' : `least(state.changed_at, ${moment(window.until)})`
  const types = plan.scope.objecttypes ?? [...plan.fields.types.keys()]
  const ofTypes = (alias: string): string => `${alias}.objecttype = any(${parameters.add(types, 'int[]')})`
  const { rights } = plan.fieldVisibility
  const there = statement.where ?? 'false'
  const begins = (column: string): string => (window.since === null ? '' : `and ${column} >= ${moment(window.since)}`)
  const after = (at: string, id: string): string =>
    window.after
      ? `and (${at}, ${id}) > (${moment(window.after.at)}, ${parameters.add(window.after.id, 'bigint')})`
      : ''
  const limit = parameters.add(window.limit, 'int')
  const known = `((${there}) or (not d.deleted and ${readableSql(plan, 'd')}))`
  // A follower that begins without a moment has seen no objects that could be gone.
  const fresh = window.since === null
  const gone = `union all
         (select f.id, max(f.until) as at, false as there
          from search_tombstone f left join search_document d on d.id = f.id
          where f.until <= ${until} ${begins('f.until')} and ${ofTypes('f')} and ${isEverything(rights) ? 'true' : accessSql(expressionNode(rights), 'f')}
            and not coalesce(${known}, false)
          group by f.id having true ${after('max(f.until)', 'f.id')} order by 2, 1 limit ${limit})`
  const { rows } = await db.query<{ until: number; page: [number, number, boolean][] | null }>(
    ...parameters.statement(
      `select ${microseconds(until)} as until, (
         select json_agg(json_build_array(id, ${microseconds('at')}, there) order by at, id) from (
           select * from (
             (select d.id, d.changed_at as at, (${there}) as there from search_document d
              where d.changed_at <= ${until} ${begins('d.changed_at')} ${after('d.changed_at', 'd.id')} and ${ofTypes('d')}
                and ${fresh ? `(${there})` : known}
              order by d.changed_at, d.id limit ${limit})
             ${fresh ? '' : gone}
           ) both_ order by at, id limit ${limit}
         ) page) as page
       from search_state state`,
    ),
  )
  const objects = (rows[0]?.page ?? []).map(([id, at, isThere]): ChangedObject => ({ id, at, there: isThere }))
  const last = objects.at(-1)
  const next = last && objects.length === window.limit ? { at: last.at, id: last.id } : null
  return { objects, until: rows[0]?.until ?? 0, next }
}
