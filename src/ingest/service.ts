/**
 * Ingest: files become parts of objects by the upload settings of a collection, for all ways of upload (`/eas/put`,
 * drives). See docs/collections.md, "Uploads".
 */
import type { CollectionService } from '../collections/service.ts'
import type { Model } from '../datamodel/model.ts'
import type { UploadsIntoCollections } from '../files/service.ts'
import type { ObjectService } from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import { type Deadline, noDeadline } from '../platform/limits/deadline.ts'
import { createRequestLimiter } from '../platform/limits/request-limiter.ts'
import type { Tx } from '../platform/postgres/db.ts'
import type { SearchService } from '../search/service.ts'
import { type Exchange, exchangeFile, type FilePlace } from './exchange.ts'
import { groupFiles, groupKey } from './group.ts'
import { folderObjects, type HierarchyDeps } from './hierarchy.ts'
import { matchingObjects } from './match.ts'
import { type IngestedFile, mostIngested, type Outcome, type Target, type UploadPlugin } from './model.ts'
import { linksFolder } from './payload.ts'
import { createRun, type GroupResult, type RunDeps, saveOptions, wouldAsk } from './run.ts'
import { uploadedBefore } from './store.ts'
import { resolveTarget } from './target.ts'

export type { IngestedFile, Outcome, Target } from './model.ts'
export { comparable, withoutExtension } from './names.ts'

export interface IngestDeps extends RunDeps, Omit<HierarchyDeps, 'objects'> {
  readonly datamodel: { current(): Model }
  readonly collections: Pick<CollectionService, 'uploads' | 'lists'>
  readonly objects: Pick<ObjectService, 'save' | 'delete'>
  readonly search: Pick<SearchService, 'walk'>
  /** @throws {AppError} `PluginNotFound`, `PluginDisabled` */
  readonly requirePlugin: (plugin: UploadPlugin) => void
  /** Uploads that may hold the lock of a collection at the same time, each on a connection (`ConnectionShares`). */
  readonly locking: number
}

export interface IngestOptions {
  /** True: all files are added to objects, or none; false: a failure does not stop the other files. */
  readonly together: boolean
  readonly awaitIndex?: number
  readonly deadline?: Deadline
  /** Runs in each transaction that adds some of the files to objects. */
  readonly alsoInSave?: (tx: Tx, files: readonly IngestedFile[]) => Promise<void>
}

export type IngestService = ReturnType<typeof createIngestService>

const nothingElse = async (): Promise<void> => {}

