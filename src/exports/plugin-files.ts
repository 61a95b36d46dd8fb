/** Changes that plugins make to the files of a run, as stored. */
import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { keyOfPath } from './files.ts'
import { type ExportFile, pathOf } from './model.ts'

export type PluginExportFile = Pick<ExportFile, 'id' | 'folder' | 'name' | 'kind' | 'mimeType' | 'hidden' | 'action'>

/** Files of a run by their ids, or by the keys of their paths. */
export async function knownFiles(
  from: Queryable,
  runId: number,
  { ids, keys }: { readonly ids: readonly number[]; readonly keys: readonly string[] },
): Promise<PluginExportFile[]> {
  const { rows } = await from.query<PluginExportFile>(
    `select f.id, f.folder, f.name, f.kind, f.mime_type as "mimeType", f.hidden, f.action from export_file f
     where f.run_id = $1 and (f.id in (select unnest($2::bigint[])) or f.path_key in (select unnest($3::text[])))`,
    [runId, ids, keys],
    'export-files-known',
  )
  return rows
}

/** Removes all files of a run except for these, with their contents. */
export async function removeOtherFiles(tx: Tx, runId: number, ids: readonly number[]): Promise<void> {
  await tx.query(
    `with files as (
       delete from export_file f where f.run_id = $1 and f.id not in (select unnest($2::bigint[])) returning content_id
     ), contents as (
       delete from kept_content where id in (select content_id from files) returning location_id, sha256
     )
     update file_blob b set touched_at = now() from contents c where b.location_id = c.location_id and b.sha256 = c.sha256`,
    [runId, ids],
    'export-files-remove-others',
  )
}

/** Writes the changed files. Two files may exchange their paths. */
export async function changeFiles(tx: Tx, runId: number, files: readonly PluginExportFile[]): Promise<void> {
  if (files.length === 0) return
  await tx.query(
    `update export_file set path_key = '/' || id where run_id = $1 and id = any($2::bigint[])`,
    [runId, files.map(({ id }) => id)],
    'export-files-unplace',
  )
  const rows = files.map((file) => ({ ...file, key: keyOfPath(pathOf(file)) }))
  await tx.query(
    `update export_file f set folder = x.folder, name = x.name, path_key = x.key, mime_type = x."mimeType",
       hidden = x.hidden, action = x.action
     from json_to_recordset($2::json) as x(id bigint, folder text, name text, key text, "mimeType" text, hidden boolean, action text)
     where f.run_id = $1 and f.id = x.id`,
    [runId, JSON.stringify(rows)],
    'export-files-change',
  )
}

export type NewExportFile = Omit<PluginExportFile, 'id' | 'kind'>

/** Adds files that a plugin makes for downloads. */
export async function addMadeFiles(tx: Tx, runId: number, files: readonly NewExportFile[]): Promise<void> {
  if (files.length === 0) return
  const rows = files.map((file) => ({ ...file, key: keyOfPath(pathOf(file)) }))
  await tx.query(
    `insert into export_file (run_id, folder, name, path_key, kind, mime_type, hidden, action)
     select $1, folder, name, key, 'plugin', "mimeType", hidden, action
     from json_to_recordset($2::json) as x(folder text, name text, key text, "mimeType" text, hidden boolean, action text)`,
    [runId, JSON.stringify(rows)],
    'export-files-made',
  )
}

/** Counts the files of a run after changes. */
export async function countAnew(tx: Tx, runId: number): Promise<void> {
  await tx.query(
    `update export_run set file_count = (select count(*) from export_file where run_id = $1 and not hidden) where id = $1`,
    [runId],
    'export-files-count-anew',
  )
}
