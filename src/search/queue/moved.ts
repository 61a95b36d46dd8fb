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

export interface Moved {
  readonly objects: readonly MovedObject[]
  /** State of the index in the same snapshot: it has all other objects that have moved. */
  readonly moment: number | null
}

/** Those that wait to be indexed. */
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

/** When so many have moved, nobody looks at each of them: none is found by those who do not see everything. */
export const mostLookedAt = 2000
