/**
 * Objects: saving, deleting, reading.
 *
 * Vocabulary. A *draft* is an object of a request as it was sent, checked in shape. An *item* is an object on its way through a
 * save. A *content* is the stored values of the fields, by column id. The *standard* of an object is its short projection, which
 * other objects show for it. The *head* is the row in `object`; each version is a row in `object_version`.
 */
import type { Table } from '../datamodel/model.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import type { JsonAnswer } from '../platform/http/json-answer.ts'
import type { RequestFacts } from '../platform/http/request-facts.ts'
import { type Deadline, noDeadline } from '../platform/limits/deadline.ts'
import type { Tx } from '../platform/postgres/db.ts'
import type { Task } from '../platform/values/tasks.ts'
import {
  type DeleteAnswer,
  type DeleteOptions,
  type DeleteResult,
  deleteObjects,
  runDeleteCallbacks,
} from './delete/delete.ts'
import { type FormatName, formats } from './render/formats.ts'
import type { Shape } from './render/render.ts'
import { nothingPreloaded, type PreloadedObjects } from './render/run.ts'
import type { SaveCallback } from './save/callbacks/model.ts'
import type { ObjectDeps } from './save/context.ts'
import type { SavedObject } from './save/outcome.ts'
import {
  countLinking,
  findLinked,
  findLinking,
  findParents,
  type Relinked,
  type RelinkRequest,
  relinkObjects,
  type WithRelink,
} from './save/relink.ts'
import type { Ignored } from './save/request/ignored.ts'
import { runSaveCallbacks, type SaveOptions, type SaveResult, saveObjects } from './save/save.ts'
import { type Ending, inTransaction } from './save/transaction.ts'

export {
  type Access,
  type MaskAccess,
  maskAccess,
  type ShowingMasks,
  showingMasks,
} from './masks/access.ts'
export { type FileVisibility, fileAccess } from './masks/file-access.ts'
export { type MaskDeps, standardMask } from './masks/preference.ts'
export { objectsForTasks, type TaskObject } from './read/for-tasks.ts'
export { type InspectedPromise, inspectPromises, mostLinks } from './read/inspected-promises.ts'
export {
  type IndexState,
  type InspectedFilter,
  type InspectedObject,
  type InspectedPage,
  type InspectedRecord,
  type InspectedType,
  indexStates,
  inspectObject,
  inspectObjects,
  inspectPools,
  inspectTitles,
  inspectTypes,
  requeueObjects,
} from './read/inspection.ts'
export type {
  HitOptions,
  Located,
  LocatedObject,
  NamedBy,
  ObjectVersion,
  ReadService,
  ShownObject,
} from './read/read.ts'
export { appliedMergeDepth, type FormatName, formatNames, type MergeMode, mergeModes } from './render/formats.ts'
export {
  CallbackFailed,
  type ChangeKind,
  type PendingChange,
  type PendingObject,
  type Replacement,
  type SaveCallback,
} from './save/callbacks/model.ts'
export type { ObjectDeps } from './save/context.ts'
export { type FoundByValue, findObjectsByValues, type WantedValues } from './save/find-by-values.ts'
export { type FoundObject, findNamedObjects, type NamedObject, readNamedObject } from './save/find-named.ts'
export type { SaveOptions } from './save/save.ts'
export { unattended } from './save/unattended.ts'
export { refreshStandards } from './standard/refresh.ts'
export { valueText } from './standard/text.ts'
export { isBulk, mostSingle } from './stored/index-lane.ts'
export type { ReadableSql } from './stored/readable-sql.ts'
export { type ColumnValue, type FieldPath, linkedAt, valuesAt } from './values/at.ts'
export {
  type FieldTree,
  type FileChoice,
  type FilePlace,
  type FileTree,
  fileLists,
  type KeepPath,
  namedBy,
  type ObjectTree,
  type RowTree,
  records,
  type ShownFile,
  treeInMask,
  treeOf,
  type VersionTree,
  type Wire,
  type WrittenFile,
  type WrittenObject,
  writtenOf,
} from './values/tree.ts'

/** Renders saved objects in the transaction that saved them, each with its own mask, in order. */
export type RenderSaved = (
  tx: Tx,
  actor: Actor,
  saved: readonly SavedObject[],
  format: FormatName,
  options: {
    skipReverseNested: boolean
    shape?: Shape | undefined
    deadline: Deadline
    /** The data around them, as far as the save knows it. */
    known: PreloadedObjects
  },
) => Promise<JsonAnswer>

export type Saved = { /** The parts of the payload without effect. */ readonly ignored: Ignored } & (
  | { readonly kind: 'confirm'; readonly tasks: readonly Task[] }
  | {
      readonly kind: 'done'
      readonly answer: JsonAnswer
      readonly indexed: boolean
      /** The objects that the client sent, in order. */
      readonly objects: readonly SavedHead[]
    }
)

/** An object as a save has left it. */
export interface SavedHead {
  readonly systemObjectId: number
  readonly version: number
}

/** Work that belongs to a save: in its transaction, after the write. */
export type WithSave = (tx: Tx, objects: readonly SavedHead[]) => Promise<void>

export type Deleted =
  | { readonly kind: 'confirm'; readonly tasks: readonly Task[] }
  | { readonly kind: 'done'; readonly answer: DeleteAnswer; readonly indexed: boolean }

export type ObjectService = ReturnType<typeof createObjectService>

