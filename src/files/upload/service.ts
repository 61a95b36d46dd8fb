import type { BaseConfig } from '../../config/service.ts'
import type { EventLog, NewEvent } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { currentDeadline } from '../../platform/limits/deadline.ts'
import { createRequestLimiter } from '../../platform/limits/request-limiter.ts'
import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'
import type { Seal } from '../../platform/secrets/seal.ts'
import { composed } from '../../platform/values/text.ts'
import type { CallerRights } from '../../rights/service.ts'
import type { Locations } from '../locations/service.ts'
import type { StoredFile } from '../model.ts'
import { findByReference } from '../records/store.ts'
import type { OpenRemote } from '../remote/open.ts'
import type { RenditionRequest } from '../renditions/plan/plan.ts'
import type { WithRecipes } from '../renditions/recipes/added.ts'
import type { WorkFolders } from '../renditions/sources/work-folders.ts'
import type { Workers } from '../renditions/workshop/workers.ts'
import type { Wire } from '../shown/render.ts'
import type { Records } from '../shown/service.ts'
import { type Derivation, deriveFile } from './derived.ts'
import type { RemoteSource } from './from-address/fetch.ts'
import { uploadRemote } from './from-address/upload.ts'
import type { Incoming } from './multipart.ts'
import { type UploadPermission, uploadPermission } from './permission.ts'
import type { UploadQuotas } from './resumable/quotas.ts'
import { createResumable } from './resumable/service.ts'
import type { PlacedOriginal, StoreReceivedDeps } from './store-received.ts'
import { type UploadOptions, upload } from './upload.ts'

export interface UploadsOptions {
  readonly db: Db
  readonly events: EventLog
  readonly settings: () => WithRecipes<Pick<BaseConfig, 'produce_config' | 'colorprofiles'>>
  readonly rights: { forActor(actor: Actor): Promise<CallerRights> }
  readonly locations: Locations
  readonly records: Records
  readonly open: OpenRemote
  readonly seal: Seal
  /** Plans the renditions of new files, in the transaction that makes them. */
  readonly plan: (tx: Tx, wishes: readonly RenditionRequest[]) => Promise<void>
  /** Called when files begin to arrive. */
  readonly expect: () => void
  readonly awaitVersion: (files: readonly StoredFile[], name: string) => Promise<readonly StoredFile[]>
  readonly uploadQuotas: UploadQuotas
  readonly inspect: NonNullable<StoreReceivedDeps['inspect']>
  readonly changed: NonNullable<StoreReceivedDeps['changed']>
  readonly workers: Workers
  readonly folders: WorkFolders
  /** Whether the object with that uuid has the file. */
  readonly hasFile: (from: Queryable, fileId: number, uuid: string) => Promise<boolean>
  /** Writes an event outside of the request's transaction. */
  readonly log: (event: NewEvent) => void
}

/** The wishes for renditions with an upload. */
export interface ProduceWish {
  /** Whether renditions are made of the file at this place of the request. */
  produce(index: number): boolean
  /** A lower number comes first. */
  readonly priority: number
}

/** Options for the answer to an upload. */
export interface UploadAnswer {
  /** Whether the answer lists other files with the same content. */
  readonly duplicates?: boolean | undefined
  /** Waits until a version of this name has been made of each file, or will not be made. */
  readonly awaited?: string | undefined
}

/**
 * Derived originals that are made at the same time, and requests that may wait; one caller may have half of the waiting
 * places.
 */
const atATime = 4
const mostDerived = 50

