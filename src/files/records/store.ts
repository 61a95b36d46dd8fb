import type { Queryable, Tx } from '../../platform/db.ts'
import { AppError } from '../../platform/errors.ts'
import type { Sha256 } from '../blobs/blob-store.ts'
import type { FileVersion, StoredFile } from '../model.ts'

type VersionRow = Omit<FileVersion, 'statusAt' | 'createdAt'> & { statusAt: string; createdAt: string }
type RenditionRow = Omit<StoredFile['renditions'][number], 'statusAt'> & { statusAt: string }
type FileRow = Omit<StoredFile, 'versions' | 'renditions'> & { versions: VersionRow[]; renditions: RenditionRow[] }

/** The files with their versions; those that there are, in the order of their ids. */
export async function readFiles(from: Queryable, ids: readonly number[]): Promise<StoredFile[]> {
  const { rows } = await from.query<FileRow>(
    `select f.id, f.parent_id as "parentId", f.reference, f.upload_user as "uploadUser", f.uploaded_at as "uploadedAt",
       f.filepath, v.versions, coalesce(r.renditions, '[]') as renditions
     from file f cross join lateral (
       select json_agg(json_build_object('name', name, 'locationId', location_id, 'sha256', encode(sha256, 'hex'),
         'size', size, 'extension', extension, 'class', class, 'mimeType', mime_type, 'status', status,
         'statusAt', status_at, 'createdAt', created_at, 'metadata', metadata) order by name <> 'original', name) as versions
       from file_version where file_id = f.id
     ) v cross join lateral (
       select json_agg(json_build_object('name', name, 'status', status, 'reason', reason, 'percent', percent, 'statusAt', status_at,
         'recipeHash', recipe_hash, 'madeOf', encode(made_of, 'hex')) order by name) as renditions
       from file_rendition where file_id = f.id
     ) r
     where f.id = any($1::bigint[]) and v.versions is not null order by f.id`,
    [ids],
    'read-files',
  )
  return rows.map((row) => ({
    ...row,
    versions: row.versions.map((version) => ({
      ...version,
      statusAt: new Date(version.statusAt),
      createdAt: new Date(version.createdAt),
    })),
    renditions: row.renditions.map((one) => ({ ...one, statusAt: new Date(one.statusAt) })),
  }))
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
 * Announces contents before they get their names: from now on nobody takes them for leftovers, until they have been without
 * a file for long.
 */
export async function announceBlobs(from: Queryable, blobs: readonly NewBlob[]): Promise<void> {
  await from.query(
    `insert into file_blob (location_id, sha256, size)
     select distinct l, decode(h, 'hex'), s from unnest($1::bigint[], $2::text[], $3::bigint[]) as t(l, h, s) order by 1, 2
     on conflict (location_id, sha256) do update set touched_at = now()`,
    [blobs.map((blob) => blob.locationId), blobs.map((blob) => blob.sha256), blobs.map((blob) => blob.size)],
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

/** Stores files whose contents lie in their locations; their ids in order. @throws `DatabaseUniqueKeyViolation`. */
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
  )
  if (inserted.length === files.length) return inserted.map(({ id }) => id)
  throw new AppError(
    'DatabaseUniqueKeyViolation',
    { name: 'reference' },
    { message: 'A file has the reference already.' },
  )
}

/** Changes names or references; null keeps what is stored. @throws `DatabaseUniqueKeyViolation`. */
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
