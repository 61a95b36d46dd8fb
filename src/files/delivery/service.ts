import type { EventLog, NewEvent } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import { outsideDeadlines } from '../../platform/limits/deadline.ts'
import type { Db, Queryable } from '../../platform/postgres/db.ts'
import type { Signatures } from '../addresses/signatures.ts'
import { readArchiveEntry } from '../archives/read-entry.ts'
import type { ByteRange } from '../blobs/blob-store.ts'
import { type FileVersion, originalOf, type StoredFile } from '../model.ts'
import { cleanFileName } from '../records/file-name.ts'
import { readFiles } from '../records/store.ts'
import { remoteLocation } from '../remote/remote-store.ts'
import type { MetadataToWrite } from '../renditions/workshop/tasks.ts'
import type { Records } from '../shown/service.ts'
import { uploadInfo } from '../upload/store-received.ts'
import type { Delivery } from './deliver.ts'
import { createDerivedDownloads, type DerivedDownloadDeps } from './derived-download.ts'
import { nameFrom, ownName } from './file-names.ts'
import type { TransformRequest } from './transform-request.ts'

export interface DeliveryOptions extends DerivedDownloadDeps {
  readonly db: Db
  readonly events: EventLog
  readonly externalUrl: string
  readonly signatures: Pick<Signatures, 'left'>
  readonly records: Pick<Records, 'accessFor' | 'callerIfAny'>
  /** Whether the object with that uuid has the file. */
  readonly hasFile: (from: Queryable, fileId: number, uuid: string) => Promise<boolean>
}

/** The name that an object gives to one of its files; null: there is none, or the actor may not know it. */
export type NameInObject = (
  actor: Actor,
  uuid: string,
  file: {
    readonly id: number
    readonly class: string
    readonly extension: string
    readonly original_filename: string
    readonly version: string
  },
) => Promise<string | null>

/** The metadata to be written into a copy, for the actor; null: nothing. @throws {AppError} where the mapping cannot be used. */
export type MetadataInObject = (
  actor: Actor,
  wanted: {
    readonly fileId: number
    /** Of the original. */
    readonly hash: string
    readonly objUuid: string | null
    readonly mapping: string
  },
) => Promise<MetadataToWrite | null>

/** The target of an address. */
export interface ContentAddress {
  readonly fileId: number
  readonly hash: string
  readonly version: string
  readonly objUuid?: string | null
}

/** Most seconds for which a client may cache a content without asking again. */
const longestKept = 86_400

/** Most bytes of a packed entry that are unpacked and dropped before a range. */
const mostSkipped = 100_000_000

export interface DownloadRequest {
  readonly signature: string | undefined
  readonly transform: TransformRequest | null
  readonly nameIn: NameInObject
  readonly metadataIn: MetadataInObject
  /** Aborted when the client has closed the connection. */
  readonly signal: AbortSignal
}

/** The log of one download. */
interface LogOf {
  delivered(bytes: number, statuscode: number): void
  failed(error: Error): void
}

