import type { Model } from '../../datamodel/model.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { numbersText } from '../../platform/postgres/literals.ts'
import type { CallerRights } from '../../rights/service.ts'
import { readableSql } from './readable-sql.ts'

/** Children of `x.id` that are not in the trash. The second part is the condition of the index on parents. */
const child = `o.parents @> array[x.id] and o.parents <> '{}' and o.deleted_at is null`

/** The objects, of those given, that have a child that the caller may read; children in the trash do not count. */
export async function withReadableChildren(
  q: Queryable,
  model: Model,
  caller: CallerRights,
  systemObjectIds: readonly number[],
): Promise<Set<number>> {
  if (systemObjectIds.length === 0) return new Set()
  const { sql, values } = readableSql(model, caller)
  // Without a name, so that it is planned each time: made while the table was small, a plan would read all objects for
  // as long as the connection keeps it.
  const { rows } = await q.query<{ id: number }>(
    `select x.id from unnest($${values.length + 1}::bigint[]) as x(id) where exists (select from object o where ${child} and ${sql})`,
    [...values, numbersText(systemObjectIds)],
  )
  return new Set(rows.map((row) => row.id))
}
