/**
 * Ingest: files become parts of objects by the upload settings of a collection, whichever way they come in (`/eas/put`,
 * drives). See docs/collections.md, "Uploads".
 */
import type { CollectionService } from '../collections/service.ts'
import type { Model } from '../datamodel/model.ts'
import type { EventLog, NewEvent } from '../events/service.ts'
import type { UploadsIntoCollections } from '../files/service.ts'
import type { ObjectService, ReadService, SavedHead, SaveOptions, WithSave } from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import { type Deadline, noDeadline } from '../platform/limits/deadline.ts'
import { createRequestLimiter } from '../platform/limits/request-limiter.ts'
import type { Db, Tx } from '../platform/postgres/db.ts'
import type { SearchService } from '../search/service.ts'
import { type Exchange, exchangeFile, type FilePlace } from './exchange.ts'
import { type Group, groupFiles, groupKey } from './group.ts'
import { matchingObjects } from './match.ts'
import { type IngestedFile, mostIngested, type Outcome, type ReachedObject, type Target } from './model.ts'
import { createPayload, updatePayload, type Wire } from './payload.ts'
import { inCollection, noteUploads, uploadedBefore } from './store.ts'
import { resolveTarget } from './target.ts'

export type { IngestedFile, Outcome, Target } from './model.ts'

export interface IngestDeps {
  readonly db: Db
  readonly events: Pick<EventLog, 'append'>
  readonly datamodel: { current(): Model }
  readonly collections: Pick<CollectionService, 'uploads' | 'lists'>
  readonly objects: Pick<ObjectService, 'save' | 'delete'>
  readonly read: Pick<ReadService, 'stream'>
  readonly search: Pick<SearchService, 'walk'>
  readonly metadata: MetadataSource
  /** Milliseconds that an upload waits for the one before it in the same collection. */
  readonly lockTimeout: number
}

/** What files say of themselves, as blocks of objects (mappings/import). */
interface MetadataSource {
  wait(ids: readonly number[]): Promise<void>
  map(actor: Actor, ids: readonly number[], query: MetadataQuery): Promise<ReadonlyMap<number, object>>
  profile(actor: Actor, query: MetadataQuery): Promise<string | null>
}

interface MetadataQuery {
  readonly mapping: string
  readonly objecttype: string
  readonly mask: string
  readonly pool_id?: number
}

export interface IngestOptions {
  /** All files come into objects or none does; otherwise one that fails does not stop the others. */
  readonly together: boolean
  readonly awaitIndex?: number
  readonly deadline?: Deadline
}

export type IngestService = ReturnType<typeof createIngestService>

/** Uploads that hold the lock of a collection have a connection of their own. */
const atATime = 4

export function createIngestService(deps: IngestDeps) {
  const { db, datamodel, collections, read } = deps
  const limiter = createRequestLimiter({ concurrency: atATime })

  /**
   * What an upload of the actor into a collection comes to.
   * @throws {AppError} `ObjectNotFound`, `RightRequired`, `CollectionUploadNoObjectFound` without upload settings
   */
  async function target(actor: Actor, collectionId: number): Promise<Target> {
    return resolveTarget(await collections.uploads(actor, collectionId), datamodel.current())
  }

  /** Uploads that look for what others have made take turns in a collection. */
  async function alone<T>({ collectionId, match }: Target, keyed: boolean, deadline: Deadline, work: () => Promise<T>) {
    if (!keyed && !match) return work()
    return limiter.run(deadline, async () => {
      const client = await db.connect()
      let broken = true
      try {
        await client.query("select set_config('lock_timeout', $1, false)", [String(deps.lockTimeout)])
        await client.query("select pg_advisory_lock(hashtext('collection_upload'), hashint8($1))", [collectionId])
        const result = await work()
        await client.query("select pg_advisory_unlock(hashtext('collection_upload'), hashint8($1))", [collectionId])
        broken = false
        return result
      } catch (error) {
        throw isLockTimeout(error) ? new AppError('DatabaseLockError', { collection: collectionId }) : error
      } finally {
        // The lock goes with its connection.
        client.release(broken)
      }
    })
  }

  const service = {
    target,

    /**
     * Makes objects of files that are stored, or adds these to objects; two saves for all of them, more only to find the one
     * that fails.
     * @throws {AppError} whatever a save refuses, with `together`; at most 1,000 files
     */
    async ingest(
      actor: Actor,
      target: Target,
      files: readonly IngestedFile[],
      { together, awaitIndex = 0, deadline = noDeadline }: IngestOptions,
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
        const run = createRun(deps, { actor, target, awaitIndex, deadline })
        const results = await run(grouped.groups, together)
        return files.map((file) => outcomeOf(file, results, grouped.refused.get(file)))
      })
    },
  }

  /** Puts a file into the place of another one. @throws {AppError} */
  async function replace(actor: Actor, into: Target | null, place: FilePlace, by: number, deadline = noDeadline) {
    const mask = into?.mask ?? null
    const change = await exchangeFile({ read, model: datamodel.current(), mask }, actor, place, by, deadline)
    await patch(actor, change, deadline)
  }

  /**
   * Takes a file out of its object; the object goes to the trash where `withObject` says so and it has no other file.
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

  /** For `/eas/put?collection=`: all files come into objects, or the request fails and they stay without. */
  const ofUploads: UploadsIntoCollections = {
    async into(actor, collectionId) {
      const found = await target(actor, collectionId)
      return async (files) => {
        const named = files.map((file): IngestedFile => ({ ...file, path: '' }))
        const outcomes = await service.ingest(actor, found, named, { together: true })
        return outcomes.map(({ objects }) =>
          objects.map(({ systemObjectId, version }) => ({ _system_object_id: systemObjectId, _version: version })),
        )
      }
    },
  }
  return { ...service, replace, remove, ofUploads }
}

