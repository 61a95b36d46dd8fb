import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { onConnection, type Queryable } from '../../../platform/postgres/db.ts'
import type { Leftover } from '../../queue/target.ts'
import { buildLock } from './building.ts'
import { documentColumns, type EncodedDocument, nestedColumns, stamp, withCopyStream } from './encode.ts'
import { replaceDocuments } from './previous-documents.ts'
import { forgetReturned, keep } from './tombstones.ts'

export interface Indexed {
  readonly id: number
  readonly digest: string
  readonly shown: number
  /** null: it was written by a release without this column. */
  readonly parentsHash: number | null
  /** Hash of the access lexemes. */
  readonly place: number
}

/** The index data of these objects. */
export async function readIndexed(db: Queryable, ids: readonly number[]): Promise<Map<number, Indexed>> {
  const { rows } = await db.query<Indexed>(
    `select id, replace(digest::text, '-', '') as digest, shown, place, parents_hash as "parentsHash"
     from search_document where id = any($1::bigint[])`,
    [ids],
    'search-indexed',
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/**
 * Replaces documents: removes the `removed` ones, then adds the others, which have their content since `changedAt`. For `moved`
 * documents, records who could see them.
 */
export async function writeDocuments(
  client: pg.PoolClient,
  { removed, moved, changedAt }: { removed: readonly number[]; moved: readonly number[]; changedAt: number },
  documents: readonly EncodedDocument[],
): Promise<void> {
  const db = onConnection(client)
  if (moved.length > 0) await keep(db, moved)
  if (removed.length > 0) await removeDocuments(db, removed)
  for (const document of documents) stamp(document, changedAt)
  const rows = documents.map((document) => document.row)
  if (rows.length > 0) await copy(client, `search_document (${documentColumns})`, rows)
  const nested = documents.flatMap((document) => document.nested)
  if (nested.length > 0) await copy(client, `search_nested (${nestedColumns})`, nested)
  if (moved.length > 0) await forgetReturned(db, moved)
}

/** Removes documents, in a transaction that has called `nextGeneration`. */
export async function removeDocuments(db: Queryable, ids: readonly number[]): Promise<void> {
  await replaceDocuments(db, ids)
  await db.query('delete from search_nested where id = any($1::bigint[])', [ids], 'search-nested-remove')
}

export async function copy(client: pg.PoolClient, target: string, rows: readonly Buffer[]): Promise<void> {
  await withCopyStream(rows, (bytes) => {
    const stream = client.query(copyFrom(`copy ${target} from stdin with (format binary)`))
    return pipeline(Readable.from([bytes], { objectMode: false }), stream)
  })
}

/** A state of the index: its number, and when it began, in microseconds since 1970. Both ascend. */
export interface Generation {
  readonly generation: number
  readonly changedAt: number
  /** How often sets were removed. None are removed until the transaction ends. */
  readonly removals: number
}

/**
 * Marks the index as changed, for caches of results. To be called before documents are changed, which get the moment as their
 * timestamp. Removing sets takes turns with transactions that have called this. `removed`: the number of documents to be removed,
 * whether or not others replace them.
 */
export async function nextGeneration(db: Queryable, removed: number): Promise<Generation> {
  const { rows } = await db.query<Generation>(
    `update search_state set generation = generation + 1, rewritten = rewritten + $1,
       changed_at = greatest(clock_timestamp(), changed_at + interval '1 microsecond')
     returning generation, (extract(epoch from changed_at) * 1000000)::bigint as "changedAt", set_removals as removals`,
    [removed],
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

/** Moment of the last batch, in microseconds since 1970. */
export const momentSql = '(select (extract(epoch from changed_at) * 1000000)::bigint from search_state)'

export async function readMoment(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ at: number }>(`select ${momentSql} as at`, [], 'search-moment')
  return rows[0]?.at ?? 0
}

/** How often sets were removed. */
export async function readRemovals(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ removals: number }>('select set_removals as removals from search_state')
  return rows[0]?.removals ?? 0
}

/** Objects with a grant that has begun or ended. */
export async function readExpired(db: Queryable, now: Date): Promise<readonly number[]> {
  const { rows } = await db.query<{ id: number }>(
    // With a lower bound: otherwise, without statistics, a third of all documents would be expected, in the order of their ids.
    `select id from search_document where valid_until between '-infinity' and $1 order by id`,
    [now],
    'search-expired',
  )
  return rows.map(({ id }) => id)
}

/** Documents of objects that no longer exist. */
export async function readLeftovers(
  db: Queryable,
  objecttypes: readonly number[] | null,
): Promise<readonly Leftover[]> {
  const { rows } = await db.query<Leftover>(
    `select d.id, d.objecttype from search_document d
     where ($1::int[] is null or d.objecttype = any($1)) and not exists (select from object where system_object_id = d.id)`,
    [objecttypes],
    'search-leftovers',
  )
  return rows
}

/** Documents of live objects by type. */
export async function countDocuments(db: Queryable): Promise<ReadonlyMap<number, number>> {
  const { rows } = await db.query<{ objecttype: number; count: number }>(
    'select objecttype, count(*)::int as count from search_document where not deleted group by objecttype',
    [],
    'search-documents-count',
  )
  return new Map(rows.map(({ objecttype, count }) => [objecttype, count]))
}

/** Bytes of all tables of the search, with everything that belongs to them. */
export async function indexSize(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ bytes: number }>(
    `select coalesce(sum(pg_total_relation_size(oid)), 0)::int8 as bytes
     from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace and relname like 'search\\_%'`,
    [],
    'search-size',
  )
  return rows[0]?.bytes ?? 0
}

/** Sorts pending entries into the index, so that searches need not read through them. Skipped while the index is being rebuilt. */
export async function settle(db: Queryable): Promise<void> {
  await db.query(
    `select gin_clean_pending_list('search_document_lexemes_idx'), gin_clean_pending_list('search_nested_lexemes_idx'),
       gin_clean_pending_list('search_term_trigram_idx') from (select pg_try_advisory_xact_lock_shared($1) as free) l where free`,
    [buildLock],
  )
}
