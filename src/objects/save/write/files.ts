import type { Queryable, Tx } from '../../../platform/postgres/db.ts'

/** A file in a column of an object. */
export interface FileChange {
  readonly fileId: number
  readonly systemObjectId: number
  readonly columnId: number
}

/** A file that a version of an object no longer has. */
export interface FileTaken extends FileChange {
  readonly version: number
}

/** Files that objects have from now on. */
export async function putFiles(tx: Tx, put: readonly FileChange[]): Promise<void> {
  if (put.length === 0) return
  await tx.query(
    `with used as (
       insert into file_use (file_id, system_object_id, column_id, latest)
       select f, o, c, true from unnest($1::bigint[], $2::bigint[], $3::int[]) as x(f, o, c)
       on conflict (file_id, system_object_id, column_id) do update set latest = true, replaced_by = null
     )
     update file set unlinked_at = null where id = any($1::bigint[]) and unlinked_at is not null`,
    columnsOf(put),
    'put-files',
  )
}

/** Files that only old versions of the objects have from now on. */
export async function takeFiles(tx: Tx, taken: readonly FileTaken[]): Promise<void> {
  if (taken.length === 0) return
  await tx.query(
    `update file_use u set latest = false, replaced_by = x.v
     from unnest($1::bigint[], $2::bigint[], $3::int[], $4::int[]) as x(f, o, c, v)
     where u.file_id = x.f and u.system_object_id = x.o and u.column_id = x.c`,
    [...columnsOf(taken), taken.map(({ version }) => version)],
    'take-files',
  )
}

/**
 * Files of objects that are restored from the trash: the objects get back files that were given up in the meantime, as far as these
 * still exist. Only those are written again.
 */
export async function returnFiles(tx: Tx, returned: readonly FileChange[]): Promise<void> {
  if (returned.length === 0) return
  await tx.query(
    `with missing as materialized (
       select x.f, x.o, x.c from unnest($1::bigint[], $2::bigint[], $3::int[]) as x(f, o, c)
       where not exists (
         select from file_use u where u.file_id = x.f and u.system_object_id = x.o and u.column_id = x.c)
     ), there as materialized (
       select id from file where id in (select f from missing) order by id for no key update
     ), used as (
       insert into file_use (file_id, system_object_id, column_id, latest)
       select f, o, c, true from missing join there on there.id = f
     )
     update file set unlinked_at = null where id in (select id from there) and unlinked_at is not null`,
    columnsOf(returned),
    'return-files',
  )
}

/** Gives up the files of purged objects: a file that no other object has belongs to its uploader again, for a limited time. */
export async function giveUpFiles(tx: Queryable, systemObjectIds: readonly number[]): Promise<void> {
  await tx.query(
    `with gone as (
       delete from file_use where system_object_id = any($1::bigint[]) returning file_id
     )
     update file f set unlinked_at = now() from (select distinct file_id from gone) g
     where f.id = g.file_id and not exists (
       select from file_use u where u.file_id = f.id and u.system_object_id <> all($1::bigint[]))`,
    [systemObjectIds],
    'give-up-files',
  )
}

function columnsOf(changes: readonly FileChange[]): number[][] {
  return [
    changes.map(({ fileId }) => fileId),
    changes.map(({ systemObjectId }) => systemObjectId),
    changes.map(({ columnId }) => columnId),
  ]
}