interface GroupResult {
  readonly group: Group
  readonly object: ReachedObject | null
  readonly error: AppError | null
}

function outcomeOf(file: IngestedFile, results: readonly GroupResult[], refusal: AppError | undefined): Outcome {
  const own = results.filter(({ group }) => group.files.includes(file))
  const objects = own.flatMap(({ object }) => object ?? [])
  const error = refusal ?? own.find(({ error }) => error !== null)?.error ?? null
  return { file, objects, error: objects.length > 0 ? null : error }
}

interface RunOptions {
  readonly actor: Actor
  readonly target: Target
  readonly awaitIndex: number
  readonly deadline: Deadline
}

/** How objects are saved. */
interface SaveAs {
  /** Only what is sent changes. */
  readonly partial: boolean
  /** Of the mapping by which values came. */
  readonly profile?: string | null
  readonly dryRun?: boolean
}

/** A group and what it is sent as. */
interface Ready {
  readonly group: Group
  readonly payload: Wire
}

function createRun(deps: IngestDeps, { actor, target, awaitIndex, deadline }: RunOptions) {
  const { events, collections, objects, read } = deps

  /** What belongs to a save: the collection has the objects, the uploads are noted, the log tells them. */
  const withSave =
    (ready: readonly Ready[], profile: string | null): WithSave =>
    async (tx, saved) => {
      await joinCollection(tx, saved)
      const uploads = ready.flatMap(({ group }, index) =>
        group.files.map((file) => ({ file, object: saved[index] as SavedHead, created: group.objectId === null })),
      )
      await noteUploads(tx, target.collectionId, uploads)
      await events.append(tx, [
        ...uploads.map(({ file, object }, index) => uploadEvent(actor, target, { file, object, index })),
        ...(profile === null ? [] : [mappingEvent(actor, target, ready, profile)]),
      ])
    }

  async function joinCollection(tx: Tx, saved: readonly SavedHead[]): Promise<void> {
    const ids = [...new Set(saved.map(({ systemObjectId }) => systemObjectId))]
    const there = await inCollection(tx, target.collectionId, ids)
    const missing = ids.filter((id) => !there.has(id))
    if (missing.length > 0) await collections.lists.add(tx, actor, target.collectionId, missing, 'collection')
  }

  async function save(
    ready: readonly Ready[],
    { partial, profile = null, dryRun = false }: SaveAs,
  ): Promise<readonly SavedHead[]> {
    const options = { ...saveOptions, partial, dryRun, format: 'short' as const, awaitIndex }
    const result = await objects.save(
      actor,
      target.table.name,
      ready.map(({ payload }) => payload),
      options,
      deadline,
      withSave(ready, profile),
    )
    if (result.kind === 'done') return result.objects
    throw new AppError(
      'UploadError',
      {},
      { message: 'A save of the object would ask a question; nobody can answer it.' },
    )
  }

  /** All of them, or, where one fails, those that can be saved: halves are tried, until the one is found. */
  async function saveEach(ready: readonly Ready[], as: SaveAs): Promise<GroupResult[]> {
    if (ready.length === 0) return []
    try {
      const saved = await save(ready, as)
      return ready.map(({ group }, index) => ({ group, object: saved[index] as SavedHead, error: null }))
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500 || error.status === 423) throw error
      if (ready.length === 1) return ready.map(({ group }) => ({ group, object: null, error }))
      const half = ready.length >> 1
      return [...(await saveEach(ready.slice(0, half), as)), ...(await saveEach(ready.slice(half), as))]
    }
  }

  /** New objects, with what their first files say of themselves. */
  async function creations(groups: readonly Group[]): Promise<{ fresh: Ready[]; profile: string | null }> {
    const { mapping, table, mask, poolId } = target
    const query = {
      mapping: `${mapping}`,
      objecttype: table.name,
      mask: mask.name,
      ...(poolId === null ? {} : { pool_id: poolId }),
    }
    const profile = mapping === null || groups.length === 0 ? null : await deps.metadata.profile(actor, query)
    const firsts = groups.map(({ files }) => files[0]?.fileId as number)
    if (profile !== null) await deps.metadata.wait(firsts)
    const mapped = profile === null ? new Map<number, object>() : await deps.metadata.map(actor, firsts, query)
    const fresh = groups.map((group, index): Ready => {
      const object = (mapped.get(firsts[index] as number) ?? {}) as Wire
      const { _pool: _, ...block } = (object[table.name] ?? {}) as Wire
      return { group, payload: createPayload(target, group, block) }
    })
    return { fresh, profile }
  }

  async function updates(
    groups: readonly Group[],
    together: boolean,
  ): Promise<{ ready: Ready[]; failed: GroupResult[] }> {
    const ids = groups.map(({ objectId }) => objectId as number)
    const stored = new Map<number, Wire>()
    for await (const object of read.stream(actor, ids, { format: 'standard', mask: target.mask }, deadline)) {
      stored.set(object._system_object_id as number, object)
    }
    const ready: Ready[] = []
    const failed: GroupResult[] = []
    for (const group of groups) {
      try {
        const object = stored.get(group.objectId as number)
        if (!object) throw new AppError('CollectionUploadNoObjectFound', { file: group.files[0]?.name ?? '' })
        ready.push({ group, payload: updatePayload(target, group, object) })
      } catch (error) {
        if (together || !(error instanceof AppError)) throw error
        failed.push({ group, object: null, error })
      }
    }
    return { ready, failed }
  }

  return async (groups: readonly Group[], together: boolean): Promise<GroupResult[]> => {
    const { fresh, profile } = await creations(groups.filter(({ objectId }) => objectId === null))
    const { ready, failed } = await updates(
      groups.filter(({ objectId }) => objectId !== null),
      together,
    )
    const [creating, updating]: readonly SaveAs[] = [{ partial: false, profile }, { partial: true }] as const
    if (!together) return [...failed, ...(await saveEach(fresh, creating)), ...(await saveEach(ready, updating))]
    // Two saves are two transactions: what the second would be refused for comes out before the first.
    if (fresh.length > 0 && ready.length > 0) await save(ready, { ...updating, dryRun: true })
    const results: GroupResult[] = []
    for (const [list, as] of [
      [fresh, creating],
      [ready, updating],
    ] as const) {
      if (list.length === 0) continue
      const saved = await save(list, as)
      results.push(...list.map(({ group }, index) => ({ group, object: saved[index] as SavedHead, error: null })))
    }
    return results
  }
}

