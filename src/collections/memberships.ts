/** The lists that objects are in, for the object service. */
import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { numbersText } from '../platform/postgres/literals.ts'
import { renderName } from './render.ts'
import type { CollectionName } from './schema.ts'
import type { KeptShares } from './sharing/snapshot.ts'
import { seenBy } from './store.ts'

/** The most collections that are answered for one object. */
const mostTold = 1000

/** The collections that each of the objects is in, as far as the caller may see them. */
export async function collectionsOf(
  q: Queryable,
  actor: Actor,
  systemObjectIds: readonly number[],
): Promise<ReadonlyMap<number, readonly CollectionName[]>> {
  const { sql, values, name } = seenBy(actor)
  const { rows } = await q.query<{
    objectId: number
    id: number
    parentId: number | null
    version: number
    displayname: Readonly<Record<string, string>>
  }>(
    `${sql} select e.object_id as "objectId", c.* from (
       select e.object_id, e.collection_id, row_number() over (partition by e.object_id order by e.collection_id) as place
       from unnest($3::bigint[]) as n (id) cross join lateral (
         select object_id, collection_id from collection_object where object_id = n.id order by collection_id
         ${actor.isRoot ? 'limit $4' : 'offset 0'}) e
       ${actor.isRoot ? '' : 'join seen s on s.id = e.collection_id'}) e
     cross join lateral (
       select id, parent_id as "parentId", version, displayname from collection where id = e.collection_id limit 1) c
     where e.place <= $4 order by e.object_id, e.place`,
    [...values, numbersText(systemObjectIds), mostTold],
    `collections-of-objects${name}`,
  )
  const found = Map.groupBy(rows, ({ objectId }) => objectId)
  return new Map([...found].map(([id, own]) => [id, own.map((one) => renderName(one.id, one, true))]))
}

/** Most visible collections of a caller, for searches of objects by their lists. */
const mostSeen = 100_000

/** The collections that the caller may see; null: all. @throws {AppError} `SearchTooCostly` for too many of them */
export async function collectionsSeen(q: Queryable, actor: Actor): Promise<readonly number[] | null> {
  if (actor.isRoot) return null
  const { sql, values, name } = seenBy(actor)
  const { rows } = await q.query<{ id: number }>(
    `${sql} select id from seen limit $3`,
    [...values, mostSeen + 1],
    `collections-all-seen${name}`,
  )
  if (rows.length > mostSeen) throw new AppError('SearchTooCostly', { name: 'collections', most: mostSeen })
  return rows.map(({ id }) => id)
}

/** Removes objects in the trash from all lists. Objects are locked before collections, as in changes of lists. */
export async function leaveCollections(
  sharing: Pick<KeptShares, 'changed'>,
  tx: Tx,
  systemObjectIds: readonly number[],
): Promise<void> {
  const ids = numbersText(systemObjectIds)
  const { rows } = await tx.query(
    `select from collection where id in (select collection_id from collection_object where object_id = any($1::bigint[]))
     order by id for no key update`,
    [ids],
    'collections-lock-of-objects',
  )
  if (rows.length === 0) return
  await tx.query(
    `with gone as (delete from collection_object where object_id = any($1::bigint[]) returning collection_id)
     update collection c set object_count = object_count - g.count
     from (select collection_id as id, count(*)::int as count from gone group by 1) g where c.id = g.id`,
    [ids],
    'collections-leave',
  )
  await sharing.changed(tx)
}
