import type { EventLog, NewEvent } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import { outsideDeadlines } from '../../platform/limits/deadline.ts'
import type { Db } from '../../platform/postgres/db.ts'
import type { Signatures } from '../addresses/signatures.ts'
import { readArchiveEntry } from '../archives/read-entry.ts'
import type { ByteRange } from '../blobs/blob-store.ts'
import { type FileVersion, originalOf, type StoredFile } from '../model.ts'
import { cleanFileName } from '../records/file-name.ts'
import { readFiles } from '../records/store.ts'
import { remoteLocation } from '../remote/remote-store.ts'
import { type LoadedMarks, noMarks } from '../renditions/recipes/marks.ts'
import type { MetadataToWrite } from '../renditions/workshop/tasks.ts'
import type { RecordOptions, Records } from '../shown/service.ts'
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
  readonly filesWithin: RecordOptions['filesWithin']
  /** The marks that pictures of the files may have. */
  readonly marksOf: (fileIds: readonly number[]) => Promise<ReadonlyMap<number, LoadedMarks>>
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

/** The metadata to be written into a copy; null: nothing. @throws {AppError} where the mapping cannot be used. */
type FoundMetadata = () => Promise<MetadataToWrite | null>

/** The metadata to be written into copies, for the actor, in the order of the files. */
export type MetadataInObject = (
  actor: Actor,
  wanted: readonly {
    readonly fileId: number
    /** Of the original. */
    readonly hash: string
    readonly objUuid: string | null
    readonly mapping: string
  }[],
) => Promise<readonly FoundMetadata[]>

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

/** A download of a list, with the rights of the actor alone. */
export interface ListedDownload {
  readonly address: ContentAddress
  readonly transform: TransformRequest | null
}

/** A version that the caller may have. */
interface Found {
  readonly file: StoredFile
  readonly version: FileVersion
  /** Seconds. */
  readonly keep: number
}

/** The other data that its delivery needs. */
interface Prepared extends Found {
  readonly metadata: MetadataToWrite | null
  readonly marks: LoadedMarks
}

/** The log of one download. */
interface LogOf {
  delivered(bytes: number, statuscode: number): void
  failed(error: Error): void
}

type OpenedDownload = Delivery & LogOf & { end(): void }

