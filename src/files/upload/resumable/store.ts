import type { Queryable, Tx } from '../../../platform/postgres/db.ts'
import type { Sha256 } from '../../blobs/blob-store.ts'

export interface ResumableUpload {
  readonly id: string
  readonly locationId: number
  readonly filename: string
  readonly size: number
  /** Received bytes. */
  readonly received: number
  /** Number of received pieces. */
  readonly pieces: number
  readonly reference: string | null
  readonly parentId: number | null
  readonly fileId: number | null
  readonly touchedAt: Date
}

export interface UploadPart {
  readonly start: number
  readonly sha256: Sha256
  readonly size: number
}

export type NewUpload = Pick<ResumableUpload, 'locationId' | 'filename' | 'size' | 'reference' | 'parentId'>

export async function insertUpload(from: Queryable, userId: number, upload: NewUpload): Promise<string> {
  const { rows } = await from.query<{ id: string }>(
    `insert into file_upload (user_id, location_id, filename, size, reference, parent_id)
     values ($1, $2, $3, $4, $5, $6) returning id`,
    [userId, upload.locationId, upload.filename, upload.size, upload.reference, upload.parentId],
  )
  return String(rows[0]?.id)
}

/** Uploads of a user that are not files yet. The user can begin no other upload until the transaction ends. */
export async function lockOpenUploads(
  tx: Tx,
  userId: number,
  locationId: number,
): Promise<{ readonly count: number; readonly bytes: number; readonly here: number }> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 631))', [`uploads of ${userId}`])
  const { rows } = await tx.query<{ count: number; bytes: number; here: number }>(
    `select count(*)::int as count, coalesce(sum(size), 0)::bigint as bytes,
       coalesce(sum(size - received) filter (where location_id = $2), 0)::bigint as here
     from file_upload where user_id = $1 and file_id is null`,
    [userId, locationId],
    'open-uploads',
  )
  return rows[0] ?? { count: 0, bytes: 0, here: 0 }
}

/** An upload of this user; null when there is none. */
export async function findUpload(from: Queryable, userId: number, id: string): Promise<ResumableUpload | null> {
  const { rows } = await from.query<ResumableUpload>(
    `select id, location_id as "locationId", filename, size, received, pieces, reference, parent_id as "parentId",
       file_id as "fileId", touched_at as "touchedAt" from file_upload where id = $1 and user_id = $2`,
    [id, userId],
    'find-upload',
  )
  return rows[0] ?? null
}

/** Whether the piece could be added: another process may have been faster. */
export async function addPart(tx: Tx, { id, locationId }: ResumableUpload, part: UploadPart): Promise<boolean> {
  const { rowCount } = await tx.query(
    'update file_upload set received = received + $3, pieces = pieces + 1, touched_at = now() where id = $1 and received = $2',
    [id, part.start, part.size],
  )
  if (rowCount === 0) return false
  await tx.query(
    `insert into file_upload_part (upload_id, start, location_id, sha256) values ($1, $2, $3, decode($4, 'hex'))`,
    [id, part.start, locationId, part.sha256],
  )
  return true
}

/** Its pieces, from the first to the last. */
export async function readParts(from: Queryable, id: string): Promise<UploadPart[]> {
  const { rows } = await from.query<UploadPart>(
    `select p.start, encode(p.sha256, 'hex') as sha256, b.size
     from file_upload_part p join file_blob b using (location_id, sha256) where upload_id = $1 order by p.start`,
    [id],
  )
  return rows
}

/** Whether this made it a file: no other process was faster. Its pieces have no owner from now on. */
export async function finishUpload(tx: Tx, id: string, fileId: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    'update file_upload set file_id = $2, touched_at = now() where id = $1 and file_id is null',
    [id, fileId],
  )
  await deleteParts(tx, id)
  return rowCount === 1
}

export async function deleteUpload(tx: Tx, id: string): Promise<void> {
  await tx.query('select from file_upload where id = $1 for update', [id])
  await deleteParts(tx, id)
  await tx.query('delete from file_upload where id = $1', [id])
}

async function deleteParts(tx: Tx, id: string): Promise<void> {
  await tx.query(
    `with gone as (delete from file_upload_part where upload_id = $1 returning location_id, sha256)
     update file_blob b set touched_at = now() from gone where b.location_id = gone.location_id and b.sha256 = gone.sha256`,
    [id],
  )
}