export function createObjectService(deps: ObjectDeps, renderSaved: RenderSaved) {
  function objecttype(name: string): Table {
    const table = deps.datamodel.current().objecttypes.get(name)
    if (!table) throw new AppError('UnknownObjecttype', { objecttype: name })
    return table
  }

  async function waitForIndex(ids: readonly number[], seconds: number): Promise<boolean> {
    return seconds <= 0 || ids.length === 0 || (await deps.awaitIndexed(ids, seconds))
  }

  return {
    /**
     * Creates and updates objects of one type, all or nothing. `awaitIndex` in seconds; `indexed` is false when that time was too
     * short (the objects are saved all the same).
     */
    async save(
      actor: Actor,
      name: string,
      body: readonly unknown[],
      options: SaveOptions & {
        readonly format: FormatName
        readonly awaitIndex: number
        readonly fileDays?: number | undefined
        readonly facts?: () => RequestFacts
        /** Callbacks for this save alone, run before all others. */
        readonly callbacks?: readonly SaveCallback[]
      },
      deadline: Deadline = noDeadline,
      withSave?: WithSave,
    ): Promise<Saved> {
      const table = objecttype(name)
      deps.files.expiry(options.fileDays)
      let answer: JsonAnswer = { body: [], short: 0 }
      const { facts, callbacks } = options
      const request = { actor, objecttype: table, body, options, facts, callbacks }
      // Callbacks clean up beside the write, and end before the answer.
      const tidying: Promise<unknown>[] = []
      const written = async (): Promise<SaveResult> => {
        const callbackOutcome = await runSaveCallbacks(deps, request, deadline, (work) => tidying.push(work))
        const run = { ending: endingOf(options), objects: body.length, deadline }
        return inTransaction<SaveResult>(deps, run, async (tx) => {
          const result = await saveObjects(deps, tx, request, callbackOutcome)
          if (result.kind === 'done') {
            const { saved, around } = result
            const shape = options.dryRun ? withoutNewIds(saved) : undefined
            const known = formats[options.format].fields ? await around() : nothingPreloaded
            answer = await renderSaved(tx, actor, saved, options.format, { ...options, shape, deadline, known })
            await withSave?.(tx, headsOf(saved))
          }
          return result
        })
      }
      const result = await written().finally(() => Promise.allSettled(tidying))
      if (result.kind === 'confirm') return result
      const { ignored } = result
      const objects = headsOf(result.saved)
      if (options.dryRun) return { kind: 'done', answer, indexed: true, ignored, objects }
      const wait = options.skipIndex ? 0 : options.awaitIndex
      return { kind: 'done', answer, indexed: await waitForIndex(result.written, wait), ignored, objects }
    },

    /** Moves objects to the trash, takes them out of it or purges them, all or nothing; a dry run changes nothing. */
    async delete(
      actor: Actor,
      name: string,
      body: readonly unknown[],
      options: DeleteOptions & { readonly awaitIndex: number },
      deadline: Deadline = noDeadline,
      withDelete?: (tx: Tx) => Promise<void>,
    ): Promise<Deleted> {
      const table = objecttype(name)
      const request = { actor, objecttype: table, body, options }
      const callbackOutcome = await runDeleteCallbacks(deps, request, { dryRun: options.dryRun, deadline })
      const run = { ending: endingOf(options), objects: body.length, deadline }
      const result = await inTransaction<DeleteResult>(deps, run, async (tx) => {
        const result = await deleteObjects(deps, tx, request, callbackOutcome)
        if (result.kind === 'done') await withDelete?.(tx)
        return result
      })
      if (result.kind === 'confirm') return result
      const wait = options.dryRun ? 0 : options.awaitIndex
      return { kind: 'done', answer: result.answer, indexed: await waitForIndex(result.written, wait) }
    },

    /** Changes links to several targets into links to one target, as far as the actor may change the links. */
    relink: (actor: Actor, request: RelinkRequest, withRelink?: WithRelink): Promise<Relinked> =>
      relinkObjects(deps, actor, request, withRelink),

    /** The number of objects that link to one of the sources, and of those that the actor could relink. */
    countLinking: (actor: Actor, request: Parameters<typeof countLinking>[2]) => countLinking(deps, actor, request),

    /** Live objects that link to one of the targets, by id. */
    linking: (targets: readonly number[], page: { readonly after: number; readonly limit: number }) =>
      findLinking(deps.db, targets, page),

    /** The objects, of those given, that are targets of links of live objects. */
    linked: (targets: readonly number[]) => findLinked(deps.db, targets),

    /** The objects, of those given, that have live children. */
    parents: (ids: readonly number[]) => findParents(deps.db, ids),
  }
}

const headsOf = (saved: readonly SavedObject[]): SavedHead[] =>
  saved.map(({ object: { systemObjectId, version } }) => ({ systemObjectId, version }))

/** A dry run is the same path, with a rollback at its end. */
const endingOf = ({ dryRun }: { readonly dryRun: boolean }): Ending => (dryRun ? 'dry run' : 'store')

/** Objects that a dry run would create have no ids yet (DB-004). */
function withoutNewIds(saved: readonly SavedObject[]): Shape {
  const created = new Set(saved.flatMap(({ item }) => (item.mode === 'create' ? item.systemObjectId : [])))
  return (wire, { object }) => {
    if (!created.has(object.systemObjectId)) return wire
    const { _system_object_id, _global_object_id, ...rest } = wire
    const { _id, ...block } = (rest[object.table.name] ?? {}) as Record<string, unknown>
    return { ...rest, [object.table.name]: block }
  }
}
