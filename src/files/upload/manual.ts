import { AppError, badRequest } from '../../platform/errors.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { original } from '../model.ts'
import type { NewBlob } from '../records/store.ts'

/** A version of a file that is uploaded, instead of made by a recipe; `original` replaces the first upload. */
export interface ManualVersion extends NewBlob {
  readonly fileId: number
  readonly name: string
  /** The name of the file, where the original is replaced. */
  readonly filepath: string
  readonly extension: string
  readonly class: string
  readonly mimeType: string
  readonly metadata: Readonly<Record<string, unknown>>
}

const names = /^[a-z0-9_]{1,40}$/

/** @throws {AppError} naming an invalid version, or a version without its file. */
export function assertVersionNames(
  versions: readonly { readonly name: string | null; readonly parentId: number | null }[],
): void {
  const seen = new Set<string>()
  for (const { name, parentId } of versions) {
    if (name === null) continue
    if (!names.test(name)) {
      throw badRequest('Names of versions have small letters, digits and _, at most 40.', { version_name: name })
    }
    if (parentId === null) {
      const message = `The file is not named that the version ${name} belongs to.`
      throw new AppError('EasNoParentID', { version_name: name }, { message })
    }
    const place = `${parentId}:${name}`
    if (seen.has(place))
      throw badRequest(`The version ${name} of file ${parentId} comes twice.`, { version_name: name })
    seen.add(place)
  }
}

/**
 * Adds versions to existing files. Versions of recipes cannot be uploaded: the next run would replace them.
 * @throws {AppError} `UploadError`; `EasNoParentID` when a file has been deleted meanwhile.
 */
export async function putManualVersions(tx: Tx, versions: readonly ManualVersion[]): Promise<void> {
  if (versions.length === 0) return
  const ids = [...new Set(versions.map(({ fileId }) => fileId))]
  const { rows: files } = await tx.query<{ id: number }>(
    'select id from file where id = any($1::bigint[]) order by id for update',
    [ids],
  )
  const gone = ids.find((id) => !files.some((file) => file.id === id))
  if (gone !== undefined) throw new AppError('EasNoParentID', { id_parent: gone })
  const rows = JSON.stringify(versions)
  const { rows: made } = await tx.query<{ fileId: number; name: string }>(
    `select r.file_id as "fileId", r.name from file_rendition r
       join json_to_recordset($1::json) as x("fileId" bigint, name text) on x."fileId" = r.file_id and x.name = r.name`,
    [rows],
  )
  if (made[0]) {
    const { fileId, name } = made[0]
    const message = `The version ${name} of file ${fileId} is made by a recipe.`
    throw new AppError('UploadError', { version_name: name, id_parent: fileId }, { message })
  }
  await tx.query(
    `with input as materialized (
       select "fileId", name, "locationId", decode(sha256, 'hex') as sha256, size, extension, class, "mimeType", metadata
       from json_to_recordset($1::json) as x("fileId" bigint, name text, "locationId" bigint, sha256 text, size bigint,
         extension text, class text, "mimeType" text, metadata jsonb)
     ), unused as (
       update file_blob b set touched_at = now() from file_version v join input i on i."fileId" = v.file_id and i.name = v.name
       where b.location_id = v.location_id and b.sha256 = v.sha256
     )
     insert into file_version (file_id, name, location_id, sha256, size, extension, class, mime_type, status, metadata, manual)
     select "fileId", name, "locationId", sha256, size, extension, class, "mimeType", 'done', metadata, name <> '${original}'
     from input
     on conflict (file_id, name) do update set location_id = excluded.location_id, sha256 = excluded.sha256,
       size = excluded.size, extension = excluded.extension, class = excluded.class, mime_type = excluded.mime_type,
       status = excluded.status, status_at = now(), created_at = now(), metadata = excluded.metadata, manual = excluded.manual`,
    [rows],
  )
  await tx.query(
    `update file f set filepath = x.filepath
     from json_to_recordset($1::json) as x("fileId" bigint, name text, filepath text)
     where f.id = x."fileId" and x.name = '${original}'`,
    [rows],
  )
}
