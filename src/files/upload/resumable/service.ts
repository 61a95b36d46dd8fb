/**
 * Uploads in pieces (tus 1.0). A piece is a content like any other, under its own hash: it is stored in a location, and
 * every process sees it. When all have arrived, they are read one after the other like the body of a normal upload. An
 * upload in one piece is already the file.
 */
import { createHash } from 'node:crypto'
import type { Actor } from '../../../platform/actor.ts'
import { AppError } from '../../../platform/errors.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import type { Locations } from '../../locations/service.ts'
import { cleanFileName } from '../../records/file-name.ts'
import { fileTypeOf, headBytes, typeByName } from '../../records/file-type.ts'
import { announceBlobs } from '../../records/store.ts'
import { tooLarge, type UploadPermission } from '../permission.ts'
import { type ReceivedFile, receiveFile } from '../receive.ts'
import { type StoreReceivedDeps, storeReceived, uploadInfo } from '../store-received.ts'
import { assertParents } from '../upload.ts'
import { admitPiece, admitUpload, type UploadQuotas } from './quotas.ts'
import type { ResumableUpload, UploadPart } from './store.ts'
import * as store from './store.ts'

export interface ResumableOptions extends StoreReceivedDeps {
  readonly locations: Pick<Locations, 'forOriginals' | 'storeOf'>
  readonly quotas: UploadQuotas
  readonly permission: (actor: Actor) => Promise<UploadPermission>
  readonly mayChange: (actor: Actor, ids: readonly number[]) => Promise<ReadonlySet<number>>
  /** Logs failures of the work. */
  readonly tellingFailures: <T>(actor: Actor, work: () => Promise<T>) => Promise<T>
}

export interface NewResumable {
  readonly size: number
  readonly filename: string
  readonly reference: string | null
  readonly parentId: number | null
}

/** Milliseconds without data after which an upload is removed. */
export const uploadLifetime = 86_400_000

export type ResumableService = ReturnType<typeof createResumable>

