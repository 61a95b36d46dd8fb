import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { numbersText } from '../platform/postgres/literals.ts'
import type { DriveFile } from './model.ts'
import { nameKey } from './names.ts'

export interface DriveRoot {
  readonly id: number
  readonly ownerId: number
  readonly uuid: string
  readonly path: readonly number[]
  readonly generation: number
  readonly displayname: Readonly<Record<string, string>>
  readonly createdAt: Date
  readonly updatedAt: Date
}

const rootColumns = `c.id, c.owner_user as "ownerId", c.uuid, c.path, c.upload_generation as generation, c.displayname,
  c.created_at as "createdAt", c.updated_at as "updatedAt"`

/** A collection by its id or its uuid, unless its owner is archived. */
export async function findRoot(q: Queryable, by: { id: number } | { uuid: string }): Promise<DriveRoot | null> {
  const { rows } = await q.query<DriveRoot>(
    `select ${rootColumns} from collection c join "user" o on o.id = c.owner_user
     where c.id = coalesce($1::bigint, (select id from collection where uuid = $2)) and o.archived_at is null`,
    'id' in by ? [by.id, null] : [null, by.uuid],
    'drives-root',
  )
  return rows[0] ?? null
}

/** Whether any user other than the owner has a grant on the collection or above it: grantees can see its uuid. */
export async function isShared(q: Queryable, { path, ownerId }: Pick<DriveRoot, 'path' | 'ownerId'>): Promise<boolean> {
  const { rows } = await q.query<{ shared: boolean }>(
    `select exists (select from collection c cross join lateral jsonb_array_elements(c.acl) as g (value)
       where c.id = any($1::bigint[]) and g.value->>'who' not in ('owner', $2)) as shared`,
    [numbersText(path), `u${ownerId}`],
    'drives-shared',
  )
  return rows[0]?.shared ?? false
}

/** Collections directly below one, by id. */
export async function foldersIn(q: Queryable, id: number): Promise<DriveRoot[]> {
  const { rows } = await q.query<DriveRoot>(
    `select ${rootColumns} from collection c where c.parent_id = $1 order by c.id`,
    [id],
    'drives-folders',
  )
  return rows
}

/** Until the transaction ends no other one names folders in this collection. */
export async function lockNames(tx: Tx, id: number): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, $2))', ['drive folders', id], 'drives-names-lock')
}

/** Files of the objects in a collection, in the order of the list: only those of the columns, or all. */
export async function filesIn(
  q: Queryable,
  collectionId: number,
  columnIds: readonly number[] | null,
): Promise<DriveFile[]> {
  const { rows } = await q.query<Omit<DriveFile, 'kind'>>(
    `select f.filepath as name, f.id as "fileId", u.system_object_id as "systemObjectId", u.column_id as "columnId",
       v.size as bytes, v.mime_type as "mimeType", encode(v.sha256, 'hex') as sha256, v.created_at as "createdAt"
     from collection_object e join object o on o.system_object_id = e.object_id and o.deleted_at is null
       join file_use u on u.system_object_id = e.object_id and u.latest
       join file f on f.id = u.file_id join file_version v on v.file_id = f.id and v.name = 'original'
     where e.collection_id = $1 and ($2::bigint[] is null or u.column_id = any($2::bigint[]))
     order by e.rank, u.column_id, f.id`,
    [collectionId, columnIds === null ? null : numbersText(columnIds)],
    'drives-files',
  )
  return rows.map((row) => ({ ...row, kind: 'file' }))
}

/** Minutes until a name is free again if its content has not come. */
const placeholderMinutes = 60

export async function placeholdersIn(q: Queryable, collectionId: number): Promise<{ name: string; createdAt: Date }[]> {
  const { rows } = await q.query<{ name: string; createdAt: Date }>(
    `select name, created_at as "createdAt" from drive_placeholder
     where collection_id = $1 and created_at > now() - make_interval(mins => ${placeholderMinutes}) order by name_key`,
    [collectionId],
    'drives-placeholders',
  )
  return rows
}

/** False: the collection already has the most that are allowed. */
export async function addPlaceholder(tx: Tx, collectionId: number, name: string, most: number): Promise<boolean> {
  await tx.query(
    `delete from drive_placeholder where created_at <= now() - make_interval(mins => ${placeholderMinutes})`,
    [],
    'drives-placeholders-end',
  )
  const { rowCount } = await tx.query(
    `insert into drive_placeholder (collection_id, name_key, name)
     select $1, $2, $3 where (select count(*) from drive_placeholder where collection_id = $1) < $4
     on conflict (collection_id, name_key) do update set created_at = now()`,
    [collectionId, nameKey(name), name, most],
    'drives-placeholder-add',
  )
  return rowCount !== 0
}

export async function removePlaceholder(q: Queryable, collectionId: number, name: string): Promise<void> {
  await q.query(
    'delete from drive_placeholder where collection_id = $1 and name_key = $2',
    [collectionId, nameKey(name)],
    'drives-placeholder-remove',
  )
}

/** Whether the object was made by an upload into the collection, and no other object links to it. */
export async function madeForFile(q: Queryable, collectionId: number, systemObjectId: number): Promise<boolean> {
  const { rows } = await q.query<{ made: boolean }>(
    `select exists (select from collection_upload where collection_id = $1 and system_object_id = $2 and created)
       and not exists (select from object_link where to_id = $2) as made`,
    [collectionId, systemObjectId],
    'drives-made',
  )
  return rows[0]?.made ?? false
}