/** Delivers contents by their addresses, and logs the downloads. */
export function createDelivery(options: DeliveryOptions) {
  const { db, events, externalUrl, signatures, storeOf, records, hasFile } = options
  const copy = createDerivedDownloads(options)
  /** Downloads whose event is not written yet. */
  const logging = new Set<Promise<unknown>>()

  /**
   * The version at an address. A signature is a right by itself; without one the rights of the caller count. Ids are
   * numbers that anyone can count up: a caller who may not see a file gets the same answer, after as many queries, as for
   * a file that does not exist.
   * @throws {AppError} `ResourceNotFound`, `InsufficientRights`.
   */
  async function open(
    actor: Actor | null,
    address: ContentAddress,
    signature: string | undefined,
  ): Promise<{ file: StoredFile; version: FileVersion; keep: number }> {
    const { fileId, hash, version: name, objUuid = null } = address
    const left = signature === undefined ? 0 : signatures.left({ fileId, hash, version: name }, signature)
    if (left === null) throw new AppError('InsufficientRights')
    const [file] = await readFiles(db, [fileId])
    const version = file?.versions.find((one) => one.name === name)
    if (signature === undefined) {
      const { may, any } = await records.accessFor(actor, fileId, file)
      const allowed = version ? may('asset_show', version) || may('asset_download', version) : any
      if (!allowed) throw new AppError('InsufficientRights')
    }
    if (!file || !version) throw new AppError('ResourceNotFound', { fileId })
    if (hash !== version.sha256) throw new AppError('InsufficientRights')
    if (objUuid !== null && !(await hasFile(db, fileId, objUuid))) {
      throw new AppError('ResourceNotFound', { fileId, obj_uuid: objUuid })
    }
    return { file, version, keep: Math.min(left, longestKept) }
  }

  /** Runs independently of the request, which may have ended by then. */
  function log(event: NewEvent): void {
    const written = outsideDeadlines(() => events.append(db, [event])).catch(() => {})
    logging.add(written)
    written.finally(() => logging.delete(written))
  }

  /**
   * The name under which a browser saves a content. A signature alone reveals nothing of the object: only callers who can
   * see the object get its name.
   */
  async function nameOf(
    actor: Actor | null,
    uuid: string | null | undefined,
    { file, name, extension }: { readonly file: StoredFile; readonly name: string; readonly extension: string },
    nameIn: NameInObject,
  ): Promise<string> {
    const own = ownName(file, { name, extension })
    const caller = uuid == null ? null : await records.callerIfAny(actor)
    if (uuid == null || !caller) return own
    const { class: kind, extension: uploaded } = originalOf(file)
    const asked = { id: file.id, class: kind, extension, original_filename: file.filepath, version: name }
    const given = await nameIn(caller, uuid, asked)
    return (given === null ? null : nameFrom(given, extension, uploaded)) ?? own
  }

  /** Fields of objects are written only for callers who may read them: a signature alone names no user. @throws {AppError} */
  async function metadataFor(
    actor: Actor | null,
    asked: { readonly file: StoredFile; readonly objUuid: string | null; readonly transform: TransformRequest | null },
    metadataIn: MetadataInObject,
  ): Promise<MetadataToWrite | null> {
    const mapping = asked.transform?.mapping ?? null
    if (mapping === null) return null
    const caller = await records.callerIfAny(actor)
    if (!caller) throw new AppError('InsufficientRights')
    const { file, objUuid } = asked
    return metadataIn(caller, { fileId: file.id, hash: originalOf(file).sha256, objUuid, mapping })
  }

  /** The log of one download. */
  function logOf(
    actor: Actor | null,
    file: StoredFile,
    version: FileVersion,
    more: { readonly within?: string; readonly produce_params?: TransformRequest['params'] } = {},
  ): LogOf {
    const { within, ...params } = more
    const info = { ...uploadInfo(file), version: version.name }
    const steps = [file.id, version.sha256, version.name, ...(within === undefined ? [] : within.split('/'))]
    const url = `${externalUrl}/api/v1/eas/download/${steps.map(encodeURIComponent).join('/')}`
    const about = { actor, basetype: 'file', objectId: file.id } as const
    return {
      delivered(bytes: number, statuscode: number): void {
        log({ ...about, type: 'FILE_DOWNLOAD', info: { file: info, bytes_count: bytes, statuscode, url, ...params } })
      },
      failed(error: Error): void {
        // The client asked for what is not there; the file can be had.
        if (error instanceof AppError && error.code === 'RangeNotSatisfiable') return
        log({ ...about, type: 'FILE_DOWNLOAD_ERROR', info: { file: info, error: error.message, ...params } })
      },
    }
  }

  return {
    open,

    log,

    /**
     * The delivery at an address: the version as it is, or a copy, which reveals no more than the version does.
     * @throws {AppError} `ResourceNotFound`, `InsufficientRights`.
     */
    async download(
      actor: Actor | null,
      address: ContentAddress,
      { signature, transform, nameIn, metadataIn, signal }: DownloadRequest,
    ): Promise<Delivery & LogOf & { end(): void }> {
      const { file, version, keep } = await open(actor, address, signature)
      const metadata = await metadataFor(actor, { file, objUuid: address.objUuid ?? null, transform }, metadataIn)
      const isCopy = transform !== null && (transform.picture !== null || transform.bare || metadata !== null)
      const made = isCopy ? await copy(file, version, transform, metadata) : null
      const { extension } = made ?? version
      const ready = async () => (made ? made.make(signal) : { size: version.size, store: storeOf(version.locationId) })
      return {
        version: made?.content ?? version,
        ready,
        fileName: await nameOf(
          actor,
          address.objUuid,
          { file, name: transform?.preset ?? version.name, extension },
          nameIn,
        ),
        // Presets and values of objects may change at any time.
        keep: transform?.preset || transform?.mapping ? 0 : keep,
        end: () => made?.end(),
        ...logOf(actor, file, version, transform ? { produce_params: transform.params } : {}),
      }
    },

    /**
     * The entry or folder at a path in the archive at an address.
     * @throws {AppError} as above, `ServerGeneric` where it cannot be read, `ServiceUnavailable`.
     */
    async downloadWithin(
      actor: Actor | null,
      address: ContentAddress,
      signature: string | undefined,
      path: string,
      signal: AbortSignal,
    ) {
      const { file, version, keep } = await open(actor, address, signature)
      // The content would be fetched again for each piece of the directory.
      if (version.locationId === remoteLocation) throw badRequest('The archive was left on the web.', { path })
      const found = await readArchiveEntry(version, storeOf(version.locationId), path, signal)
      if (found.kind === 'folder') return { ...found, keep }
      const { sha256, size, mimeType, plain, read } = found
      const delivery = {
        version: { sha256, mimeType, createdAt: version.createdAt },
        ready: async () => ({ size, store: { read: (_: string, part?: ByteRange) => read(part) } }),
        fileName: nameWithin(found.path),
        keep,
        ...(plain ? {} : { mostSkipped }),
        ...logOf(actor, file, version, { within: found.path }),
      }
      return { kind: found.kind, delivery }
    },

    async close(): Promise<void> {
      await Promise.all(logging)
    },
  }
}

/** Entries of archives may have names that uploads may not have. */
function nameWithin(path: string): string {
  try {
    return cleanFileName(path)
  } catch {
    return 'file'
  }
}