export function createResumable(options: ResumableOptions) {
  const { db, events, plan, locations, quotas, permission, mayChange, tellingFailures } = options

  async function find(actor: Actor, id: string): Promise<ResumableUpload> {
    const upload = await store.findUpload(db, actor.userId, id)
    if (!upload) throw new AppError('ResourceNotFound', { id })
    return upload
  }

  /** Stores the received bytes, also when the transfer breaks off: the next piece continues behind them. */
  async function receivePart(upload: ResumableUpload, content: AsyncIterable<Buffer>): Promise<void> {
    const there = locations.storeOf(upload.locationId)
    const hash = createHash('sha256')
    const left = upload.size - upload.received
    let size = 0
    let broken: { readonly error: unknown } | null = null
    async function* arriving(): AsyncGenerator<Buffer> {
      const chunks = content[Symbol.asyncIterator]()
      for (;;) {
        const next = await chunks.next().catch((error: unknown) => {
          broken = { error }
          return { done: true as const, value: undefined }
        })
        if (next.done) return
        size += next.value.length
        if (size > left) throw tooMuch(upload.size)
        hash.update(next.value)
        yield next.value
      }
    }
    const received = await there.receive(arriving())
    if (size === 0) await received.discard()
    else await addPart(upload, { start: upload.received, sha256: hash.digest('hex'), size }, received.keep)
    const failure = broken as { readonly error: unknown } | null
    if (failure) throw failure.error
  }

  async function addPart(
    upload: ResumableUpload,
    part: UploadPart,
    keep: (sha256: string) => Promise<void>,
  ): Promise<void> {
    await announceBlobs(db, [{ locationId: upload.locationId, ...part }])
    await keep(part.sha256)
    const added = await db.transaction((tx) => store.addPart(tx, upload, part))
    if (!added) throw conflict(upload)
  }

  /** Makes the file of a complete upload. */
  async function finish(actor: Actor, upload: ResumableUpload): Promise<number> {
    try {
      return await tellingFailures(actor, async () => {
        const arrived = await assembled(upload, await permission(actor))
        const { locationId, reference, parentId } = upload
        const [file] = await storeReceived(
          { db, events, plan },
          actor,
          [{ ...arrived, locationId, reference, parentId }],
          (made) => [
            { type: 'FILE_UPLOAD', actor, basetype: 'file', objectId: made.id, info: { file: uploadInfo(made) } },
          ],
          async (tx, [made]) => {
            if (!made || !(await store.finishUpload(tx, upload.id, made.id))) throw conflict(upload)
          },
        )
        return file?.id ?? 0
      })
    } catch (error) {
      // Another attempt would fail in the same way.
      if (error instanceof AppError && error.status < 500 && error.code !== 'UploadConflict') {
        await db.transaction((tx) => store.deleteUpload(tx, upload.id))
      }
      throw error
    }
  }

  async function assembled(upload: ResumableUpload, may: UploadPermission): Promise<ReceivedFile> {
    const there = locations.storeOf(upload.locationId)
    const parts = await store.readParts(db, upload.id)
    const [first] = parts
    const { filename: name, size } = upload
    if (!first || parts.length > 1) return receiveFile({ name, content: joined(there, parts), bytes: size }, there, may)
    const head: Buffer[] = []
    const end = Math.min(size, headBytes) - 1
    for await (const chunk of await there.read(first.sha256, { start: 0, end })) head.push(chunk as Buffer)
    const type = await fileTypeOf(name, Buffer.concat(head))
    may.check(type)
    if (size > may.most(type)) throw tooLarge(may.most(type))
    return { name, type, sha256: first.sha256, received: { size, keep: async () => {}, discard: async () => {} } }
  }

  return {
    /** Bytes that one user may announce. */
    mostBytes: quotas.bytes,

    /** Begins an upload. A file that may not be uploaded by its name or size is refused at once. Answers its id. */
    async create(actor: Actor, wanted: NewResumable): Promise<string> {
      const may = await permission(actor)
      return tellingFailures(actor, async () => {
        const filename = cleanFileName(wanted.filename)
        const named = typeByName(filename)
        if (named.extension !== '') {
          may.check(named)
          if (wanted.size > may.most(named)) throw tooMuch(may.most(named))
        }
        if (wanted.size > may.largest) throw tooMuch(may.largest)
        await assertParents({ mayChange }, actor, [wanted.parentId])
        const locationId = locations.forOriginals().id
        const free = (await locations.storeOf(locationId).free?.()) ?? Number.POSITIVE_INFINITY
        return db.transaction(async (tx) => {
          await admitUpload(tx, quotas, actor.userId, { size: wanted.size, locationId, free })
          return store.insertUpload(tx, actor.userId, { ...wanted, filename, locationId })
        })
      })
    },

    find,

    /**
     * Continues an upload. Answers its progress, and the file when it is complete.
     * @throws {AppError} `UploadConflict` when the upload has another offset.
     */
    async append(actor: Actor, id: string, offset: number, content: AsyncIterable<Buffer>): Promise<ResumableUpload> {
      const upload = await find(actor, id)
      if (offset !== upload.received) throw conflict(upload)
      if (upload.fileId !== null) return upload
      if (upload.received < upload.size) {
        admitPiece(upload)
        await receivePart(upload, content)
      }
      const now = await find(actor, id)
      return now.received < now.size ? now : { ...now, fileId: await finish(actor, now) }
    },

    async remove(actor: Actor, id: string): Promise<void> {
      const upload = await find(actor, id)
      await db.transaction((tx) => store.deleteUpload(tx, upload.id))
    },
  }
}

function conflict({ received }: ResumableUpload): AppError {
  return new AppError('UploadConflict', { offset: received })
}

async function* joined(there: BlobStore, parts: readonly UploadPart[]): AsyncGenerator<Buffer> {
  for (const { sha256 } of parts) yield* await there.read(sha256)
}

/** The protocol prescribes status 413 for an upload, and for a piece of it, that is larger than it may be. */
function tooMuch(bytes: number): AppError {
  return new AppError('PayloadTooLarge', { bytes }, { message: `The upload has at most ${bytes} bytes.` })
}
