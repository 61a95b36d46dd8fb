import type { Model, Table } from '../../datamodel/model.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { numbersText } from '../../platform/postgres/literals.ts'
import type { Operation } from './content.ts'
import {
  type Head,
  type HeadRow,
  type HistoricRow,
  head,
  heads,
  historic,
  type LatestRow,
  type Loaded,
  latest,
  latestVersion,
  loadedOf,
  toLoaded,
} from './rows.ts'

/**
 * Reads objects in sets: each function is one statement, however many objects there are. Objects whose type was removed from the
 * datamodel are left out: there is no mask to show them.
 */

/** The ids of objects of a type; ids of other types match nothing. */
export type Address = { readonly by: 'id' | 'system_object_id'; readonly ids: readonly number[] }

const conditions = {
  id: 'o.objecttype = $1 and o.id = any($2::bigint[])',
  system_object_id: 'o.objecttype = $1 and o.system_object_id = any($2::bigint[])',
}

/** Latest versions, in no order; `seen` is called for each with the row version of its row (row-versions.ts). */
export async function loadLatest(
  q: Queryable,
  model: Model,
  systemObjectIds: readonly number[],
  seen?: (object: Loaded, rowVersion: string) => void,
): Promise<Loaded[]> {
  if (systemObjectIds.length === 0) return []
  const { rows } = await q.query<{ r: LatestRow; s: string }>(
    `select ${latest} as r, o.xmin::text as s from object o ${latestVersion} where o.system_object_id = any($1::bigint[])`,
    [systemObjectIds],
    'objects-latest',
  )
  const result: Loaded[] = []
  for (const { r, s } of rows) {
    const object = toLoaded(model, r)
    if (!object) continue
    result.push(object)
    seen?.(object, s)
  }
  return result
}

/**
 * Versions of objects in the order of their ids, newest first, after the given one: all of them, or only the version with the given
 * number.
 */
export async function loadVersions(
  q: Queryable,
  model: Model,
  table: Table,
  address: Address,
  version: number | null,
  after: Pick<Loaded, 'id' | 'version'> | null,
  limit: number,
): Promise<Loaded[]> {
  const { rows } = await q.query<{ r: HistoricRow }>(
    `select ${historic} as r from object o join object_version v on v.system_object_id = o.system_object_id
     where ${conditions[address.by]} and ($3::int is null or v.version = $3)
       and ($4::bigint is null or o.id > $4 or (o.id = $4 and v.version < $5))
     order by o.id, v.version desc limit $6`,
    [table.id, address.ids, version, after?.id ?? null, after?.version ?? null, limit],
    `object-versions-${address.by}`,
  )
  return loadedOf(model, rows)
}

/** Versions of objects by their numbers: `versions[i]` belongs to `ids[i]`; in no order. */
export async function loadNumbered(
  q: Queryable,
  model: Model,
  ids: readonly number[],
  versions: readonly number[],
): Promise<Loaded[]> {
  if (ids.length === 0) return []
  const { rows } = await q.query<{ r: HistoricRow }>(
    `select ${historic} as r
     from unnest($1::bigint[], $2::int[]) as x(id, version)
     join object o on o.system_object_id = x.id
     join object_version v on v.system_object_id = x.id and v.version = x.version`,
    [ids, versions],
    'objects-numbered',
  )
  return loadedOf(model, rows)
}

/** Objects as they were at a time: `at[i]` belongs to `ids[i]`. Objects created later are in their first version. */
export async function loadAsOf(
  q: Queryable,
  model: Model,
  ids: readonly number[],
  at: readonly Date[],
): Promise<{ asOf: number; object: Loaded }[]> {
  if (ids.length === 0) return []
  const { rows } = await q.query<{ n: number; r: HistoricRow }>(
    `select x.n, ${historic} as r
     from unnest($1::bigint[], $2::timestamptz[]) with ordinality as x(id, at, n)
     join object o on o.system_object_id = x.id
     join lateral (
       select * from object_version h where h.system_object_id = x.id
       order by (h.at <= x.at) desc, case when h.at <= x.at then -h.version else h.version end limit 1
     ) v on true`,
    [ids, at],
    'objects-as-of',
  )
  return rows.flatMap(({ n, r }) => {
    const object = toLoaded(model, r)
    return object ? [{ asOf: at[n - 1]?.getTime() ?? 0, object }] : []
  })
}

/** Heads of objects, in no order. */
export async function loadHeads(q: Queryable, model: Model, systemObjectIds: readonly number[]): Promise<Head[]> {
  if (systemObjectIds.length === 0) return []
  return headsWhere(q, model, 'o.system_object_id = any($1::bigint[])', [systemObjectIds], 'objects-heads')
}