const wouldAsk = 'A save of the object would ask a question; nobody can answer it.'

/** As a client saves who has nobody to ask. */
const saveOptions: Omit<SaveOptions, 'partial' | 'dryRun'> = {
  strict: true,
  skipReverseNested: true,
  skipBidirectionalUpdate: false,
  skipIndex: false,
  skipConstraints: false,
  skipPlugins: false,
  skipEvents: false,
  revoke: true,
  confirmTransition: 'ALL',
  collection: undefined,
  collectionPolicy: 'setinvalid',
  reversePoolChangedMode: undefined,
}

function uploadEvent(
  actor: Actor,
  { collectionId }: Target,
  { file, object, index }: { file: IngestedFile; object: SavedHead; index: number },
): NewEvent {
  const info = {
    path: file.path,
    object_in_batch: index,
    file_eas_id: file.fileId,
    file: file.name,
    filesize: file.bytes,
    system_object_id: object.systemObjectId,
  }
  return { type: 'COLLECTION_UPLOAD', actor, basetype: 'collection', schema: 'BASE', objectId: collectionId, info }
}

/** One for all objects of a save whose values came by a mapping. */
function mappingEvent(
  actor: Actor,
  { collectionId }: Target,
  ready: readonly Ready[],
  metadata_mapping_profile: string,
): NewEvent {
  const info = { path: ready[0]?.group.files[0]?.path ?? '', metadata_mapping_profile }
  return { type: 'COLLECTION_UPLOAD', actor, basetype: 'collection', schema: 'BASE', objectId: collectionId, info }
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '55P03'
}
