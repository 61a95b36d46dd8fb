import { AppError } from '../../platform/errors.ts'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import { numbersText } from '../../platform/postgres/literals.ts'
import type { Sha256 } from '../blobs/blob-store.ts'
import type { FileVersion, StoredFile } from '../model.ts'
import type { Rendition } from './rendition.ts'

type VersionRow = [
  name: string,
  locationId: number,
  sha256: Sha256,
  size: number,
  extension: string,
  kind: FileVersion['class'],
  mimeType: string,
  status: string,
  statusAt: string,
  createdAt: string,
  metadata: FileVersion['metadata'],
]
type RenditionRow = [
  name: string,
  status: Rendition['status'],
  reason: string | null,
  percent: number,
  statusAt: string,
  recipeHash: Rendition['recipeHash'],
  madeOf: Rendition['madeOf'],
]
type FileRow = Omit<StoredFile, 'versions' | 'renditions'> & {
  rowVersion: string
  versions: VersionRow[]
  renditions: RenditionRow[] | null
}

/** The existing files with their versions, in the order of their ids. */
export async function readFiles(from: Queryable, ids: readonly number[]): Promise<StoredFile[]> {
  return (await readVersionedFiles(from, ids)).map(({ file }) => file)
}

/**
 * The *row version* of a file: one number made of the `xmin` of its row and of the rows of all versions and renditions.
 * Any update of these rows changes it, so an equal number means that the file has not changed.
 */
const rowVersionOf = {
  file: (row: string) => `hash_array_extended(array[${row}.xmin], 0)`,
  versions: 'hash_array_extended(array_agg(xmin order by name), 1)',
  renditions: 'hash_array_extended(array_agg(xmin order by name), 2)',
}

/** Row versions of the existing files. */
export async function readRowVersions(from: Queryable, ids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  const { rows } = await from.query<{ rowVersions: string | null }>(
    // One scan of each index for all files: a query for each file takes four times as long (300 with 6 versions and 7
    // renditions each).
    `select string_agg(concat(file_id, ':', row_version), ',') as "rowVersions" from (
       select file_id, bit_xor(row_version) as row_version from (
         select id as file_id, ${rowVersionOf.file('f')} as row_version from file f where id = any($1::bigint[])
         union all
         select file_id, ${rowVersionOf.versions} from file_version where file_id = any($1::bigint[]) group by 1
         union all
         select file_id, ${rowVersionOf.renditions} from file_rendition where file_id = any($1::bigint[]) group by 1
       ) x group by 1
     ) x`,
    [numbersText(ids)],
    'file-row-versions',
  )
  const entries = rows[0]?.rowVersions?.split(',') ?? []
  return new Map(
    entries.map((entry) => {
      const colon = entry.indexOf(':')
      return [Number(entry.slice(0, colon)), entry.slice(colon + 1)]
    }),
  )
}

/** The same files, each with its row version. */
export async function readVersionedFiles(
  from: Queryable,
  ids: readonly number[],
): Promise<{ readonly file: StoredFile; readonly rowVersion: string }[]> {
  // Arrays, not objects with names: a page of objects has thousands of versions, and member names would be most of the
  // text.
  const { rows } = await from.query<FileRow>(
    `select f.id, f.parent_id as "parentId", f.reference, f.upload_user as "uploadUser", f.uploaded_at as "uploadedAt",
       f.filepath, (${rowVersionOf.file('f')} # v.row_version # coalesce(r.row_version, 0))::text as "rowVersion", v.versions, r.renditions
     from file f cross join lateral (
       select json_agg(json_build_array(name, location_id, encode(sha256, 'hex'), size, extension, class, mime_type, status,
         status_at, created_at, metadata) order by name <> 'original', name) as versions, ${rowVersionOf.versions} as row_version
       from file_version where file_id = f.id
     ) v cross join lateral (
       select json_agg(json_build_array(name, status, reason, percent, status_at, recipe_hash, encode(made_of, 'hex'))
         order by name) as renditions, ${rowVersionOf.renditions} as row_version
       from file_rendition where file_id = f.id
     ) r
     where f.id = any($1::bigint[]) and v.versions is not null order by f.id`,
    [numbersText(ids)],
    'read-files',
  )
  return rows.map(({ rowVersion, versions, renditions, ...file }) => ({
    rowVersion,
    file: { ...file, versions: versions.map(versionOf), renditions: renditions?.map(renditionOf) ?? [] },
  }))
}

