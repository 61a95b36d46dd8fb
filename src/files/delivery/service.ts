import type { EventLog, NewEvent } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Db, Queryable } from '../../platform/db.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import { outsideLifetimes } from '../../platform/lifetime.ts'
import { lookInto } from '../archives/look.ts'
import type { BlobStore, ByteRange } from '../blobs/blob-store.ts'
import { type FileVersion, original, type StoredFile } from '../model.ts'
import type { Records } from '../records/service.ts'
import { readFiles } from '../records/store.ts'
import { remoteLocation } from '../remote/remote-store.ts'
import { cleanFileName } from '../upload/file-name.ts'
import { uploadInfo } from '../upload/keep.ts'
import type { Signatures } from './signatures.ts'

export interface DeliveryOptions {
  readonly db: Db
  readonly events: EventLog
  readonly externalUrl: string
  readonly signatures: Pick<Signatures, 'left'>
  readonly storeOf: (locationId: number) => BlobStore
  readonly records: Pick<Records, 'accessFor'>
  /** Whether the object of that uuid has the file. */
  readonly hasFile: (from: Queryable, fileId: number, uuid: string) => Promise<boolean>
}

/** What an address names. */
export interface Place {
  readonly fileId: number
  readonly hash: string
  readonly version: string
  readonly objUuid?: string | null
}

/** Seconds for which a client may keep a content at most without asking again. */
const longestKept = 86_400

/** Bytes of a packed entry that are unpacked for nothing before a range. */
const mostSkipped = 100_000_000

/** Contents at their addresses, and the log of those that were taken. */
export function createDelivery(options: DeliveryOptions) {
  const { db, events, externalUrl, signatures, storeOf, records, hasFile } = options
  /** Downloads whose event is not written yet. */
  const logging = new Set<Promise<unknown>>()

  /**
   * The version at an address. A signature is a right of its own; without one the rights of the caller count.
   * @throws {AppError} `ResourceNotFound`, `InsufficientRights`.
   */
  async function open(
    actor: Actor | null,
    place: Place,
    signature: string | undefined,
  ): Promise<{ file: StoredFile; version: FileVersion; keep: number }> {
    const { fileId, hash, version: name, objUuid = null } = place
    const [file] = await readFiles(db, [fileId])
    const version = file?.versions.find((one) => one.name === name)
    if (!file || !version) throw new AppError('ResourceNotFound', { fileId })
    if (hash !== version.sha256) throw new AppError('InsufficientRights')
    let left: number | null = 0
    if (signature !== undefined) left = signatures.left({ fileId, hash, version: name }, signature)
    else {
      const access = await records.accessFor(actor, file)
      if (!access.may('asset_show', version) && !access.may('asset_download', version)) left = null
    }
    if (left === null) throw new AppError('InsufficientRights')
    if (objUuid !== null && !(await hasFile(db, fileId, objUuid))) {
      throw new AppError('ResourceNotFound', { fileId, obj_uuid: objUuid })
    }
    return { file, version, keep: Math.min(left, longestKept) }
  }

  /** Beside the request, which may be over by then. */
  function log(event: NewEvent): void {
    const written = outsideLifetimes(() => events.append(db, [event])).catch(() => {})
    logging.add(written)
    written.finally(() => logging.delete(written))
  }

  /** How the event log is told of one download. */
  function logOf(actor: Actor | null, file: StoredFile, version: FileVersion, within?: string) {
    const info = { ...uploadInfo(file), version: version.name }
    const steps = [file.id, version.sha256, version.name, ...(within === undefined ? [] : within.split('/'))]
    const url = `${externalUrl}/api/v1/eas/download/${steps.map(encodeURIComponent).join('/')}`
    const about = { actor, basetype: 'file', objectId: file.id } as const
    return {
      delivered(bytes: number, statuscode: number): void {
        log({ ...about, type: 'FILE_DOWNLOAD', info: { file: info, bytes_count: bytes, statuscode, url } })
      },
      failed(error: Error): void {
        log({ ...about, type: 'FILE_DOWNLOAD_ERROR', info: { file: info, error: error.message } })
      },
    }
  }

  return {
    open,

    log,

    /** What is to be delivered at an address. @throws {AppError} `ResourceNotFound`, `InsufficientRights`. */
    async download(actor: Actor | null, place: Place, signature: string | undefined) {
      const { file, version, keep } = await open(actor, place, signature)
      return {
        version,
        store: storeOf(version.locationId),
        fileName: version.name === original ? file.filepath : `${file.filepath}.${version.name}.${version.extension}`,
        keep,
        ...logOf(actor, file, version),
      }
    },

    /**
     * What lies at a path in the archive at an address. @throws {AppError} as above, `ServerGeneric` where it cannot be
     * read, `ServiceUnavailable`.
     */
    async downloadWithin(
      actor: Actor | null,
      place: Place,
      signature: string | undefined,
      path: string,
      signal: AbortSignal,
    ) {
      const { file, version, keep } = await open(actor, place, signature)
      // It would be fetched anew for each piece of the directory.
      if (version.locationId === remoteLocation) throw badRequest('The archive was left on the web.', { path })
      const found = await lookInto(version, storeOf(version.locationId), path, signal)
      if (found.kind === 'folder') return { ...found, keep }
      const { sha256, size, mimeType, plain, read } = found
      const delivery = {
        version: { sha256, size, mimeType, createdAt: version.createdAt },
        store: { read: (_: string, part?: ByteRange) => read(part) },
        fileName: nameWithin(found.path),
        keep,
        ...(plain ? {} : { mostSkipped }),
        ...logOf(actor, file, version, found.path),
      }
      return { kind: found.kind, delivery }
    },

    async close(): Promise<void> {
      await Promise.all(logging)
    },
  }
}

/** Entries of archives may have names that no upload may have. */
function nameWithin(path: string): string {
  try {
    return cleanFileName(path)
  } catch {
    return 'file'
  }
}
