import type { Model, Table } from '../../datamodel/model.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { CallerRights } from '../../rights/service.ts'
import { headsWhere } from '../stored/load.ts'
import { readableSql } from '../stored/readable-sql.ts'
import type { Head } from '../stored/rows.ts'

const smallestChunk = 1000
const largestChunk = 5000

/**
 * System object ids of one page of a type's objects in the order of their `_id`, only those that `visible` accepts; the trash is
 * left out. Root needs one statement. For other callers the database leaves out objects that they may not read, and `visible` is
 * called chunk by chunk, so `limit` and `offset` count the objects that it accepts.
 */
export async function visiblePage(
  q: Queryable,
  model: Model,
  caller: CallerRights,
  table: Table,
  { limit, offset }: { readonly limit: number; readonly offset: number },
  visible: (head: Head) => boolean,
): Promise<number[]> {
  if (caller.root) return wholePage(q, table, limit, offset)
  const page: number[] = []
  let skip = offset
  let after = 0
  let chunk = Math.min(largestChunk, Math.max(smallestChunk, limit + offset))
  for (;;) {
    const candidates = await candidatesAfter(q, model, table, after, chunk, caller)
    for (const candidate of candidates) {
      if (!visible(candidate)) continue
      if (skip > 0) skip -= 1
      else if (page.push(candidate.systemObjectId) === limit) return page
    }
    const last = candidates.at(-1)
    if (!last || candidates.length < chunk) return page
    after = last.id
    chunk = largestChunk
  }
}

async function wholePage(q: Queryable, table: Table, limit: number, offset: number): Promise<number[]> {
  const { rows } = await q.query<{ id: number }>(
    `select system_object_id as id from object where objecttype = $1 and deleted_at is null
     order by objecttype, object.id limit $2 offset $3`,
    [table.id, limit, offset],
    'object-page',
  )
  return rows.map((row) => row.id)
}

async function candidatesAfter(
  q: Queryable,
  model: Model,
  table: Table,
  after: number,
  limit: number,
  caller: CallerRights,
): Promise<Head[]> {
  const { sql, values, shape } = readableSql(model, caller)
  const [type, last, most] = [1, 2, 3].map((place) => `$${values.length + place}`)
  return headsWhere(
    q,
    model,
    `o.objecttype = ${type} and o.id > ${last} and o.deleted_at is null and ${sql}
     order by o.objecttype, o.id limit ${most}`,
    [...values, table.id, after, limit],
    `object-candidates-${shape}`,
  )
}
