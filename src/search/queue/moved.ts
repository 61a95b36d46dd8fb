/**
 * Objects that have moved since they were indexed: another pool, owner, tags, grants. The index shows them to who could see
 * them before. So each search asks who may see them now, by their rows, and goes without those that its caller has lost.
 * A save says that an object has moved in its own transaction, whether or not it is to be indexed at once.
 */
import type { Queryable } from '../../platform/postgres/db.ts'

export interface MovedObject {
  readonly id: number
  /** null: it was purged. */
  readonly objecttype: number | null
}

/** Those that wait to be indexed. */
export async function readMoved(db: Queryable): Promise<readonly MovedObject[]> {
  const { rows } = await db.query<MovedObject>(
    `select distinct q.system_object_id as id, o.objecttype
     from index_queue q
     left join lateral (select objecttype from object where system_object_id = q.system_object_id limit 1) o on true
     where q.moved order by 1`,
    [],
    'search-moved',
  )
  return rows
}

/** When so many have moved, nobody looks at each of them: none is found by those who do not see everything. */
export const mostLookedAt = 2000
