/**
 * Objects that have moved since they were indexed: another pool, owner, tags, grants. The index shows them to callers who could see
 * them before. So each search checks their current rows, and leaves out the objects that its caller may not see any more. A save
 * records a move in its own transaction, even if the object is not indexed at once.
 */
import type { Queryable } from '../../platform/postgres/db.ts'

export interface MovedObject {
  readonly id: number
  /** null: it was purged. */
  readonly objecttype: number | null
}

export interface Moved {
  readonly objects: readonly MovedObject[]
  /** State of the index in the same snapshot: it includes all other moved objects. */
  readonly moment: number | null
}

/** The moved objects that wait to be indexed. */
export async function readMoved(db: Queryable, momentSql: string | null): Promise<Moved> {
  const { rows } = await db.query<{ objects: readonly MovedObject[] | null; moment: number | null }>(
    `select ${momentSql ?? 'null::bigint'} as moment, (
       select json_agg(json_build_object('id', m.id, 'objecttype', m.objecttype) order by m.id) from (
         select distinct q.system_object_id as id, o.objecttype
         from index_queue q
         left join lateral (select objecttype from object where system_object_id = q.system_object_id limit 1) o on true
         where q.moved) m) as objects`,
    [],
    'search-moved',
  )
  return { objects: rows[0]?.objects ?? [], moment: rows[0]?.moment ?? null }
}

/** Beyond this number of moved objects, they are not checked one by one: only callers who see everything find them. */
export const mostMoved = 2000
