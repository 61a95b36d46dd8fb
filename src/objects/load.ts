import type { Model, Table } from '../datamodel/model.ts'
import type { Queryable } from '../platform/db.ts'
import type { Guarded, StoredGrant } from '../rights/service.ts'
import type { Content, Operation, Standard, StoredObject } from './stored.ts'

/**
 * Reads objects in sets: each function is one statement, however many objects there are. Objects whose type is gone
 * from the datamodel are left out: nothing can show them.
 *
 * A row comes as one JSON array. Parsing one JSON text is three times as fast as having the driver parse 25 columns
 * (bench/render.ts), and every read of an object passes here.
 */

/** What an object is without its content: enough to show it as a link. */
export type Head = Pick<
  StoredObject,
  | 'systemObjectId'
  | 'table'
  | 'id'
  | 'version'
  | 'uuid'
  | 'poolId'
  | 'ownerUser'
  | 'ownerGroup'
  | 'tags'
  | 'acl'
  | 'parents'
  | 'standard'
  | 'deletedAt'
> & {
  /** What rights look at: always the latest state, also for an old version. */
  readonly guard: Guarded
}

export type Loaded = StoredObject & Pick<Head, 'guard'>

/** Columns of a head, in the order of `HeadRow`. `object` has the state of the latest version. */
const headColumns = `o.system_object_id, o.objecttype, o.id, o.version, o.uuid, o.pool_id, o.owner_user, o.owner_group, o.tags,
  o.acl, o.parents, o.standard, o.deleted_at`

type HeadRow = readonly [
  systemObjectId: number,
  objecttype: number,
  id: number,
  version: number,
  uuid: string,
  poolId: number | null,
  ownerUser: number | null,
  ownerGroup: number | null,
  tags: number[],
  acl: readonly StoredGrant[] | null,
  parents: number[],
  standard: Standard,
  deletedAt: string | null,
]

/** The rest of an object in one of its versions. */
const versionColumns = `o.child_idx, o.created_at, o.created_by, o.modified_at,
  v.operation, v.at, v.by_user, v.comment, v.content`

type VersionRow = readonly [
  childIdx: number | null,
  createdAt: string,
  createdBy: number | null,
  modifiedAt: string,
  operation: Operation,
  at: string,
  byUser: number | null,
  comment: string | null,
  content: Content,
]

/** What a version says of itself where the head has the latest state. */
const historyColumns = `v.version, v.pool_id, v.owner_user, v.owner_group, v.tags, v.acl, v.parents`

type HistoryRow = readonly [
  version: number,
  poolId: number | null,
  ownerUser: number | null,
  ownerGroup: number | null,
  tags: number[],
  acl: readonly StoredGrant[] | null,
  parents: number[],
]

const head = `json_build_array(${headColumns})`
const latest = `json_build_array(${headColumns}, ${versionColumns})`
const historic = `json_build_array(${headColumns}, ${versionColumns}, ${historyColumns})`
const latestVersion = 'join object_version v on v.system_object_id = o.system_object_id and v.version = o.version'

type LatestRow = readonly [...HeadRow, ...VersionRow]
type HistoricRow = readonly [...HeadRow, ...VersionRow, ...HistoryRow]

/** Which objects of a type are meant; ids of other types match nothing. */
export type Address = { readonly by: 'id' | 'system_object_id'; readonly ids: readonly number[] }

const conditions = {
  id: 'o.objecttype = $1 and o.id = any($2::bigint[])',
  system_object_id: 'o.objecttype = $1 and o.system_object_id = any($2::bigint[])',
}

/** An object and, when they were loaded with it, the objects that it links to. */
export interface LoadedWithLinks {
  readonly object: Loaded
  readonly linked: readonly Head[]
}

/**
 * One object in its latest version with the heads of its parents and of its links, which stand at `linkPaths` of the
 * content (reader.ts); null when there is none of this type. The common read, so all in one statement: a round trip
 * more costs a third of the throughput (bench/render.ts).
 */
