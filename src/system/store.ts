import type { Db } from '../platform/postgres/db.ts'

/** Live objects of one type, and the number of those that could not be indexed. */
export interface ObjectCount {
  objecttype: number
  total: number
  failed: number
}

/** Counts rows in the tables of other capabilities: the overview reads all of them and changes none. */
export async function countObjects(db: Db): Promise<ObjectCount[]> {
  const { rows } = await db.query<ObjectCount>(
    `select object.objecttype, count(*)::int8 as total, count(failure.id)::int8 as failed
      from object
      left join search_failure failure on failure.id = object.system_object_id
      where object.deleted_at is null
      group by object.objecttype order by object.objecttype`,
  )
  return rows
}

/** Number of objects whose contents are read to estimate the size. */
const sampled = 5000

/** Bytes of the contents of live objects as JSON, on average, by type; of `total` objects a sample. */
export async function averageSizes(db: Db, total: number): Promise<ReadonlyMap<number, number>> {
  if (total === 0) return new Map()
  const { rows } = await db.query<{ objecttype: number; bytes: number }>(
    `select o.objecttype, round(avg(octet_length(v.content::text)))::int8 as bytes
     from object o tablesample bernoulli ($1)
     join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
     where o.deleted_at is null group by o.objecttype`,
    [Math.min(100, (100 * sampled) / total)],
  )
  return new Map(rows.map(({ objecttype, bytes }) => [objecttype, bytes]))
}

/** Objects whose document is missing or out of date. */
export async function countWaiting(db: Db): Promise<number> {
  const { rows } = await db.query<{ waiting: number }>(
    'select count(distinct system_object_id)::int8 as waiting from index_queue',
  )
  return rows[0]?.waiting ?? 0
}

/** Renditions by status, and files that wait for some. */
export async function countFiles(db: Db) {
  const { rows } = await db.query<{ pending: number; queued: number; stats: { status: string; count: number }[] }>(
    `with files as (
       select file_id, bool_or(status = 'processing') as begun from file_rendition
       where status in ('pending', 'processing') group by file_id)
     select (select count(*)::int8 from files) as pending, (select count(*)::int8 from files where not begun) as queued,
       coalesce((select json_agg(json_build_object('status', status, 'count', count) order by status)
         from (select status, count(*) from file_rendition group by status) stats), '[]') as stats`,
  )
  return rows[0] ?? { pending: 0, queued: 0, stats: [] }
}

/** Records by base type. */
export async function countBaseTypes(db: Db): Promise<Record<string, number>> {
  const { rows } = await db.query<Record<string, number>>(
    `select
      (select count(*) from pool) as pool,
      (select count(*) from "user") as "user",
      (select count(*) from "group") as "group",
      (select count(*) from tag) as tag,
      (select count(*) from event) as event`,
  )
  return rows[0] ?? {}
}
