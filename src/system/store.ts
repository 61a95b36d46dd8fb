import type { Db } from '../platform/db.ts'

/** Live objects of one type: how many the index has, and how many it could not take. */
export interface ObjectCount {
  objecttype: number
  total: number
  indexed: number
  failed: number
}

/** Counts over the tables of other capabilities: the overview looks at all of them and changes none. */
export async function countObjects(db: Db): Promise<ObjectCount[]> {
  const { rows } = await db.query<ObjectCount>(
    `select object.objecttype, count(*)::int8 as total, count(document.id)::int8 as indexed,
        count(*) filter (where document.id is null and failure.id is not null)::int8 as failed
      from object
      left join search_document document on document.id = object.system_object_id
      left join search_failure failure on failure.id = object.system_object_id
      where object.deleted_at is null
      group by object.objecttype order by object.objecttype`,
  )
  return rows
}

/** Objects whose document is missing or out of date. */
export async function countWaiting(db: Db): Promise<number> {
  const { rows } = await db.query<{ waiting: number }>(
    'select count(distinct system_object_id)::int8 as waiting from index_queue',
  )
  return rows[0]?.waiting ?? 0
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

/** Bytes of the search index with everything that belongs to it. */
export async function indexSize(db: Db): Promise<number> {
  const { rows } = await db.query<{ bytes: number }>(
    `select coalesce(sum(pg_total_relation_size(oid)), 0)::int8 as bytes
      from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace and relname like 'search\\_%'`,
  )
  return rows[0]?.bytes ?? 0
}