export async function loadOne(
  q: Queryable,
  model: Model,
  table: Table,
  by: Address['by'],
  id: number,
  linkPaths: readonly string[],
): Promise<LoadedWithLinks | null> {
  const { text, name } = oneStatement(by, linkPaths)
  const { rows } = await q.query<{ r: LatestRow; l: HeadRow[] | null }>(text, [table.id, id], name)
  const row = rows[0]
  const object = row && toLoaded(model, row.r)
  return object ? { object, linked: row.l ? heads(model, row.l) : [] } : null
}

/** Statements by their text: one per kind of address and set of paths, so a few per mask. */
const oneStatements = new Map<string, { text: string; name: string }>()

function oneStatement(by: Address['by'], linkPaths: readonly string[]): { text: string; name: string } {
  const key = `${by} ${linkPaths.join(' ')}`
  let statement = oneStatements.get(key)
  if (!statement) {
    const name = `object-one-${oneStatements.size}`
    statement = { name, text: oneText(by, linkPaths) }
    oneStatements.set(key, statement)
  }
  return statement
}

function oneText(by: Address['by'], linkPaths: readonly string[]): string {
  const ids = linkPaths.map((path) => `select p::bigint from jsonb_path_query(v.content, '${assertPath(path)}') p`)
  const wanted = [...ids, 'select unnest(o.parents)'].join(' union all ')
  return `select ${latest} as r, (
      select json_agg(json_build_array(${headColumns.replaceAll('o.', 'l.')})) from object l
      where l.system_object_id = any(array(${wanted}))
    ) as l
    from object o ${latestVersion} where o.objecttype = $1 and o.${by} = $2`
}

/** Paths become part of the statement, so that they are parsed once: a tenth of its time otherwise goes into that. */
function assertPath(path: string): string {
  if (!/^\$(\."n?\d+")+$/.test(path)) throw new Error(`not a path of column and table keys: ${path}`)
  return path
}

/** Latest versions, in no order. */
export async function loadLatest(q: Queryable, model: Model, systemObjectIds: readonly number[]): Promise<Loaded[]> {
  if (systemObjectIds.length === 0) return []
  const { rows } = await q.query<{ r: LatestRow }>(
    `select ${latest} as r from object o ${latestVersion} where o.system_object_id = any($1::bigint[])`,
    [systemObjectIds],
    'objects-latest',
  )
  return loadedOf(model, rows)
}

/** Versions of one object, newest first: all of them, or the given one. */
export async function loadVersions(
  q: Queryable,
  model: Model,
  table: Table,
  address: Address,
  version: number | null,
): Promise<Loaded[]> {
  const { rows } = await q.query<{ r: HistoricRow }>(
    `select ${historic} as r from object o join object_version v on v.system_object_id = o.system_object_id
     where ${conditions[address.by]} and ($3::int is null or v.version = $3) order by o.id, v.version desc`,
    [table.id, address.ids, version],
    `object-versions-${address.by}`,
  )
  return loadedOf(model, rows)
}

/** Objects as they were at a moment: `at[i]` belongs to `ids[i]`. Objects that came later are in their first version. */
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

/** The objects above the given ones, all the way up, each once; the given ones are only there when they are above. */
export async function loadAncestors(q: Queryable, model: Model, parents: readonly number[]): Promise<Head[]> {
  if (parents.length === 0) return []
  const { rows } = await q.query<{ r: HeadRow }>(
    `with recursive up as (
       select system_object_id, parents from object where system_object_id = any($1::bigint[])
       union
       select p.system_object_id, p.parents from up join object p on p.system_object_id = any(up.parents)
     )
     select ${head} as r from up join object o on o.system_object_id = up.system_object_id`,
    [parents],
    'objects-ancestors',
  )
  return heads(
    model,
    rows.map((row) => row.r),
  )
}

/** An object under the one that it is shown with: through a link column, or (null) as a child in the hierarchy. */
export interface LoadedReverse {
  readonly to: number
  readonly column: number | null
  readonly object: Loaded
}

const siblingOrder = 'order by o.child_idx nulls last, o.system_object_id'

