import { numbersText, type Queryable } from '../../platform/postgres/db.ts'
import type { IndexSource, ObjectChange } from '../document/source.ts'

/** One indexer at a time per database holds this advisory lock. */
const indexerLock = 7_310_041

/** One reason to index an object; there can be several at a time. */
export interface QueueEntry {
  readonly id: number
  readonly seq: number
  /** 0 saves, 1 objects that depend on a changed one, 2 a reindex. */
  readonly priority: 0 | 1 | 2
}

/** Becomes the indexer of the database; false when another process is it. Bound to the connection. */
export async function lockIndexer(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [indexerLock])
  return rows[0]?.locked ?? false
}

export async function unlockIndexer(db: Queryable): Promise<void> {
  await db.query('select pg_advisory_unlock($1)', [indexerLock])
}

/**
 * The next entries: saves before what depends on them before a reindex; of each priority those after the given `seq`,
 * so that entries which are done and not yet cleaned up are not walked through again.
 */
export async function readQueue(
  db: Queryable,
  limit: number,
  after: readonly [number, number, number],
): Promise<QueueEntry[]> {
  const { rows } = await db.query<QueueEntry>(
    `select id, seq, priority from (
       (select system_object_id as id, seq, priority from index_queue where priority = 0 and seq > $2 order by seq limit $1)
       union all
       (select system_object_id, seq, priority from index_queue where priority = 1 and seq > $3 order by seq limit $1)
       union all
       (select system_object_id, seq, priority from index_queue where priority = 2 and seq > $4 order by seq limit $1)
     ) q order by priority, seq limit $1`,
    [limit, ...after],
    'search-queue-read',
  )
  return rows
}

export async function readSources(db: Queryable, ids: readonly number[]): Promise<IndexSource[]> {
  const { rows } = await db.query<IndexSource>(
    `select o.system_object_id as id, o.objecttype, o.uuid, o.id as "ownId", o.pool_id as "poolId", o.owner_user as "ownerUser",
       o.owner_group as "ownerGroup", o.tags, o.acl, o.private_acl as "privateAcl", o.parents, o.standard, v.content,
       (extract(epoch from o.created_at) * 1000000)::bigint as "createdAt",
       (extract(epoch from o.modified_at) * 1000000)::bigint as "modifiedAt", o.deleted_at is not null as deleted
     from object o join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
     where o.system_object_id = any($1::bigint[])`,
    [ids],
    'search-sources',
  )
  return rows
}

/** All changes of these objects, by their ids. */
export async function readHistory(db: Queryable, ids: readonly number[]): Promise<Map<number, ObjectChange[]>> {
  const { rows } = await db.query<ObjectChange & { readonly id: number }>(
    `select system_object_id as id, (extract(epoch from at) * 1000000)::bigint as at, operation, by_user as "userId", comment
     from object_version where system_object_id = any($1::bigint[]) order by system_object_id, version`,
    [ids],
    'search-history',
  )
  return Map.groupBy(rows, ({ id }) => id)
}

/** Queues objects that did not change themselves, unless they wait anyway. */
export async function queueAnew(db: Queryable, ids: readonly number[]): Promise<void> {
  await db.query(
    `insert into index_queue (system_object_id, priority)
     select id, 1 from unnest($1::bigint[]) as id
     where not exists (select from index_queue where system_object_id = id) order by id`,
    [ids],
    'search-queue-anew',
  )
}

/**
 * Queues the objects that link to these, or to anything below these in a hierarchy. Entries that wait for the same reason
 * give way to new ones: they may be in the running batch, and what is shown of their objects was computed before the
 * change.
 */
export async function queueLinking(db: Queryable, ids: readonly number[]): Promise<void> {
  await db.query(
    `with recursive changed(id) as (
       select unnest($1::bigint[])
       union
       select o.system_object_id from changed join object o on o.parents @> array[changed.id] and o.parents <> '{}'
     ), linking as materialized (
       select l.from_id as id from changed cross join lateral (
         select from_id from object_link where to_id = changed.id offset 0
       ) l
       union select id from changed where id <> all($1::bigint[])
     ), superseded as (
       delete from index_queue where ctid = any(array(
         select q.ctid from linking cross join lateral (
           select ctid from index_queue where system_object_id = linking.id and priority = 1 and not moved offset 0
         ) q))
     )
     insert into index_queue (system_object_id, priority) select id, 1 from linking order by id`,
    [ids],
    'search-queue-linking',
  )
}

/** Takes entries out of the queue, unless somebody who replaces them is just doing that. */
export async function finishQueue(db: Queryable, entries: readonly QueueEntry[]): Promise<void> {
  const parameters = [entries.map(({ id }) => id), entries.map(({ seq }) => seq)].map(numbersText)
  await db.query(
    `delete from index_queue where ctid = any(array(
       select q.ctid from index_queue q
       join unnest($1::bigint[], $2::bigint[]) as done(id, seq) on done.id = q.system_object_id and done.seq = q.seq
       for update of q skip locked))`,
    parameters,
    'search-queue-finish',
  )
}

export async function clearFailures(db: Queryable, ids: readonly number[]): Promise<void> {
  await db.query('delete from search_failure where id = any($1::bigint[])', [ids], 'search-failures-clear')
}

/** Seconds after which an object that could not be indexed is tried again; each time twice as long, up to the longest. */
const firstRetry = 5
const longestRetry = 600

/** Notes that an object cannot be indexed; gives how often it has failed since it last could. */
export async function recordFailure(db: Queryable, id: number, error: string): Promise<number> {
  const { rows } = await db.query<{ attempts: number }>(
    `insert into search_failure as f (id, error, retry_at) values ($1, $2, now() + make_interval(secs => $3))
     on conflict (id) do update set error = excluded.error, at = now(), attempts = f.attempts + 1,
       retry_at = now() + make_interval(secs => least($4, $3 * 2 ^ least(f.attempts, 20)))
     returning attempts`,
    [id, error, firstRetry, longestRetry],
  )
  return rows[0]?.attempts ?? 1
}

export interface Failed {
  readonly id: number
  readonly error: string
}

/** Queues objects that could not be indexed and whose pause is over. */
export async function queueFailed(db: Queryable): Promise<Failed[]> {
  const { rows } = await db.query<Failed>(
    `with failed as materialized (
       select id, error from search_failure f
       where retry_at <= now() and not exists (select from index_queue where system_object_id = f.id)
     ), queued as (
       insert into index_queue (system_object_id, priority) select id, 1 from failed order by id
     )
     select id, error from failed order by id`,
    [],
    'search-queue-failed',
  )
  return rows
}
