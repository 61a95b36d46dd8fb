/** Saves the objects made of files: new objects in one save, changed ones in another. */
import type { CollectionService } from '../collections/service.ts'
import type { Column } from '../datamodel/model.ts'
import type { EventLog, NewEvent } from '../events/service.ts'
import { type ObjectService, type ReadService, type SavedHead, unattended, type WithSave } from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import type { Deadline } from '../platform/limits/deadline.ts'
import type { Db, Tx } from '../platform/postgres/db.ts'
import type { RecipeConfigs } from '../plugins/service.ts'
import type { Group } from './group.ts'
import type { IngestedFile, ReachedObject, Target, Wire } from './model.ts'
import { createPayload, type FolderObjects, linksFolder, updatePayload } from './payload.ts'
import { inCollection, noteUploads } from './store.ts'
import { type LogEntry, logEvent, type UploadPluginDeps, uploadCallback } from './upload-plugin.ts'

/** The metadata of files, as blocks of objects (mappings/import). */
export interface MetadataSource {
  wait(ids: readonly number[]): Promise<void>
  map(actor: Actor, ids: readonly number[], query: MetadataQuery): Promise<ReadonlyMap<number, object>>
  profile(actor: Actor, query: MetadataQuery): Promise<string | null>
}

interface MetadataQuery {
  readonly mapping: string
  readonly objecttype: string
  readonly mask: string
  readonly pool_id?: number
  readonly linked_pool_id?: number
  readonly linkedPools?: ReadonlyMap<Column, number>
  readonly recipeConfigs?: RecipeConfigs
}

export interface GroupResult {
  readonly group: Group
  readonly object: ReachedObject | null
  readonly error: AppError | null
  /** Messages of plugins about it. */
  readonly messages: readonly string[]
}

export interface RunDeps extends UploadPluginDeps {
  readonly db: Db
  readonly events: Pick<EventLog, 'append'>
  readonly collections: Pick<CollectionService, 'lists'>
  readonly objects: Pick<ObjectService, 'save'>
  readonly read: Pick<ReadService, 'stream'>
  readonly metadata: MetadataSource
}

interface RunOptions {
  readonly actor: Actor
  readonly target: Target
  readonly awaitIndex: number
  readonly deadline: Deadline
  /** Runs in each transaction that adds some of the files to objects. */
  readonly alsoInSave: (tx: Tx, files: readonly IngestedFile[]) => Promise<void>
  /** Objects for the folders of files. */
  readonly folders: FolderObjects
}

/** How objects are saved. */
interface SaveAs {
  /** Only sent members are changed. */
  readonly partial: boolean
  /** The profile of the mapping that gave the values. */
  readonly profile?: string | null
  readonly dryRun?: boolean
}

/** A group and its object to be saved. */
interface Ready {
  readonly group: Group
  readonly payload: Wire
}