/** Rows of heads with their row versions, by system object id. */
export async function loadStampedHeads(
  q: Queryable,
  systemObjectIds: ReadonlySet<number>,
): Promise<ReadonlyMap<number, { readonly rowVersion: string; readonly r: HeadRow }>> {
  const { rows } = await q.query<{ rowVersion: string; r: HeadRow }>(
    `select o.xmin::text as "rowVersion", ${head} as r from object o where o.system_object_id = any($1::bigint[])`,
    [numbersText(systemObjectIds)],
    'objects-stamped-heads',
  )
  return new Map(rows.map((row) => [row.r[0], row]))
}

/** Heads by a condition on `object o`, in its order if it names one. `name` is the name of the prepared statement. */
export async function headsWhere(
  q: Queryable,
  model: Model,
  condition: string,
  values: readonly unknown[],
  name: string,
): Promise<Head[]> {
  const { rows } = await q.query<{ r: HeadRow }>(`select ${head} as r from object o where ${condition}`, values, name)
  return heads(
    model,
    rows.map((row) => row.r),
  )
}

/** The ancestors of the given objects, each once; the given ones are only included when they are ancestors. */
export async function loadAncestors(q: Queryable, model: Model, parents: readonly number[]): Promise<Head[]> {
  if (parents.length === 0) return []
  const { rows } = await q.query<{ r: HeadRow }>(
    `with recursive up as (
       select system_object_id, parents from object where system_object_id = any($1::bigint[])
       union
       select p.system_object_id, p.parents from up join object p on p.system_object_id = any(up.parents)
     )
     select r from up cross join lateral (
       select ${head} as r from object o where o.system_object_id = up.system_object_id limit 1
     ) found`,
    [parents],
    'objects-ancestors',
  )
  return heads(
    model,
    rows.map((row) => row.r),
  )
}

/** An object below another: through a link column, or (null) as a child in the hierarchy. */
export interface LoadedReverse {
  readonly to: number
  readonly column: number | null
  readonly object: Loaded
}

const siblingOrder = 'order by o.child_idx nulls last, o.system_object_id'

/** Objects that link to one of the given ones through one of the columns, in the order of siblings; at most `limit`. */
export async function loadReverses(
  q: Queryable,
  model: Model,
  to: readonly number[],
  columns: readonly number[],
  limit: number,
): Promise<LoadedReverse[]> {
  const { rows } = await q.query<{ to: number; column: number; r: LatestRow }>(
    `select l.to_id as "to", l.column_id as "column", ${latest} as r
     from object_link l join object o on o.system_object_id = l.from_id ${latestVersion}
     where l.to_id = any($1::bigint[]) and l.column_id = any($2::int[]) ${siblingOrder} limit $3`,
    [to, columns, limit],
    'objects-reverse',
  )
  return reversesOf(model, rows)
}

/** Children in the hierarchy, in their order; at most `limit`. */
export async function loadChildren(
  q: Queryable,
  model: Model,
  parents: readonly number[],
  limit: number,
): Promise<LoadedReverse[]> {
  const { rows } = await q.query<{ to: number; column: null; r: LatestRow }>(
    `select p.id as "to", null as "column", ${latest} as r
     from object o ${latestVersion} join unnest($1::bigint[]) as p(id) on p.id = any(o.parents)
     where o.parents && $1::bigint[] and o.parents <> '{}' ${siblingOrder} limit $2`,
    [parents, limit],
    'objects-children',
  )
  return reversesOf(model, rows)
}

/** One entry of an object's history. */
export interface HistoryEntry {
  readonly systemObjectId: number
  readonly version: number
  readonly operation: Operation
  readonly at: Date
  readonly byUser: number | null
  readonly comment: string | null
}

/** The history of objects without contents, newest first. */
export async function loadHistory(q: Queryable, systemObjectIds: readonly number[]): Promise<HistoryEntry[]> {
  if (systemObjectIds.length === 0) return []
  const { rows } = await q.query<HistoryEntry>(
    `select system_object_id as "systemObjectId", version, operation, at, by_user as "byUser", comment
     from object_version where system_object_id = any($1::bigint[]) order by system_object_id, version desc`,
    [systemObjectIds],
    'objects-history',
  )
  return rows
}

function reversesOf(
  model: Model,
  rows: readonly { to: number; column: number | null; r: LatestRow }[],
): LoadedReverse[] {
  return rows.flatMap(({ to, column, r }) => {
    const object = toLoaded(model, r)
    return object ? [{ to, column, object }] : []
  })
}
