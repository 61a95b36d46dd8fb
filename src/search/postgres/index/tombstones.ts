/**
 * Records who could see objects in places that they have left, so that followers of changes learn that these objects are gone.
 * Records that are too old for any follower are deleted.
 */
import type { Queryable } from '../../../platform/postgres/db.ts'

/** Records who could see these objects until the current batch. */
export async function keep(db: Queryable, ids: readonly number[]): Promise<void> {
  await db.query(
    `insert into search_tombstone (id, place, objecttype, access, until)
     select d.id, d.place, d.objecttype, d.access, s.changed_at from search_document d cross join search_state s
     where d.id = any($1::bigint[]) and not d.deleted
     on conflict (id, place) do update set until = excluded.until`,
    [ids],
    'search-tombstones-keep',
  )
}

/** Deletes records of objects that have returned to a place, because all who could see them there see them again. */
export async function forgetReturned(db: Queryable, ids: readonly number[]): Promise<void> {
  await db.query(
    `delete from search_tombstone f using search_document d
     where f.id = any($1::bigint[]) and d.id = f.id and d.place = f.place and not d.deleted`,
    [ids],
    'search-tombstones-returned',
  )
}

/** Deletes records that ended before this moment. A follower that asks for an earlier time must start anew (`followedSince`). */
export async function forget(db: Queryable, before: Date): Promise<void> {
  await db.query(
    `with gone as (delete from search_tombstone where until < $1 returning until)
     update search_state set followed_since = greatest(followed_since, (select max(until) from gone))
     where exists (select from gone)`,
    [before],
    'search-tombstones-forget',
  )
}

export async function followedSince(db: Queryable): Promise<number | null> {
  const { rows } = await db.query<{ since: number | null }>(
    'select ceil(extract(epoch from followed_since) * 1000000)::bigint as since from search_state',
    [],
    'search-followed-since',
  )
  return rows[0]?.since ?? null
}
