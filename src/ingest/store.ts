import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { numbersText, textsText } from '../platform/postgres/literals.ts'
import type { IngestedFile, ReachedObject } from './model.ts'
import { nameKeys } from './names.ts'

/**
 * Objects of the type from earlier uploads into the collection with files of these stems (`v:…`) or series (`s:…`): the
 * first one of each, as long as it is in the collection and has the file.
 */
export async function uploadedBefore(
  q: Queryable,
  { collectionId, objecttypeId }: { readonly collectionId: number; readonly objecttypeId: number },
  keys: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (keys.length === 0) return new Map()
  const named = (prefix: string) => keys.flatMap((key) => (key.startsWith(prefix) ? key.slice(prefix.length) : []))
  const { rows } = await q.query<{ key: string; id: number }>(
    `select 's:' || k.key as key, f.id from unnest($3::text[]) as k (key) cross join lateral (${first('series_key')}) f
     union all
     select 'v:' || k.key, f.id from unnest($4::text[]) as k (key) cross join lateral (${first('stem_key')}) f`,
    [collectionId, objecttypeId, textsText(named('s:')), textsText(named('v:'))],
    'uploads-before',
  )
  return new Map(rows.map(({ key, id }) => [key, id]))
}

const first = (column: 'series_key' | 'stem_key'): string =>
  `select u.system_object_id as id from collection_upload u
     join object o on o.system_object_id = u.system_object_id
   where u.collection_id = $1 and u.${column} = k.key and o.objecttype = $2 and o.deleted_at is null
     and exists (select from collection_object e
       where e.object_id = u.system_object_id and e.collection_id = u.collection_id)
     and exists (select from file_use f
       where f.file_id = u.file_id and f.system_object_id = u.system_object_id and f.latest)
   order by u.system_object_id limit 1`

/** Notes which files were added to which objects by an upload, and whether the object was made for the file. */
export async function noteUploads(
  tx: Tx,
  collectionId: number,
  uploads: readonly { readonly file: IngestedFile; readonly object: ReachedObject; readonly created: boolean }[],
): Promise<void> {
  if (uploads.length === 0) return
  const keys = uploads.map(({ file }) => nameKeys(file.name))
  await tx.query(
    `insert into collection_upload (collection_id, system_object_id, file_id, stem_key, series_key, path, created)
     select $1, n.* from unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::boolean[]) as n
     on conflict (collection_id, system_object_id, file_id) do nothing`,
    [
      collectionId,
      numbersText(uploads.map(({ object }) => object.systemObjectId)),
      numbersText(uploads.map(({ file }) => file.fileId)),
      keys.map(({ stem }) => stem),
      keys.map(({ series }) => series),
      uploads.map(({ file }) => file.path),
      uploads.map(({ created }) => created),
    ],
    'uploads-note',
  )
}

/** The objects that are already in the collection. */
export async function inCollection(
  q: Queryable,
  collectionId: number,
  systemObjectIds: readonly number[],
): Promise<ReadonlySet<number>> {
  const { rows } = await q.query<{ id: number }>(
    `select object_id as id from collection_object where collection_id = $1 and object_id = any($2::bigint[])`,
    [collectionId, numbersText(systemObjectIds)],
    'uploads-in-collection',
  )
  return new Set(rows.map(({ id }) => id))
}

/** System object ids of the parents of each object. */
export async function parentsOf(
  q: Queryable,
  systemObjectIds: readonly number[],
): Promise<ReadonlyMap<number, readonly number[]>> {
  if (systemObjectIds.length === 0) return new Map()
  const { rows } = await q.query<{ id: number; parents: number[] }>(
    'select system_object_id as id, parents from object where system_object_id = any($1::bigint[])',
    [numbersText(systemObjectIds)],
    'uploads-parents',
  )
  return new Map(rows.map(({ id, parents }) => [id, parents]))
}