/** Objects that link to one of the given ones through one of the columns, in the order of siblings. */
export async function loadReverses(
  q: Queryable,
  model: Model,
  to: readonly number[],
  columns: readonly number[],
): Promise<LoadedReverse[]> {
  const { rows } = await q.query<{ to: number; column: number; r: LatestRow }>(
    `select l.to_id as "to", l.column_id as "column", ${latest} as r
     from object_link l join object o on o.system_object_id = l.from_id ${latestVersion}
     where l.to_id = any($1::bigint[]) and l.column_id = any($2::int[]) ${siblingOrder}`,
    [to, columns],
    'objects-reverse',
  )
  return reversesOf(model, rows)
}

/** Children in the hierarchy, in their order. */
export async function loadChildren(q: Queryable, model: Model, parents: readonly number[]): Promise<LoadedReverse[]> {
  const { rows } = await q.query<{ to: number; column: null; r: LatestRow }>(
    `select p.id as "to", null as "column", ${latest} as r
     from object o ${latestVersion} join unnest($1::bigint[]) as p(id) on p.id = any(o.parents)
     where o.parents && $1::bigint[] and o.parents <> '{}' ${siblingOrder}`,
    [parents],
    'objects-children',
  )
  return reversesOf(model, rows)
}

/** Which of the objects have children that are not in the trash. */
export async function findParents(q: Queryable, systemObjectIds: readonly number[]): Promise<Set<number>> {
  if (systemObjectIds.length === 0) return new Set()
  const { rows } = await q.query<{ id: number }>(
    `select x.id from unnest($1::bigint[]) as x(id)
     where exists (select from object o where o.parents @> array[x.id] and o.parents <> '{}' and o.deleted_at is null)`,
    [systemObjectIds],
    'objects-with-children',
  )
  return new Set(rows.map((row) => row.id))
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

export function guardOf(object: Omit<Head, 'guard' | 'standard'>): Guarded {
  return {
    systemObjectId: object.systemObjectId,
    objecttypeId: object.table.id,
    poolId: object.poolId,
    ownerUserId: object.ownerUser,
    ownerGroupId: object.ownerGroup,
    tags: object.tags,
    acl: object.table.aclTable ? ((object.acl ?? null) as readonly StoredGrant[] | null) : null,
  }
}

function heads(model: Model, rows: readonly HeadRow[]): Head[] {
  const result: Head[] = []
  for (const row of rows) {
    const table = model.tablesById.get(row[1])
    if (table) result.push(toHead(table, row))
  }
  return result
}

function loadedOf(model: Model, rows: readonly { r: LatestRow | HistoricRow }[]): Loaded[] {
  const result: Loaded[] = []
  for (const { r } of rows) {
    const object = toLoaded(model, r)
    if (object) result.push(object)
  }
  return result
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

function toHead(table: Table, row: HeadRow): Head {
  const object = {
    systemObjectId: row[0],
    table,
    id: row[2],
    version: row[3],
    uuid: row[4],
    poolId: row[5],
    ownerUser: row[6],
    ownerGroup: row[7],
    tags: row[8],
    acl: row[9],
    parents: row[10],
    standard: row[11],
    deletedAt: row[12] === null ? null : new Date(row[12]),
  }
  return { ...object, guard: guardOf(object) }
}

function toLoaded(model: Model, row: LatestRow | HistoricRow): Loaded | null {
  const table = model.tablesById.get(row[1])
  if (!table) return null
  const object = toHead(table, row as unknown as HeadRow)
  const version = {
    childIdx: row[13],
    createdAt: new Date(row[14]),
    createdBy: row[15],
    modifiedAt: new Date(row[16]),
    operation: row[17],
    at: new Date(row[18]),
    byUser: row[19],
    comment: row[20],
    content: row[21],
    latestVersion: object.version,
  }
  if (row.length === 22) return { ...object, ...version }
  const [, , , , , , , , , , , , , , , , , , , , , , number, poolId, ownerUser, ownerGroup, tags, acl, parents] = row
  return { ...object, ...version, version: number, poolId, ownerUser, ownerGroup, tags, acl, parents }
}
