import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import { standardText } from '../standard/compute.ts'
import type { Content, Standard } from '../stored/content.ts'

/** The state of an object in the index. */
export type IndexState = 'indexed' | 'waiting' | 'failed'
export const indexStates: readonly IndexState[] = ['indexed', 'waiting', 'failed']

/** The criteria by which administrators look for objects; null: no restriction. */
export interface InspectedFilter {
  readonly ids: readonly number[] | null
  readonly objecttype: number | null
  readonly pool: number | null
  readonly deleted: boolean | null
  readonly index: IndexState | null
}

/** A row of a list of objects. */
export interface InspectedObject {
  readonly id: number
  readonly objecttype: number
  readonly version: number
  readonly poolId: number | null
  readonly ownerUser: number | null
  readonly modifiedAt: Date
  readonly deletedAt: Date | null
  readonly title: string
  readonly index: IndexState
}

const indexStateSql = `case
    when exists (select from index_queue q where q.system_object_id = o.system_object_id) then 'waiting'
    when exists (select from search_failure f where f.id = o.system_object_id) then 'failed'
    else 'indexed' end`

type Row = Omit<InspectedObject, 'title'> & { readonly standard: Standard }

const titled = ({ standard, ...row }: Row, languages: readonly string[]): InspectedObject => ({
  ...row,
  title: standardText(standard, languages),
})

const rowColumns = `o.system_object_id as id, o.objecttype, o.version, o.pool_id as "poolId", o.owner_user as "ownerUser",
  o.modified_at as "modifiedAt", o.deleted_at as "deletedAt", o.standard, ${indexStateSql} as index`

/** Objects by their ids; one more than `limit` where there are more. Objects in the trash are included. */
export async function inspectObjects(
  from: Queryable,
  filter: InspectedFilter,
  { descending, offset, limit, languages }: InspectedPage,
): Promise<InspectedObject[]> {
  const { ids, objecttype, pool, deleted, index } = filter
  const { rows } = await from.query<Row>(
    `select ${rowColumns} from object o
     where ($1::bigint[] is null or o.system_object_id = any($1)) and ($2::int is null or o.objecttype = $2)
       and ($3::bigint is null or o.pool_id = $3) and ($4::boolean is null or (o.deleted_at is not null) = $4)
       and ($5::text is null or ($5 = 'failed' and o.system_object_id in (select f.id from search_failure f))
         or ($5 = 'waiting' and o.system_object_id in (select q.system_object_id from index_queue q))
         or ($5 = 'indexed' and not exists (select from index_queue q where q.system_object_id = o.system_object_id)
           and not exists (select from search_failure f where f.id = o.system_object_id)))
     order by o.system_object_id ${descending ? 'desc' : 'asc'} offset $6 limit $7 + 1`,
    [ids, objecttype, pool, deleted, index, offset, limit],
  )
  return rows.map((row) => titled(row, languages))
}

export interface InspectedPage {
  readonly descending: boolean
  readonly offset: number
  readonly limit: number
  /** The languages of titles. */
  readonly languages: readonly string[]
}

export interface InspectedType {
  readonly objecttype: number
  readonly live: number
  readonly deleted: number
  readonly waiting: number
  readonly failed: number
}

/** The number of objects of each type, and their state in the index. */
export async function inspectTypes(from: Queryable): Promise<InspectedType[]> {
  const { rows } = await from.query<InspectedType>(
    `with waiting as (
       select o.objecttype, count(*)::int8 as count from object o
       where o.system_object_id in (select system_object_id from index_queue) group by 1
     ), failed as (
       select o.objecttype, count(*)::int8 as count from search_failure f
       join object o on o.system_object_id = f.id group by 1
     )
     select o.objecttype, count(*) filter (where o.deleted_at is null)::int8 as live, count(o.deleted_at)::int8 as deleted,
       coalesce(min(w.count), 0)::int8 as waiting, coalesce(min(f.count), 0)::int8 as failed
     from object o left join waiting w using (objecttype) left join failed f using (objecttype)
     group by o.objecttype order by o.objecttype`,
  )
  return rows
}