/** Delivers contents by their addresses, and logs the downloads. */
export function createDelivery(options: DeliveryOptions) {
  const { db, events, externalUrl, signatures, storeOf, records } = options
  const copy = createDerivedDownloads(options)
  /** Downloads whose event is not written yet. */
  const logging = new Set<Promise<unknown>>()

  /**
   * The version at an address. A signature is a right by itself; without one the rights of the caller count.
   * @throws {AppError} `ResourceNotFound`, `InsufficientRights`.
   */
  async function open(actor: Actor | null, address: ContentAddress, signature: string | undefined): Promise<Found> {
    const { fileId, hash, version } = address
    const left = signature === undefined ? 0 : signatures.left({ fileId, hash, version }, signature)
    if (left === null) throw new AppError('InsufficientRights')
    const [found] = await find([address], signature === undefined ? { actor } : null)
    if (!found || found instanceof AppError) throw found
    return { ...found, keep: Math.min(left, longestKept) }
  }

  /**
   * The versions at addresses, in order, or the error of each; `caller`: the rights that count, null for all of them. Ids are
   * numbers that anyone can count up: a caller who may not see a file gets the same answer, after as many queries, as for a file
   * that does not exist. The number of queries does not grow with that of the addresses.
   */
  async function find(
    addresses: readonly ContentAddress[],
    caller: { readonly actor: Actor | null } | null,
  ): Promise<readonly (Omit<Found, 'keep'> | AppError)[]> {
    const files = new Map((await readFiles(db, idsOf(addresses))).map((file) => [file.id, file]))
    const wanted = addresses.map(({ fileId: id }) => ({ id, file: files.get(id) }))
    const access = caller ? await records.accessFor(caller.actor, wanted) : []
    const found = addresses.map(({ fileId, hash, version: name }, index) => {
      const file = files.get(fileId)
      const version = file?.versions.find((one) => one.name === name)
      const own = access[index]
      if (own) {
        const allowed = version ? own.may('asset_show', version) || own.may('asset_download', version) : own.any
        if (!allowed) return new AppError('InsufficientRights')
      }
      if (!file || !version) return new AppError('ResourceNotFound', { fileId })
      if (hash !== version.sha256) return new AppError('InsufficientRights')
      return { file, version }
    })
    const pairs = addresses.flatMap(({ fileId, objUuid: uuid = null }, index) =>
      uuid === null || found[index] instanceof AppError ? [] : [{ fileId, uuid, index }],
    )
    const within = pairs.length > 0 ? await options.filesWithin(db, pairs) : []
    const outside = new Map(pairs.flatMap(({ index, uuid }, at) => (within[at] ? [] : [[index, uuid]])))
    return found.map((one, index) =>
      outside.has(index)
        ? new AppError('ResourceNotFound', { fileId: addresses[index]?.fileId, obj_uuid: outside.get(index) })
        : one,
    )
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

  /**
   * The metadata and marks for deliveries, in their order. Fields of objects are written only for callers who may read them: a
   * signature alone names no user.
   */
  async function prepare(
    actor: Actor | null,
    wanted: readonly (ListedDownload & { readonly found: Found })[],
    metadataIn: MetadataInObject,
  ): Promise<readonly (() => Promise<Prepared>)[]> {
    const mapped = wanted.flatMap(({ found: { file }, address: { objUuid = null }, transform }, index) => {
      const mapping = transform?.mapping ?? null
      return mapping === null ? [] : [{ index, fileId: file.id, hash: originalOf(file).sha256, objUuid, mapping }]
    })
    const caller = mapped.length > 0 ? await records.callerIfAny(actor) : null
    const given = caller ? await metadataIn(caller, mapped) : []
    const metadata = new Map(mapped.map(({ index }, at) => [index, given[at] ?? withoutCaller]))
    const marked = wanted.filter(({ transform }) => transform?.picture?.watermark).map(({ address }) => address)
    const marks = marked.length > 0 ? await options.marksOf(idsOf(marked)) : new Map<number, LoadedMarks>()
    return wanted.map(({ found }, index) => async () => ({
      ...found,
      metadata: (await metadata.get(index)?.()) ?? null,
      marks: marks.get(found.file.id) ?? noMarks,
    }))
  }

  async function deliveryOf(
    actor: Actor | null,
    { address, transform }: ListedDownload,
    { file, version, keep, metadata, marks }: Prepared,
    { nameIn, signal }: Pick<DownloadRequest, 'nameIn' | 'signal'>,
  ): Promise<OpenedDownload> {
    const isCopy = transform !== null && (transform.picture !== null || transform.bare || metadata !== null)
    const made = isCopy ? copy(file, version, transform, { metadata, marks }) : null
    const { extension } = made ?? version
    const name = transform?.preset ?? version.name
    return {
      version: made?.content ?? version,
      ready: async () => (made ? made.make(signal) : { size: version.size, store: storeOf(version.locationId) }),
      fileName: await nameOf(actor, address.objUuid, { file, name, extension }, nameIn),
      // Presets and values of objects may change at any time.
      keep: transform?.preset || transform?.mapping ? 0 : keep,
      end: () => made?.end(),
      ...logOf(actor, file, version, transform ? { produce_params: transform.params } : {}),
    }
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
    ): Promise<OpenedDownload> {
      const found = await open(actor, address, signature)
      const [prepared] = await prepare(actor, [{ address, transform, found }], metadataIn)
      if (!prepared) throw new AppError('ResourceNotFound', { fileId: address.fileId })
      return deliveryOf(actor, { address, transform }, await prepared(), { nameIn, signal })
    },

    /**
     * Deliveries with the rights of the actor, in order, to be opened one after the other: the number of queries does not
     * grow with that of the deliveries. Opening one throws as `download`.
     */
    async downloads(
      actor: Actor,
      wanted: readonly ListedDownload[],
      { metadataIn, signal }: Pick<DownloadRequest, 'metadataIn' | 'signal'>,
    ): Promise<readonly (() => Promise<OpenedDownload>)[]> {
      const results = await find(
        wanted.map(({ address }) => address),
        { actor },
      )
      const allowed = wanted.flatMap((one, index) => {
        const found = results[index]
        return found && !(found instanceof AppError) ? [{ ...one, index, found: { ...found, keep: 0 } }] : []
      })
      const given = await prepare(actor, allowed, metadataIn)
      const prepared = new Map(allowed.map(({ index }, at) => [index, given[at]]))
      return wanted.map((one, index) => async () => {
        const ready = await prepared.get(index)?.()
        if (!ready) throw results[index]
        return deliveryOf(actor, one, ready, { nameIn: async () => null, signal })
      })
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

const idsOf = (addresses: readonly ContentAddress[]): readonly number[] => [
  ...new Set(addresses.map(({ fileId }) => fileId)),
]

async function withoutCaller(): Promise<never> {
  throw new AppError('InsufficientRights')
}

/** Entries of archives may have names that uploads may not have. */
function nameWithin(path: string): string {
  try {
    return cleanFileName(path)
  } catch {
    return 'file'
  }
}
