import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { onConnection, type Queryable } from '../../../platform/db.ts'
import type { IndexSource } from '../../document/source.ts'
import { documentColumns, type EncodedDocument, nestedColumns, stamp, withCopyStream } from './encode.ts'

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
    `select o.system_object_id as id, o.objecttype, o.pool_id as "poolId", o.owner_user as "ownerUser",
       o.owner_group as "ownerGroup", o.tags, o.acl, o.parents, o.standard, v.content,
       (extract(epoch from o.created_at) * 1000000)::bigint as "createdAt",
       (extract(epoch from o.modified_at) * 1000000)::bigint as "modifiedAt", o.deleted_at is not null as deleted
     from object o join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
     where o.system_object_id = any($1::bigint[])`,
    [ids],
    'search-sources',
  )
  return rows
}

export interface Indexed {
  readonly id: number
  readonly digest: string
  readonly shown: number
  /** Hash of what says who may see it. */
  readonly place: number
}

/** What the index holds of these objects already. */
export async function readIndexed(db: Queryable, ids: readonly number[]): Promise<Map<number, Indexed>> {
  const { rows } = await db.query<Indexed>(
    `select id, replace(digest::text, '-', '') as digest, shown, place
     from search_document where id = any($1::bigint[])`,
    [ids],
    'search-indexed',
  )
  return new Map(rows.map((row) => [row.id, row]))
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
           select ctid from index_queue where system_object_id = linking.id and priority = 1 offset 0
         ) q))
     )
     insert into index_queue (system_object_id, priority) select id, 1 from linking order by id`,
    [ids],
    'search-queue-linking',
  )
}

/**
 * Replaces documents: removes those of `removed`, then adds the others, which are what they are since `changedAt`. Of `moved`
 * it is noted who could see them.
 */
export async function writeDocuments(
  client: pg.PoolClient,
  { removed, moved, changedAt }: { removed: readonly number[]; moved: readonly number[]; changedAt: number },
  documents: readonly EncodedDocument[],
): Promise<void> {
  const db = onConnection(client)
  if (moved.length > 0) await keepFormer(db, moved)
  if (removed.length > 0) await removeDocuments(db, removed)
  for (const document of documents) stamp(document, changedAt)
  const rows = documents.map((document) => document.row)
  if (rows.length > 0) await copy(client, `search_document (${documentColumns})`, rows)
  const nested = documents.flatMap((document) => document.nested)
  if (nested.length > 0) await copy(client, `search_nested (${nestedColumns})`, nested)
}

/** Notes who could see these objects until the batch that is just being written. */
export async function keepFormer(db: Queryable, ids: readonly number[]): Promise<void> {
  await db.query(
    `insert into search_former (id, place, objecttype, access, until)
     select d.id, d.place, d.objecttype, d.access, s.changed_at from search_document d cross join search_state s
     where d.id = any($1::bigint[]) and not d.deleted
     on conflict (id, place) do update set until = excluded.until`,
    [ids],
    'search-former-keep',
  )
}

export async function removeDocuments(db: Queryable, ids: readonly number[]): Promise<void> {
  await db.query('delete from search_document where id = any($1::bigint[])', [ids], 'search-documents-remove')
  await db.query('delete from search_nested where id = any($1::bigint[])', [ids], 'search-nested-remove')
}

async function copy(client: pg.PoolClient, target: string, rows: readonly Buffer[]): Promise<void> {
  await withCopyStream(rows, (bytes) => {
    const stream = client.query(copyFrom(`copy ${target} from stdin with (format binary)`))
    return pipeline(Readable.from([bytes], { objectMode: false }), stream)
  })
}

/** Takes entries out of the queue, unless somebody who replaces them is just doing that. */
export async function finishQueue(db: Queryable, entries: readonly QueueEntry[]): Promise<void> {
  const parameters = [entries.map((entry) => entry.id), entries.map((entry) => entry.seq)]
  await db.query(
    `delete from index_queue where ctid = any(array(
       select q.ctid from index_queue q
       join unnest($1::bigint[], $2::bigint[]) as done(id, seq) on done.id = q.system_object_id and done.seq = q.seq
       for update of q skip locked))`,
    parameters,
    'search-queue-finish',
  )
}

/** A state of the index: its number, and when it began, in microseconds since 1970. Both ascend. */
export interface Generation {
  readonly generation: number
  readonly changedAt: number
}

/** Marks the index as changed, for those who keep results; before what changes, which is stamped with the moment. */
export async function nextGeneration(db: Queryable): Promise<Generation> {
  const { rows } = await db.query<Generation>(
    `update search_state set generation = generation + 1,
       changed_at = greatest(clock_timestamp(), changed_at + interval '1 microsecond')
     returning generation, (extract(epoch from changed_at) * 1000000)::bigint as "changedAt"`,
    [],
    'search-generation-next',
  )
  return rows[0] as Generation
}

export async function readGeneration(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ generation: number }>(
    'select generation from search_state',
    [],
    'search-generation',
  )
  return rows[0]?.generation ?? 0
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

/** Queues objects on which a grant has begun or ended. */
export async function queueExpired(db: Queryable, now: Date): Promise<number> {
  const { rowCount } = await db.query(
    `insert into index_queue (system_object_id, priority)
     select id, 1 from search_document d
     where valid_until <= $1 and not exists (select from index_queue where system_object_id = d.id) order by id`,
    [now],
    'search-queue-expired',
  )
  return rowCount
}

/** Sorts waiting entries into the index, so that searches need not read through them. */
export async function settle(db: Queryable): Promise<void> {
  await db.query(
    `select gin_clean_pending_list('search_document_lexemes_idx'), gin_clean_pending_list('search_nested_lexemes_idx'),
       gin_clean_pending_list('search_term_trigram_idx')`,
  )
}