/** All kinds of uploads: with a request, from addresses, in pieces. */
export function createUploads(options: UploadsOptions) {
  const { db, events, settings, rights, locations, records, open, seal, plan, expect, awaitVersion, log } = options

  /** Plans renditions of the files of a request. */
  const planBy = (wish: ProduceWish) => (tx: Tx, originals: readonly PlacedOriginal[]) =>
    plan(
      tx,
      originals.map(({ fileId, index, original }) => ({
        fileId,
        produce: wish.produce(index),
        priority: wish.priority,
        original,
      })),
    )
  const limiter = createRequestLimiter({ concurrency: atATime, waiting: mostDerived, waitingOfCaller: mostDerived / 2 })
  const keeping = {
    db,
    events,
    locations,
    mayChange: records.mayChange,
    inspect: options.inspect,
    changed: options.changed,
  }

  async function tellingFailures<T>(actor: Actor, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof AppError) {
        log({ type: 'FILE_UPLOAD_ERROR', actor, basetype: 'file', info: { error: error.message } })
      }
      throw error
    }
  }

  async function permission(actor: Actor): Promise<UploadPermission> {
    const caller = await rights.forActor(actor)
    return uploadPermission(caller.itemsAnywhere('asset_upload'), settings().produce_config.value)
  }

  /** The records of existing and new files, in the order of their sources. */
  async function renderSources(
    actor: Actor,
    sources: readonly RemoteSource[],
    idOf: (source: RemoteSource) => number | undefined,
    wasThere: (reference: string) => boolean,
  ): Promise<Wire[]> {
    const ids = sources.map((source) => idOf(source) as number)
    const caller = await rights.forActor(actor)
    const known = (await records.load(db, caller, [...new Set(ids)])).filter(({ access }) => access.any)
    const wires = await records.render(db, actor, known, 'long')
    return ids.map((id) => {
      const wire = wires.get(id)
      if (!wire) throw new AppError('DatabaseUniqueKeyViolation', { name: 'reference' })
      const twice = wasThere(`${wire.reference}`) || ids.filter((one) => one === id).length > 1
      return twice ? { ...wire, _duplicates: [{ _id: id, certainty: 1 }] } : wire
    })
  }

  return {
    /** The permission of the caller to upload, before anything is read. @throws {AppError} `RightRequired` when there is none. */
    permission,

    resumable: createResumable({
      ...keeping,
      plan: planBy({ produce: () => true, priority: 0 }),
      quotas: options.uploadQuotas,
      permission,
      tellingFailures,
    }),

    /** Stores all files or none, and answers their records. */
    async put(
      actor: Actor,
      incoming: AsyncIterable<Incoming>,
      allowed: UploadPermission,
      more: UploadOptions,
      wish: ProduceWish,
      { duplicates = false, awaited }: UploadAnswer = {},
    ): Promise<Wire[]> {
      if (wish.produce(0)) expect()
      const stored = await tellingFailures(actor, () =>
        upload({ ...keeping, plan: planBy(wish) }, actor, incoming, allowed, more),
      )
      const files = awaited === undefined ? stored : await awaitVersion(stored, awaited)
      const wires = await records.renderUploaded(actor, files)
      if (!duplicates) return wires
      const told = await records.withDuplicates(
        await rights.forActor(actor),
        new Map(files.map(({ id }, index) => [id, wires[index] as Wire])),
      )
      return [...told.values()]
    },

    /** Makes another original of a picture, and answers its record. @throws {AppError} */
    async derive(
      actor: Actor,
      allowed: UploadPermission,
      wish: Derivation,
      { objUuid, signal }: { readonly objUuid: string | undefined; readonly signal: AbortSignal },
    ): Promise<Wire> {
      return limiter.run(currentDeadline(), async () => {
        const { workers, folders, hasFile } = options
        const deps = { db, events, locations, records, workers, folders, plan }
        const caller = await rights.forActor(actor)
        const has = (fileId: number, uuid: string) => hasFile(db, fileId, uuid)
        const file = await deriveFile(
          { ...deps, hasFile: has, profiles: () => settings().colorprofiles },
          actor,
          caller,
          allowed,
          wish,
          { objUuid, signal },
        )
        const [wire] = await records.renderUploaded(actor, [file])
        return wire ?? {}
      })
    },

    /**
     * The same for files on the web. With `skipDuplicates`, a file that already has the given reference is used instead
     * of a new one, if the caller may see it. A reference that is twice in the list is uploaded once.
     */
    async putRemote(
      actor: Actor,
      given: readonly RemoteSource[],
      allowed: UploadPermission,
      { skipDuplicates, priority }: { readonly skipDuplicates: boolean; readonly priority: number },
    ): Promise<Wire[]> {
      const sources = given.map((source) =>
        source.reference === undefined ? source : { ...source, reference: composed(source.reference) },
      )
      const references = sources.flatMap(({ reference }) => reference ?? [])
      const stored = skipDuplicates ? await findByReference(db, references) : new Map<string, number>()
      const wanted = sources.filter(
        ({ reference }, index) =>
          reference === undefined ||
          !skipDuplicates ||
          (!stored.has(reference) && sources.findIndex((one) => one.reference === reference) === index),
      )
      const wish: ProduceWish = {
        // Files that stay on the web are not fetched for renditions.
        produce: (index) => wanted[index]?.produce_versions !== false && wanted[index]?.leave !== true,
        priority,
      }
      const deps = { ...keeping, open, seal, log, plan: planBy(wish) }
      const files =
        wanted.length === 0 ? [] : await tellingFailures(actor, () => uploadRemote(deps, actor, wanted, allowed))
      const made = new Map(wanted.map((source, index) => [source, files[index] as StoredFile]))
      const byReference = new Map(files.map((file) => [file.reference, file.id]))
      const idOf = (source: RemoteSource): number | undefined =>
        made.get(source)?.id ?? stored.get(source.reference ?? '') ?? byReference.get(source.reference ?? null)
      return renderSources(actor, sources, idOf, (reference) => stored.has(reference))
    },
  }
}