export function createIngestService(deps: IngestDeps) {
  const { db, datamodel, collections, read } = deps
  const limiter = createRequestLimiter({ concurrency: deps.locking })

  /**
   * The settings for an upload of the actor into a collection.
   * @throws {AppError} `ObjectNotFound`, `RightRequired`, `CollectionUploadNoObjectFound` without upload settings
   */
  async function target(actor: Actor, collectionId: number): Promise<Target> {
    const found = resolveTarget(await collections.uploads(actor, collectionId), datamodel.current())
    if (found.plugin) deps.requirePlugin(found.plugin)
    return found
  }

  /** Uploads that search for objects of other uploads take turns in a collection. */
  async function alone<T>(
    { collectionId, match, hierarchy }: Target,
    keyed: boolean,
    deadline: Deadline,
    work: () => Promise<T>,
  ) {
    if (!keyed && !match && !hierarchy) return work()
    // The object for a folder is made once, for all collections.
    const locks = [
      ['collection_upload', collectionId],
      ...(hierarchy ? [['hierarchy_upload', hierarchy.target.id]] : []),
    ] as const
    return limiter.run(deadline, async () => {
      const client = await db.connect()
      let broken = true
      try {
        for (const lock of locks) await client.query('select pg_advisory_lock(hashtext($1), hashint8($2))', [...lock])
        const result = await work()
        for (const lock of locks) await client.query('select pg_advisory_unlock(hashtext($1), hashint8($2))', [...lock])
        broken = false
        return result
      } catch (error) {
        throw isLockTimeout(error) ? new AppError('DatabaseLockError', { collection: collectionId }) : error
      } finally {
        // The lock is released with its connection.
        client.release(broken)
      }
    })
  }

  const service = {
    target,

    /**
     * Makes objects of stored files, or adds the files to objects. It takes two saves for all of them; more only to find
     * a failing one.
     * @throws {AppError} errors of the saves, with `together`; at most 1,000 files
     */
    async ingest(
      actor: Actor,
      target: Target,
      files: readonly IngestedFile[],
      { together, awaitIndex = 0, deadline = noDeadline, alsoInSave = nothingElse }: IngestOptions,
    ): Promise<Outcome[]> {
      if (files.length > mostIngested) throw new RangeError(`${files.length} files at once`)
      const keys = [...new Set(files.flatMap((file) => groupKey(file, target) ?? []))]
      return alone(target, keys.length > 0, deadline, async () => {
        const place = { collectionId: target.collectionId, objecttypeId: target.table.id }
        const grouped = groupFiles(target, files, {
          matching: await matchingObjects(deps, actor, target, files, deadline),
          uploaded: await uploadedBefore(db, place, keys),
        })
        const [refusal] = grouped.refused.values()
        if (together && refusal) throw refusal
        const options = { options: { ...saveOptions, partial: false, dryRun: false }, deadline }
        const linking = grouped.groups.flatMap(({ objectId, files }) =>
          linksFolder(target, objectId === null) ? files : [],
        )
        const folders = target.hierarchy
          ? await folderObjects(deps, actor, target.hierarchy, linking, options)
          : new Map<string, number>()
        const run = createRun(deps, { actor, target, awaitIndex, deadline, alsoInSave, folders })
        const results = await run(grouped.groups, together)
        return files.map((file) => outcomeOf(file, results, grouped.refused.get(file)))
      })
    },
  }

  /** Replaces a file by another one. @throws {AppError} */
  async function replace(actor: Actor, into: Target | null, place: FilePlace, by: number, deadline = noDeadline) {
    const mask = into?.mask ?? null
    const change = await exchangeFile({ read, model: datamodel.current(), mask }, actor, place, by, deadline)
    await patch(actor, change, deadline)
  }

  /**
   * Removes a file from its object. With `withObject`, an object without further files goes to the trash.
   * @throws {AppError}
   */
  async function remove(
    actor: Actor,
    into: Target | null,
    place: FilePlace,
    { withObject, deadline = noDeadline }: { readonly withObject: boolean; readonly deadline?: Deadline },
  ): Promise<void> {
    const mask = into?.mask ?? null
    const change = await exchangeFile({ read, model: datamodel.current(), mask }, actor, place, null, deadline)
    if (withObject && change.left === 0) {
      const triple = [change.id, change.version, 'Deleted in a shared folder']
      const options = { policy: 'remove' as const, confirmTransition: 'ALL', dryRun: false, awaitIndex: 0 }
      const deleted = await deps.objects.delete(actor, change.objecttype, [triple], options, deadline)
      if (deleted.kind === 'confirm') throw new AppError('UploadError', {}, { message: wouldAsk })
      return
    }
    await patch(actor, change, deadline)
  }

  async function patch(actor: Actor, { objecttype, payload }: Exchange, deadline: Deadline): Promise<void> {
    const options = { ...saveOptions, partial: true, dryRun: false, format: 'short' as const, awaitIndex: 0 }
    const result = await deps.objects.save(actor, objecttype, [payload], options, deadline)
    if (result.kind === 'confirm') throw new AppError('UploadError', {}, { message: wouldAsk })
  }

  /** For `/eas/put?collection=`: all files are added to objects, or the request fails and none is. */
  const ofUploads: UploadsIntoCollections = {
    async into(actor, collectionId) {
      const found = await target(actor, collectionId)
      return async (files) => {
        const outcomes = await service.ingest(actor, found, files, { together: true })
        return outcomes.map(({ objects }) =>
          objects.map(({ systemObjectId, version }) => ({ _system_object_id: systemObjectId, _version: version })),
        )
      }
    },
  }
  return { ...service, replace, remove, ofUploads }
}

function outcomeOf(file: IngestedFile, results: readonly GroupResult[], refusal: AppError | undefined): Outcome {
  const own = results.filter(({ group }) => group.files.includes(file))
  const objects = own.flatMap(({ object }) => object ?? [])
  const error = refusal ?? own.find(({ error }) => error !== null)?.error ?? null
  return { file, objects, error: objects.length > 0 ? null : error, messages: own.flatMap(({ messages }) => messages) }
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '55P03'
}
