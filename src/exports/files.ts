/** Files of runs, as stored. Files hidden by a plugin are only shown to plugins. */
import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { type ExportFile, pathOf } from './model.ts'

export type NewExportFile = Omit<ExportFile, 'id' | 'runId' | 'createdAt' | 'hidden' | 'action'>

const fileColumns = `f.id, f.run_id as "runId", f.folder, f.name, f.kind, f.content_id as "contentId",
  f.mime_type as "mimeType", f.size, f.created_at as "createdAt", f.system_object_id as "systemObjectId", f.source, f.hidden,
  f.action`

/** The form in which paths are compared. */
export const keyOfPath = (path: string): string => path.normalize('NFC').toLowerCase()

export async function addFiles(tx: Tx, runId: number, files: readonly NewExportFile[]): Promise<void> {
  if (files.length === 0) return
  const rows = files.map((file) => ({ ...file, key: keyOfPath(pathOf(file)) }))
  await tx.query(
    `with made as (
       insert into export_file (run_id, folder, name, path_key, kind, content_id, mime_type, size, system_object_id, source)
       select $1, folder, name, key, kind, "contentId", "mimeType", size, "systemObjectId", source
       from json_to_recordset($2::json) as x(folder text, name text, key text, kind text, "contentId" bigint,
         "mimeType" text, size bigint, "systemObjectId" bigint, source jsonb)
       returning 1
     )
     update export_run set file_count = file_count + (select count(*) from made) where id = $1`,
    [runId, JSON.stringify(rows)],
    'export-files-add',
  )
}

/**
 * The paths that the run already has, among the given ones. Each is looked up by itself: while a run grows there are no statistics of it, and a
 * list was compared with all files of the run: each batch took longer than the one before.
 */
export async function takenPaths(tx: Queryable, runId: number, keys: readonly string[]): Promise<Set<string>> {
  const { rows } = await tx.query<{ key: string }>(
    `select k.key from unnest($2::text[]) as k(key) cross join lateral (
       select from export_file f where f.run_id = $1 and f.path_key = k.key limit 1) found`,
    [runId, keys],
    'export-files-taken',
  )
  return new Set(rows.map(({ key }) => key))
}

/** Files of objects, which the documents of them name; looked up as above. */
export async function assetsOfObjects(from: Queryable, runId: number, systemObjectIds: readonly number[]) {
  const { rows } = await from.query<ExportFile>(
    `select ${fileColumns} from unnest($2::bigint[]) as o(id) cross join lateral (
       select * from export_file a where a.run_id = $1 and a.system_object_id = o.id and a.kind = 'asset' offset 0) f
     order by f.id`,
    [runId, systemObjectIds],
    'export-assets',
  )
  return rows
}

export async function findFile(from: Queryable, runId: number, path: string): Promise<ExportFile | null> {
  const { rows } = await from.query<ExportFile>(
    `select ${fileColumns} from export_file f where f.run_id = $1 and f.path_key = $2`,
    [runId, keyOfPath(path)],
    'export-file',
  )
  const [file] = rows
  return file && pathOf(file) === path.normalize('NFC') ? file : null
}

/** Files that are read together. */
const page = 1000

/**
 * Files of a run in the order in which they were made, a page at a time; only those in a folder and below it, where one is named.
 */
export async function* walkFiles(
  from: Queryable,
  runId: number,
  { folder = '', hidden = false }: { readonly folder?: string; readonly hidden?: boolean },
): AsyncGenerator<readonly ExportFile[]> {
  for (let after = 0; ; ) {
    const { rows } = await from.query<ExportFile>(
      `select ${fileColumns} from export_file f where f.run_id = $1 and f.id > $2 and (not f.hidden or $5)
         and ($4 = '' or f.folder = $4 or starts_with(f.folder, $4 || '/'))
       order by f.id limit $3`,
      [runId, after, page, folder, hidden],
      'export-files',
    )
    const last = rows.at(-1)
    if (last) yield rows
    if (!last || rows.length < page) return
    after = last.id
  }
}

export async function countFiles(from: Queryable, runId: number, folder = ''): Promise<number> {
  const { rows } = await from.query<{ count: number }>(
    `select count(*)::int as count from export_file f where f.run_id = $1 and not f.hidden
       and ($2 = '' or f.folder = $2 or starts_with(f.folder, $2 || '/'))`,
    [runId, folder],
    'export-files-count',
  )
  return rows[0]?.count ?? 0
}

/** Objects with files in a folder or below it, with higher ids than the given one. */
export async function objectsIn(from: Queryable, runId: number, folder: string, after: number, most: number) {
  const { rows } = await from.query<{ id: number }>(
    `select distinct f.system_object_id as id from export_file f
     where f.run_id = $1 and not f.hidden and f.system_object_id > $3 and (f.folder = $2 or starts_with(f.folder, $2 || '/'))
     order by 1 limit $4`,
    [runId, folder, after, most],
    'export-objects-in-folder',
  )
  return rows.map(({ id }) => id)
}

/** The first files of each of the runs. */
export async function filesOfRuns(from: Queryable, runIds: readonly number[], most: number): Promise<ExportFile[]> {
  const { rows } = await from.query<ExportFile>(
    `select ${fileColumns} from unnest($1::bigint[]) as x(run)
     cross join lateral (select * from export_file where run_id = x.run and not hidden order by id limit $2) f
     order by x.run, f.id`,
    [runIds, most],
    'export-files-of-runs',
  )
  return rows
}

/** The entries of a folder: its folders, then its files, by name. */
export async function folderEntries(from: Queryable, runId: number, folder: string, most: number) {
  const depth = folder === '' ? 1 : folder.split('/').length + 1
  const [folders, files] = await Promise.all([
    from.query<{ name: string }>(
      `select distinct split_part(folder, '/', $3) as name from export_file
       where run_id = $1 and not hidden and folder <> '' and ($2 = '' or starts_with(folder, $2 || '/'))
       order by 1 limit $4`,
      [runId, folder, depth, most],
      'export-folders-in',
    ),
    from.query<ExportFile>(
      `select ${fileColumns} from export_file f where f.run_id = $1 and not f.hidden and f.folder = $2 order by f.name limit $3`,
      [runId, folder, most],
      'export-files-in',
    ),
  ])
  return { folders: folders.rows.map(({ name }) => name), files: files.rows }
}