/** Saves groups of files for one upload. The results have no fixed order. */
export function createRun(deps: RunDeps, { actor, target, awaitIndex, deadline, alsoInSave, folders }: RunOptions) {
  const { events, collections, objects, read } = deps

  /** Runs with a save: adds the objects to the collection, notes the uploads, and writes the log events. */
  const withSave =
    (ready: readonly Ready[], profile: string | null, log: readonly LogEntry[]): WithSave =>
    async (tx, saved) => {
      await joinCollection(tx, saved)
      const uploads = ready.flatMap(({ group }, index) =>
        group.files.map((file) => ({ file, object: saved[index] as SavedHead, created: group.objectId === null })),
      )
      const objectOf = new Map(ready.map(({ group }, index) => [group, (saved[index] as SavedHead).systemObjectId]))
      await noteUploads(tx, target.collectionId, uploads)
      await alsoInSave(tx, [...new Set(uploads.map(({ file }) => file))])
      await events.append(tx, [
        ...uploads.map(({ file, object }, index) => uploadEvent(actor, target, { file, object, index })),
        ...(profile === null ? [] : [mappingEvent(actor, target, ready, profile)]),
        ...log.map((entry, index) => logEvent(actor, target, entry, index, objectOf.get(entry.group) as number)),
        ...uploads
          .filter(({ file, created }) => folders.has(file.path) && linksFolder(target, created))
          .map(({ file }) => folderEvent(actor, target, file)),
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
  ): Promise<{ readonly objects: readonly SavedHead[]; readonly log: readonly LogEntry[] }> {
    const { plugin } = target
    const groups = ready.map(({ group }) => group)
    const asked = plugin === null ? null : uploadCallback(deps, actor, { ...target, plugin }, groups)
    const callbacks = asked ? [asked.callback] : []
    const log = asked?.log ?? []
    const options = { ...saveOptions, partial, dryRun, format: 'short' as const, awaitIndex, callbacks }
    const result = await objects.save(
      actor,
      target.table.name,
      ready.map(({ payload }) => payload),
      options,
      deadline,
      withSave(ready, profile, log),
    )
    if (result.kind === 'done') return { objects: result.objects, log }
    throw new AppError(
      'UploadError',
      {},
      { message: 'A save of the object would ask a question; nobody can answer it.' },
    )
  }

  /** Saves all groups. If one fails, saves those that can be saved: tries each half, until the failing group is found. */
  async function saveEach(ready: readonly Ready[], as: SaveAs): Promise<GroupResult[]> {
    if (ready.length === 0) return []
    try {
      const saved = await save(ready, as)
      return resultsOf(ready, saved)
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500 || error.status === 423) throw error
      if (ready.length === 1) return ready.map(({ group }) => failedResult(group, error))
      const half = ready.length >> 1
      return [...(await saveEach(ready.slice(0, half), as)), ...(await saveEach(ready.slice(half), as))]
    }
  }

  /** New objects, with values from the metadata of their first files. */
  async function creations(groups: readonly Group[]): Promise<{ fresh: Ready[]; profile: string | null }> {
    const { mapping, table, mask, poolId, linkedPoolId, linkedPools, recipeConfigs } = target
    const query = {
      mapping: `${mapping}`,
      objecttype: table.name,
      mask: mask.name,
      ...(poolId === null ? {} : { pool_id: poolId }),
      ...(linkedPoolId === null ? {} : { linked_pool_id: linkedPoolId }),
      linkedPools,
      recipeConfigs,
    }
    const profile = mapping === null || groups.length === 0 ? null : await deps.metadata.profile(actor, query)
    const firsts = groups.map(({ files }) => files[0]?.fileId as number)
    if (profile !== null) await deps.metadata.wait(firsts)
    const mapped = profile === null ? new Map<number, object>() : await deps.metadata.map(actor, firsts, query)
    const fresh = groups.map((group, index): Ready => {
      const object = (mapped.get(firsts[index] as number) ?? {}) as Wire
      const { _pool: _, ...block } = (object[table.name] ?? {}) as Wire
      return { group, payload: createPayload(target, group, block, folders) }
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
        ready.push({ group, payload: updatePayload(target, group, object, folders) })
      } catch (error) {
        if (together || !(error instanceof AppError)) throw error
        failed.push(failedResult(group, error))
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
    // Two saves are two transactions: a dry run of the second finds its errors before the first.
    if (fresh.length > 0 && ready.length > 0) await save(ready, { ...updating, dryRun: true })
    const results: GroupResult[] = []
    for (const [list, as] of [
      [fresh, creating],
      [ready, updating],
    ] as const) {
      if (list.length === 0) continue
      const saved = await save(list, as)
      results.push(...resultsOf(list, saved))
    }
    return results
  }
}

function failedResult(group: Group, error: AppError): GroupResult {
  return { group, object: null, error, messages: [] }
}

function resultsOf(
  ready: readonly Ready[],
  { objects, log }: { readonly objects: readonly SavedHead[]; readonly log: readonly LogEntry[] },
): GroupResult[] {
  return ready.map(({ group }, index) => ({
    group,
    object: objects[index] as SavedHead,
    error: null,
    messages: log.flatMap((entry) => (entry.group === group && entry.msg !== '' ? entry.msg : [])),
  }))
}

export const wouldAsk = 'A save of the object would ask a question; nobody can answer it.'

/** A setting without effect is refused. */
export const saveOptions = { ...unattended, strict: true }

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

/** One event for all objects of a save with values from a mapping. */
function mappingEvent(
  actor: Actor,
  { collectionId }: Target,
  ready: readonly Ready[],
  metadata_mapping_profile: string,
): NewEvent {
  const info = { path: ready[0]?.group.files[0]?.path ?? '', metadata_mapping_profile }
  return { type: 'COLLECTION_UPLOAD', actor, basetype: 'collection', schema: 'BASE', objectId: collectionId, info }
}

/** One event for each file whose object, or row of an object, links to its folder. */
function folderEvent(actor: Actor, { collectionId }: Target, { fileId, path, name, bytes }: IngestedFile): NewEvent {
  const info = { file_eas_id: fileId, path, file: name, filesize: bytes }
  return { type: 'COLLECTION_UPLOAD', actor, basetype: 'collection', schema: 'BASE', objectId: collectionId, info }
}