function versionOf(row: VersionRow): FileVersion {
  const [name, locationId, sha256, size, extension, kind, mimeType, status, statusAt, createdAt, metadata] = row
  return {
    name,
    locationId,
    sha256,
    size,
    extension,
    class: kind,
    mimeType,
    status,
    statusAt: new Date(statusAt),
    createdAt: new Date(createdAt),
    metadata,
  }
}

function renditionOf([name, status, reason, percent, statusAt, recipeHash, madeOf]: RenditionRow): Rendition {
  return { name, status, reason, percent, statusAt: new Date(statusAt), recipeHash, madeOf }
}

export async function findByReference(from: Queryable, references: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await from.query<{ reference: string; id: number }>(
    'select reference, id from file where reference = any($1::text[])',
    [references],
    'files-by-reference',
  )
  return new Map(rows.map(({ reference, id }) => [reference, id]))
}

export interface NewBlob {
  readonly locationId: number
  readonly sha256: Sha256
  readonly size: number
}

/**
 * Announces contents before they get their names: the janitor does not remove them as leftovers, until they have been
 * without a file for a long time.
 */
export async function announceBlobs(from: Queryable, blobs: readonly NewBlob[]): Promise<void> {
  await from.query(
    `insert into file_blob (location_id, sha256, size)
     select distinct l, decode(h, 'hex'), s from unnest($1::bigint[], $2::text[], $3::bigint[]) as t(l, h, s) order by 1, 2
     on conflict (location_id, sha256) do update set touched_at = now()`,
    [blobs.map((blob) => blob.locationId), blobs.map((blob) => blob.sha256), blobs.map((blob) => blob.size)],
    'announce-blobs',
  )
}

export interface NewFile extends NewBlob {
  readonly parentId: number | null
  readonly reference: string | null
  readonly filepath: string
  readonly extension: string
  readonly class: string
  readonly mimeType: string
}

/** Stores files whose contents are in their locations; answers their ids in order. @throws `DatabaseUniqueKeyViolation`. */
export async function insertFiles(tx: Tx, userId: number, files: readonly NewFile[]): Promise<number[]> {
  const rows = JSON.stringify(files.map((file, index) => ({ index, ...file })))
  const { rows: inserted } = await tx.query<{ id: number }>(
    `with input as materialized (
       select nextval('file_id_seq') as id, x.* from json_to_recordset($1::json) as x(index int, "parentId" bigint,
         reference text, filepath text, "locationId" bigint, sha256 text, size bigint, extension text, class text,
         "mimeType" text)
       order by x.index
     ), files as (
       insert into file (id, parent_id, reference, upload_user, filepath)
       select id, "parentId", reference, $2, filepath from input on conflict (reference) do nothing returning id
     ), versions as (
       insert into file_version (file_id, name, location_id, sha256, size, extension, class, mime_type, status)
       select i.id, 'original', "locationId", decode(sha256, 'hex'), size, extension, class, "mimeType", 'done'
       from input i join files f using (id)
     )
     select i.id from input i join files f using (id) order by i.index`,
    [rows, userId],
    'insert-files',
  )
  if (inserted.length === files.length) return inserted.map(({ id }) => id)
  throw new AppError(
    'DatabaseUniqueKeyViolation',
    { name: 'reference' },
    { message: 'A file has the reference already.' },
  )
}

/** Changes names or references; null keeps the stored value. @throws `DatabaseUniqueKeyViolation`. */
export async function changeFile(
  tx: Tx,
  id: number,
  change: { readonly filepath: string | null; readonly reference: string | null | undefined },
): Promise<void> {
  if (typeof change.reference === 'string') {
    const { rows } = await tx.query('select from file where reference = $1 and id <> $2', [change.reference, id])
    if (rows.length > 0) {
      throw new AppError(
        'DatabaseUniqueKeyViolation',
        { name: 'reference' },
        { message: 'A file has the reference already.' },
      )
    }
  }
  await tx.query(
    `update file set filepath = coalesce($2, filepath), reference = case when $4 then $3 else reference end where id = $1`,
    [id, change.filepath, change.reference ?? null, change.reference !== undefined],
  )
}
