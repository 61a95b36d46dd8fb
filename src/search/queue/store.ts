import { isBulk } from '../../objects/service.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { numbersText } from '../../platform/postgres/literals.ts'
import { byIndexes } from '../../platform/postgres/planning.ts'
import type { IndexSource, ObjectChange } from '../document/source.ts'
import { lanes, type QueueEntry } from './lanes.ts'

export type { QueueEntry }

/** Advisory lock of the indexer: one at a time per database. */
const indexerLock = 7_310_041

/**
 * Makes this process the indexer of the database; false when another process is it. The lock and the planner settings belong to the
 * connection.
 */
export async function lockIndexer(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ locked: boolean }>(
    `select pg_try_advisory_lock($1) as locked, ${byIndexes(true)}`,
    [indexerLock],
    'search-indexer-lock',
  )
  return rows[0]?.locked ?? false
}

/** To be called even if it did not become the indexer. */
export async function unlockIndexer(db: Queryable, locked: boolean): Promise<void> {
  await db.query(
    `select case when $2 then pg_advisory_unlock($1) end, ${byIndexes(false)}`,
    [indexerLock, locked],
    'search-indexer-unlock',
  )
}

/**
 * The next entries of each lane, at most `limit` of each. Only entries after the given `seq` are read, so that entries which are
 * done and not yet cleaned up are not walked through again.
 */
export async function readQueue(
  db: Queryable,
  limit: number,
  after: readonly number[],
): Promise<{ readonly entries: readonly QueueEntry[]; readonly spreading: boolean }> {
  const { rows } = await db.query<QueueEntry | { readonly priority: null }>(
    nextOfEachLane,
    [limit, ...after],
    'search-queue-read',
  )
  const entries = rows.filter((row) => row.priority !== null)
  return { entries, spreading: entries.length < rows.length }
}

const nextOfEachLane = lanes
  .map(
    ({ priority, bulk }, lane) =>
      `(select system_object_id as id, seq, priority, bulk from index_queue
        where priority = ${priority} and bulk = ${bulk} and seq > $${lane + 2} order by seq limit $1)`,
  )
  // Whether dependents of changed objects must still be queued.
  .concat(
    ['l', 'c'].map(
      (kind) => `(select id, seq, null, null from index_spread where kind = '${kind}' order by seq limit 1)`,
    ),
  )
  .join(' union all ')

export async function readSources(db: Queryable, ids: readonly number[]): Promise<IndexSource[]> {
  const { rows } = await db.query<IndexSource>(
    `select o.system_object_id as id, o.objecttype, o.uuid, o.id as "ownId", o.pool_id as "poolId", o.owner_user as "ownerUser",
       o.owner_group as "ownerGroup", o.tags, o.acl, o.private_acl as "privateAcl", o.parents, o.standard, v.content,
       (extract(epoch from o.created_at) * 1000000)::bigint as "createdAt",
       (extract(epoch from o.modified_at) * 1000000)::bigint as "modifiedAt", o.deleted_at is not null as deleted,
       exists (select from object_promise p where p.id = o.system_object_id) as promised
     from object o join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
     where o.system_object_id = any($1::bigint[])`,
    [ids],
    'search-sources',
  )
  return rows
}

/** Ends promises whose objects are indexed. */
export async function endPromises(db: Queryable, ids: readonly number[]): Promise<void> {
  await db.query('delete from object_promise where id = any($1::bigint[])', [numbersText(ids)], 'search-promises-end')
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

/** Queues objects that did not change themselves, unless they are queued already. */
export async function queueAnew(db: Queryable, ids: readonly number[]): Promise<void> {
  await db.query(
    `insert into index_queue (system_object_id, priority, bulk)
     select id, 1, ${isBulk} from unnest($1::bigint[]) as id
     where not exists (select from index_queue where system_object_id = id) order by id`,
    [ids],
    'search-queue-anew',
  )
}

/** Takes entries out of the queue, unless another transaction is just replacing them. */
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

/** Seconds after which an object that could not be indexed is tried again; doubled each time, up to the longest. */
const firstRetry = 5
const longestRetry = 600

/** Records that an object cannot be indexed; returns the number of failures since it was last indexed. */
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

/** Queues objects that could not be indexed, once their pause is over. */
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
