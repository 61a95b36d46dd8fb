import type { Queryable } from '../../platform/postgres/db.ts'
import { numbersText } from '../../platform/postgres/literals.ts'

export interface DropOwner {
  readonly collectionId: number
  readonly uuid: string
  readonly ownerId: number
}

/** Most drop folders that are read. */
const mostDropFolders = 100_000

/** Collections with these uuids, except for those of archived owners. */
export async function dropOwners(q: Queryable, uuids: readonly string[]): Promise<DropOwner[]> {
  const { rows } = await q.query<DropOwner>(
    `select c.id as "collectionId", c.uuid, c.owner_user as "ownerId" from collection c
       join "user" o on o.id = c.owner_user
     where c.uuid = any($1::text[]) and o.archived_at is null`,
    [uuids],
    'hotfolder-owners',
  )
  return rows
}

/** Collections with their own upload settings. */
export async function uploadCollections(q: Queryable): Promise<string[]> {
  const { rows } = await q.query<{ uuid: string }>(
    `select uuid from collection where create_object is not null order by id limit ${mostDropFolders}`,
    [],
    'hotfolder-collections',
  )
  return rows.map(({ uuid }) => uuid)
}

/** The prefix distinguishes names in drop folders from those in drives, which have no slash. */
export const lockPrefix = 'hotfolder/'

/** Locked paths in drop folders, in small letters, by collection. */
export async function lockedPaths(
  q: Queryable,
  collectionIds: readonly number[],
): Promise<ReadonlyMap<number, ReadonlySet<string>>> {
  const { rows } = await q.query<{ id: number; paths: string[] }>(
    `select collection_id as id, array_agg(substr(name_key, $2)) as paths from drive_lock
     where collection_id = any($1::bigint[]) and expires_at > now() and starts_with(name_key, $3) group by 1`,
    [numbersText(collectionIds), lockPrefix.length + 1, lockPrefix],
    'hotfolder-locked',
  )
  return new Map(rows.map(({ id, paths }) => [id, new Set(paths)]))
}

export interface UsageLimits {
  readonly files: number
  readonly bytes: number
}

/** Counts a dropped file; false: the limit would be exceeded. */
export async function addUsage(q: Queryable, collectionId: number, bytes: number, most: UsageLimits): Promise<boolean> {
  if (bytes > most.bytes || most.files < 1) return false
  const { rowCount } = await q.query(
    `insert into hotfolder_usage as u (collection_id, files, bytes) values ($1, 1, $2)
     on conflict (collection_id) do update set files = u.files + 1, bytes = u.bytes + excluded.bytes
     where u.files < $3 and u.bytes + excluded.bytes <= $4`,
    [collectionId, bytes, most.files, most.bytes],
    'hotfolder-usage-add',
  )
  return rowCount === 1
}

/** Whether the usage may be measured now: by one request in ten seconds. */
export async function mayMeasure(q: Queryable, collectionId: number): Promise<boolean> {
  const { rowCount } = await q.query(
    `update hotfolder_usage set measured_at = now()
     where collection_id = $1 and measured_at < now() - interval '10 seconds'`,
    [collectionId],
    'hotfolder-usage-turn',
  )
  return rowCount === 1
}

export async function setUsage(q: Queryable, collectionId: number, { files, bytes }: UsageLimits): Promise<void> {
  await q.query(
    'update hotfolder_usage set files = $2, bytes = $3, measured_at = now() where collection_id = $1',
    [collectionId, files, bytes],
    'hotfolder-usage-set',
  )
}
