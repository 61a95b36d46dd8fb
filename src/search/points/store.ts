/** Points in time as they are stored: their owner, their end, and their hits in parts. */
import type { Queryable, Tx } from '../../platform/postgres/db.ts'

/** Ids in one part. */
export const partLength = 1000

/** Makes openings take turns, so that the count is exact; `strg` and a number of our own. */
const lock = 0x73747267_0750n

export interface OpenPoints {
  readonly own: number
  readonly all: number
  /** Seconds until the first of them ends. */
  readonly ownEnds: number
  readonly allEnd: number
}

/** The number of open points, of a caller and in total. No further one is opened until the transaction ends. */
export async function lockOpenPoints(tx: Tx, caller: string): Promise<OpenPoints> {
  await tx.query('select pg_advisory_xact_lock($1)', [lock])
  const { rows } = await tx.query<OpenPoints>(
    `select count(*) filter (where caller = $1)::int as own, count(*)::int as "all",
       coalesce(extract(epoch from min(ends_at) filter (where caller = $1) - now()), 0)::float8 as "ownEnds",
       coalesce(extract(epoch from min(ends_at) - now()), 0)::float8 as "allEnd"
     from search_point where ends_at > now()`,
    [caller],
    'search-point-count',
  )
  return rows[0] as OpenPoints
}

export interface NewPoint {
  readonly id: string
  readonly userId: number
  readonly caller: string
  readonly search: string
  readonly keepAlive: number
  /** Seconds in which its hits must be collected; after that it is removed. */
  readonly within: number
}

export async function insertPoint(tx: Tx, point: NewPoint): Promise<void> {
  await tx.query(
    `insert into search_point (id, user_id, caller, search, keep_alive, ends_at)
     values ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))`,
    [point.id, point.userId, point.caller, point.search, point.keepAlive, point.within],
    'search-point-insert',
  )
}

/** Its lifetime begins when its hits are stored. */
export async function beginPoint(db: Queryable, id: string, hits: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `update search_point set hits = $2, ends_at = now() + make_interval(secs => keep_alive) where id = $1`,
    [id, hits],
    'search-point-begin',
  )
  return rowCount === 1
}

export interface UsedPoint {
  readonly hits: number
  readonly keepAlive: number
  /** Whether it belongs to this search. */
  readonly same: boolean
}

/** Restarts the lifetime of a point that belongs to the search; null: the user has no such point, or it has ended. */
export async function usePoint(
  db: Queryable,
  id: string,
  {
    userId,
    search,
    keepAlive,
  }: { readonly userId: number; readonly search: string; readonly keepAlive: number | null },
): Promise<UsedPoint | null> {
  const { rows } = await db.query<UsedPoint>(
    `with found as (
       select id, hits, coalesce($4, keep_alive) as keep_alive, search = $3 as same from search_point
       where id = $1 and user_id = $2 and hits is not null and ends_at > now()
     ), used as (
       update search_point p set keep_alive = found.keep_alive, ends_at = now() + make_interval(secs => found.keep_alive)
       from found where p.id = found.id and found.same
     )
     select hits, keep_alive as "keepAlive", same from found`,
    [id, userId, search, keepAlive],
    'search-point-use',
  )
  return rows[0] ?? null
}

/** Some hits of a point in their order. */
export async function readHits(db: Queryable, id: string, offset: number, limit: number): Promise<readonly number[]> {
  if (limit === 0) return []
  const first = Math.floor(offset / partLength)
  const { rows } = await db.query<{ ids: number[] }>(
    'select ids from search_point_part where point_id = $1 and part between $2 and $3 order by part',
    [id, first, Math.floor((offset + limit - 1) / partLength)],
    'search-point-hits',
  )
  const start = offset - first * partLength
  return rows.flatMap(({ ids }) => ids).slice(start, start + limit)
}

/** The position of an object among the hits of a point, counted from 0; null: it is no hit. */
export async function positionOf(db: Queryable, id: string, systemObjectId: number): Promise<number | null> {
  const { rows } = await db.query<{ position: number }>(
    `select part * ${partLength} + array_position(ids, $2) - 1 as position from search_point_part
     where point_id = $1 and $2 = any(ids)`,
    [id, systemObjectId],
    'search-point-position',
  )
  return rows[0]?.position ?? null
}

export async function deletePoint(db: Queryable, id: string): Promise<void> {
  await db.query('delete from search_point where id = $1', [id], 'search-point-delete')
}

/** Ends the given points in time that belong to the user. */
export async function deletePoints(db: Queryable, userId: number, ids: readonly string[]): Promise<void> {
  await db.query(
    'delete from search_point where user_id = $1 and id = any($2::uuid[])',
    [userId, `{${ids.join()}}`],
    'search-point-delete-some',
  )
}

/** Removes some of the ended points; returns how many. Does not wait for another process that does the same. */
export async function deleteEnded(db: Queryable, most: number): Promise<number> {
  const { rowCount } = await db.query(
    `delete from search_point where id in (
       select id from search_point where ends_at <= now() order by ends_at limit $1 for update skip locked)`,
    [most],
    'search-point-delete-ended',
  )
  return rowCount
}
