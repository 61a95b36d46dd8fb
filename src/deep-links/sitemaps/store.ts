/** Objects of sitemaps, by ranges of their system object ids: the part of an object does not depend on other objects. */
import type { ReadableSql } from '../../objects/service.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { secondsText } from '../../platform/postgres/moments.ts'
import type { Changed } from './documents.ts'

/** Ids of a part. With addresses of 2,048 characters, the longest that a sitemap may have, it stays below 50 MB. */
export const partSize = 20_000
/** The most entries of one index. */
const mostParts = 50_000

/** Parts in which there is something, each with the last change of what is shown there. */
export async function partsOf(
  q: Queryable,
  { sql, values, shape }: ReadableSql,
): Promise<readonly (Changed & { readonly part: number })[]> {
  const { rows } = await q.query<Changed & { part: number }>(
    `select (o.system_object_id - 1) / ${partSize} + 1 as part, ${secondsText('max(o.modified_at)')} as changed
     from object o where o.deleted_at is null and ${sql} group by 1 order by 1 limit ${mostParts}`,
    [...values],
    `sitemap-parts-${shape}`,
  )
  return rows
}

/** Another text where a part has become something else; null: there is nothing in it. */
export async function stateOf(q: Queryable, { sql, values, shape }: ReadableSql, part: number): Promise<string | null> {
  const { rows } = await q.query<{ state: string | null }>(
    `select md5(string_agg(o.uuid || ' ' || o.modified_at, ' ' order by o.system_object_id)) as state
     from object o where ${within(values.length)} and o.deleted_at is null and ${sql}`,
    [...values, ...rangeOf(part)],
    `sitemap-state-${shape}`,
  )
  return rows[0]?.state ?? null
}

export interface ListedObject extends Changed {
  readonly id: number
  readonly uuid: string
}

/** Objects of a part behind an id, in the order of the ids. */
export async function objectsBehind(
  q: Queryable,
  { sql, values, shape }: ReadableSql,
  { part, behind, limit }: { readonly part: number; readonly behind: number | null; readonly limit: number },
): Promise<readonly ListedObject[]> {
  const [first, last] = rangeOf(part)
  const { rows } = await q.query<ListedObject>(
    `select o.system_object_id as id, o.uuid, ${secondsText('o.modified_at')} as changed
     from object o where ${within(values.length)} and o.deleted_at is null and ${sql}
     order by o.system_object_id limit $${values.length + 3}`,
    [...values, behind ?? first, last, limit],
    `sitemap-objects-${shape}`,
  )
  return rows
}

const within = (known: number): string =>
  `o.system_object_id > $${known + 1}::bigint and o.system_object_id <= $${known + 2}::bigint`

/** Behind the first, up to the second. */
const rangeOf = (part: number): readonly [number, number] => [(part - 1) * partSize, part * partSize]