/** All stored data of one object except its content. */
export interface InspectedHead extends InspectedObject {
  readonly objectId: number
  readonly uuid: string
  readonly ownerGroup: number | null
  readonly tags: readonly number[]
  readonly grants: number
  readonly parents: readonly number[]
  readonly createdAt: Date
  readonly createdBy: number | null
  readonly indexedAt: Date | null
  readonly failure: string | null
  readonly collections: number
}

export interface InspectedVersion {
  readonly version: number
  readonly operation: string
  readonly at: Date
  readonly byUser: number | null
  readonly comment: string | null
  readonly datamodel: number
}

export interface InspectedRecord {
  readonly head: InspectedHead
  /** The latest version and all earlier ones, newest first. */
  readonly versions: readonly InspectedVersion[]
  readonly content: Content
  /** Objects that link to it, by the column. */
  readonly linkedFrom: readonly InspectedLink[]
}

export interface InspectedLink {
  readonly columnId: number
  readonly id: number
  readonly objecttype: number
  readonly version: number
  readonly title: string
}

/** One object in its latest version; null: there is none. `most` limits each list. */
export async function inspectObject(
  from: Queryable,
  id: number,
  { languages, most }: { readonly languages: readonly string[]; readonly most: number },
): Promise<InspectedRecord | null> {
  const [heads, versions, linked] = await Promise.all([
    from.query<Omit<InspectedHead, 'title'> & { standard: Standard; content: Content }>(
      `select ${rowColumns}, o.id as "objectId", o.uuid, o.owner_group as "ownerGroup", o.tags,
         coalesce(jsonb_array_length(o.acl), 0) as grants, o.parents, o.created_at as "createdAt",
         o.created_by as "createdBy", v.content,
         (select d.changed_at from search_document d where d.id = o.system_object_id) as "indexedAt",
         (select f.error from search_failure f where f.id = o.system_object_id) as failure,
         (select count(*)::int from collection_object c where c.object_id = o.system_object_id) as collections
       from object o join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
       where o.system_object_id = $1`,
      [id],
    ),
    from.query<InspectedVersion>(
      `select version, operation::text, at, by_user as "byUser", comment, datamodel_version as datamodel
       from object_version where system_object_id = $1 order by version desc limit $2`,
      [id, most],
    ),
    from.query<Omit<InspectedLink, 'title'> & { standard: Standard }>(
      `select l.column_id as "columnId", o.system_object_id as id, o.objecttype, o.version, o.standard
       from object_link l join object o on o.system_object_id = l.from_id where l.to_id = $1
       order by l.column_id, l.from_id limit $2`,
      [id, most],
    ),
  ])
  const [found] = heads.rows
  if (!found) return null
  const { content, ...head } = found
  return {
    head: { ...head, title: standardText(head.standard, languages) },
    versions: versions.rows,
    content,
    linkedFrom: linked.rows.map(({ standard, ...link }) => ({ ...link, title: standardText(standard, languages) })),
  }
}

/** Queues objects for indexing, before all large batches. Returns the ids that exist. */
export async function requeueObjects(tx: Tx, ids: readonly number[], wakeIndex: () => void): Promise<number[]> {
  const { rows } = await tx.query<{ id: number }>(
    `insert into index_queue (system_object_id, priority)
     select system_object_id, 0 from object where system_object_id = any($1::bigint[])
     returning system_object_id as id`,
    [ids],
  )
  tx.afterCommit(wakeIndex)
  return rows.map((row) => row.id)
}

export interface InspectedPool {
  readonly poolId: number
  readonly live: number
  readonly deleted: number
}

/** The number of objects in each pool; pools without objects are left out. */
export async function inspectPools(from: Queryable, ids: readonly number[]): Promise<InspectedPool[]> {
  const { rows } = await from.query<InspectedPool>(
    `select pool_id as "poolId", count(*) filter (where deleted_at is null)::int8 as live, count(deleted_at)::int8 as deleted
     from object where pool_id = any($1::bigint[]) group by 1`,
    [ids],
  )
  return rows
}

/** Objects by their ids, as lists show them. */
export async function inspectTitles(
  from: Queryable,
  ids: readonly number[],
  languages: readonly string[],
): Promise<InspectedObject[]> {
  if (ids.length === 0) return []
  const { rows } = await from.query<Row>(
    `select ${rowColumns} from object o where o.system_object_id = any($1::bigint[]) order by o.system_object_id`,
    [ids],
  )
  return rows.map((row) => titled(row, languages))
}
