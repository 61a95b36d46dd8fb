import { AppError } from '../../../platform/errors.ts'
import { quotaExceeded } from '../../../platform/limits/callers.ts'
import type { Tx } from '../../../platform/postgres/db.ts'
import type { ResumableUpload } from './store.ts'
import * as store from './store.ts'

export interface UploadQuotas {
  /** Uploads of one user that are not files yet. */
  readonly uploads: number
  /** Bytes announced by these together. */
  readonly bytes: number
}

/** Seconds after which a client may try again: an upload may have become a file by then. */
const comeBackAfter = 60
/** Pieces that any upload may have, and the bytes for each further one: proxies accept at least some hundred kilobytes. */
const anyPieces = 1000
const bytesOfPiece = 256 * 1024

/**
 * Whether a user may begin one more upload. Announced sizes of other users do not count: no user can reserve space.
 * @throws {AppError} `QuotaExceeded`; `ServiceUnavailable` where there is less room than the user has announced.
 */
export async function admitUpload(
  tx: Tx,
  { uploads, bytes }: UploadQuotas,
  userId: number,
  wanted: { readonly size: number; readonly locationId: number; readonly free: number },
): Promise<void> {
  const open = await store.lockOpenUploads(tx, userId, wanted.locationId)
  if (open.count >= uploads) throw quotaExceeded('svc.quotas.uploads', uploads, comeBackAfter)
  if (open.bytes + wanted.size > bytes) throw quotaExceeded('svc.quotas.uploadBytes', bytes, comeBackAfter)
  if (open.here + wanted.size > wanted.free) {
    throw new AppError(
      'ServiceUnavailable',
      { size: wanted.size },
      { message: 'There is no room for files of this size.' },
    )
  }
}

/** Limits the pieces: each is a row, and a separate content until all have arrived. @throws {AppError} `UploadError` */
export function admitPiece({ size, pieces }: ResumableUpload): void {
  const most = anyPieces + Math.floor(size / bytesOfPiece)
  if (pieces < most) return
  const message = `The upload comes in too many pieces: ${most} at most of ${size} bytes.`
  throw new AppError('UploadError', { most }, { message })
}
