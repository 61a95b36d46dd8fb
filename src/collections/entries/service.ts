/**
 * The list of a collection: read page by page, replaced as a whole, appended to, spliced, removed from. Each change is
 * one transaction that locks the collection, so that concurrent changes are not lost.
 */
import type { EventLog } from '../../events/service.ts'
import type { FoundObject, NamedObject } from '../../objects/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'
import { type OrTasks, orTasks } from '../../platform/values/questions.ts'
import type { CallerRights, ShareOptions } from '../../rights/service.ts'
import { type Access, accessTo, notFound, requireCollection } from '../access.ts'
import { collectionEvent } from '../events.ts'
import type { Collection } from '../model.ts'
import { assertWithinQuotas, type CollectionQuotas } from '../quotas.ts'
import { type ListChanged, type ListInput, type ListOutput, mostEntries } from '../schema.ts'
import type { ShareCheck } from '../sharing/check.ts'
import type { KeptShares } from '../sharing/snapshot.ts'
import { findChains, findCollections, lockCollections } from '../store.ts'
import { type Changed, replace, splice } from './change.ts'
import { assertOnce, objectNotFound, type ReadLookup, readEntries, type SentEntry } from './request.ts'
import { requireLink, requireList, requireUnlink } from './rights.ts'
import * as store from './store.ts'

/** The functions of the object service that lists need. */
export interface ListObjects {
  find(
    tx: Tx,
    actor: Actor,
    named: readonly NamedObject[],
    options: { readonly lock: boolean },
  ): Promise<(FoundObject | null)[]>
  readonly readLookup: ReadLookup
  /** The objects that the caller may read, among the given ones. */
  readable(actor: Actor, systemObjectIds: readonly number[]): Promise<ReadonlySet<number>>
}

export interface ListDeps {
  readonly db: Db
  readonly events: EventLog
  readonly rights: { forActor(actor: Actor): Promise<CallerRights> }
  readonly objects: ListObjects
  readonly databaseName: string
  readonly sharing: Pick<KeptShares, 'get' | 'changed'>
  readonly check: Pick<ShareCheck, 'settle' | 'requirePassing'>
  readonly clock: () => Date
  readonly quotas: CollectionQuotas
}

/** An entry of a request, with the object that it names. */
export interface FoundEntry extends store.NewEntry {
  readonly path: string
  /** null: a remote object. */
  readonly object: FoundObject | null
}

export interface ReadablePage {
  /** Entries of the whole list. */
  readonly count: number
  readonly systemObjectIds: readonly number[]
}

/** The object named by an entry; null: there is none. */
type Looked = Omit<FoundEntry, 'objectId'> & { readonly objectId: number | null }

interface ListChange {
  readonly list: Collection
  readonly access: Access
  readonly entries: readonly FoundEntry[]
  readonly changed: Changed
}

/** A change of a list, or the confirmations needed before it. */
export type ListAnswer = OrTasks<ListChanged>

/** The change cannot cause a new problem, so it needs no confirmation. */
const unasked: ShareOptions = { allow: false, background: true }

export type ListService = ReturnType<typeof createListService>

export function createListService(deps: ListDeps) {
  const { db, objects, databaseName } = deps

  /** @throws {AppError} `ObjectNotFound`, `RightRequired` */
  async function accessible(q: Queryable, actor: Actor, collection: Collection | undefined, id: number) {
    if (!collection) throw notFound(id)
    const access = accessTo(actor, collection, await findChains(q, [id], actor), deps.clock().getTime())
    if (!access.known) throw notFound(id)
    requireCollection(access, 'bag_read', id)
    return access
  }

  /** A page of the list, and those of its objects in this instance that the caller may read: none without the PIN. */
  async function seenPage(actor: Actor, id: number, { offset, limit }: { offset: number; limit: number }) {
    const [collection] = await findCollections(db, [id])
    const { open } = await accessible(db, actor, collection, id)
    const { version, objectCount } = collection as Collection
    const entries = await store.entriesPage(db, id, { offset, limit, count: objectCount })
    const local = entries.flatMap(({ objectId }) => (objectId > 0 ? objectId : []))
    const readable = open ? await objects.readable(actor, local) : new Set<number>()
    return { version, objectCount, entries, open, readable }
  }

  async function readSent(sent: readonly unknown[] | undefined, place: string): Promise<SentEntry[]> {
    return readEntries(sent ?? [], place, { databaseName, readLookup: objects.readLookup })
  }

  /** The objects named by new entries of lists. Objects that the caller may not read do not exist for it. */
  async function findAll(tx: Tx, actor: Actor, sent: readonly (readonly SentEntry[])[]): Promise<FoundEntry[][]> {
    const entries = (await lookUp(tx, actor, sent.flat(), { lock: true, make: true })).values()
    return sent.map((list) => {
      const found = list.map((): FoundEntry => {
        const { path, objectId, object, props } = entries.next().value as Looked
        if (objectId === null || (object && !object.readable)) throw objectNotFound(path)
        return { path, objectId, object, props }
      })
      assertOnce(found)
      return found
    })
  }

  async function lookUp(
    tx: Tx,
    actor: Actor,
    sent: readonly SentEntry[],
    { lock, make }: { readonly lock: boolean; readonly make: boolean },
  ): Promise<Looked[]> {
    const local = sent.flatMap(({ named }) => (named.by === 'remote' ? [] : named))
    const found = (await objects.find(tx, actor, local, { lock })).values()
    const globalIds = sent.flatMap(({ named }) => (named.by === 'remote' ? named.globalId : []))
    const remote = await store.remoteIds(tx, globalIds, make)
    return sent.map(({ path, named, props }) => {
      if (named.by === 'remote') return { path, props, object: null, objectId: remote.get(named.globalId) ?? null }
      const object = found.next().value ?? null
      return { path, props, object, objectId: object?.systemObjectId ?? null }
    })
  }

  /** @throws {AppError} `CollectionObjectInsufficientRights`, `RightRequired` */
  async function requireRights(tx: Tx, actor: Actor, changes: readonly ListChange[]): Promise<void> {
    const rights = await deps.rights.forActor(actor)
    // A caller who may remove any object needs no check for each.
    const asked = changes.flatMap(({ access, changed }) => (access.mayList('unlink', null) ? [] : changed.removed))
    const local = [...new Set(asked)].filter((id) => id > 0)
    const found = await objects.find(
      tx,
      actor,
      local.map((id) => ({ by: 'system', id })),
      { lock: false },
    )
    const removed = new Map(found.flatMap((object) => (object ? [[object.systemObjectId, object] as const] : [])))
    for (const { list, access, entries, changed } of changes) {
      const added = new Set(changed.added)
      requireLink(
        access,
        rights,
        list.id,
        entries.flatMap(({ objectId, object }) => (added.has(objectId) ? [object] : [])),
      )
      if (changed.removed.length > 0) requireList(access, 'unlink', list.id)
      if (!access.mayList('unlink', null))
        requireUnlink(
          access,
          list.id,
          changed.removed.map((id) => removed.get(id) ?? null),
        )
    }
  }

  /** Checks the rights for a change, and updates the counts. */
  async function settle(
    tx: Tx,
    actor: Actor,
    changes: readonly ListChange[],
    options: ShareOptions,
  ): Promise<Map<number, number>> {
    await requireRights(tx, actor, changes)
    const counts = new Map<number, number>()
    for (const { list, changed } of changes) {
      const objectCount = list.objectCount + changed.added.length - changed.removed.length
      if (objectCount > mostEntries)
        throw badRequest(`A collection has ${mostEntries} entries at most.`, {
          collection: list.id,
          value: objectCount,
        })
      counts.set(list.id, objectCount)
    }
    const remote = (ids: readonly number[]) => ids.filter((id) => id < 0).length
    await store.count(
      tx,
      changes.map(({ list, changed: { added, removed: gone } }) => ({
        collectionId: list.id,
        objects: added.length - gone.length,
        remote: remote(added) - remote(gone),
      })),
    )
    const longer = changes.filter(({ changed }) => changed.added.length > changed.removed.length)
    await assertWithinQuotas(
      tx,
      deps.quotas,
      longer.map(({ list }) => list.ownerId),
    )
    await settleShares(tx, actor, changes, options)
    return counts
  }

  /** Updates what the collections share, after a change of lists. */
  async function settleShares(
    tx: Tx,
    actor: Actor,
    changes: readonly { readonly list: Collection; readonly changed: Changed }[],
    options: ShareOptions,
  ): Promise<void> {
    const added = [...new Set(changes.flatMap(({ changed }) => changed.added.filter((id) => id > 0)))]
    const ids = changes.map(({ list }) => list.id)
    await deps.check.requirePassing(tx, actor, ids, added)
    await deps.check.settle(tx, actor, { ids, added }, options)
    await deps.sharing.changed(tx)
  }

  type Work = (tx: Tx, list: Collection, entries: readonly FoundEntry[]) => Promise<Changed>

  /** One change of one list. */
  function change(actor: Actor, id: number, sent: readonly SentEntry[], how: How): Promise<ListAnswer> {
    return orTasks(() => db.transaction((tx) => changeIn(tx, actor, id, sent, how)))
  }

  async function changeIn(
    tx: Tx,
    actor: Actor,
    id: number,
    sent: readonly SentEntry[],
    { work, options }: How,
  ): Promise<ListChanged> {
    const [seen] = await findCollections(tx, [id])
    const before = await accessible(tx, actor, seen, id)
    if (sent.length > 0) requireList(before, 'link', id)
    // Objects are locked before collections, as in deletions of objects.
    const [entries = []] = await findAll(tx, actor, [sent])
    const [list] = await lockCollections(tx, [id])
    const access = await accessible(tx, actor, list, id)
    const changed = await work(tx, list as Collection, entries)
    return finish(tx, actor, { list: list as Collection, access, entries, changed }, options)
  }

  async function finish(tx: Tx, actor: Actor, change: ListChange, options: ShareOptions): Promise<ListChanged> {
    const { list } = change
    const counts = await settle(tx, actor, [change], options)
    await deps.events.append(tx, [collectionEvent('COLLECTION_UPDATE', actor, list)])
    return { _version: list.version, count: counts.get(list.id) as number }
  }

  /** A change of a list, and the options for shares. */
  interface How {
    readonly work: Work
    readonly options: ShareOptions
  }

  const append: Work = (tx, list, entries) => splice(tx, list, { index: list.objectCount, length: 0, entries })

  return {
    /**
     * Appends objects of this instance, in the transaction that has made them. The caller has already asked for
     * confirmations about shares.
     */
    async add(tx: Tx, actor: Actor, id: number, systemObjectIds: readonly number[], path: string): Promise<void> {
      const [list] = await findCollections(tx, [id])
      requireList(await accessible(tx, actor, list, id), 'link', id)
      if (systemObjectIds.length === 0) return
      const sent = systemObjectIds.map((one) => ({ path, named: { by: 'system' as const, id: one }, props: undefined }))
      await changeIn(tx, actor, id, sent, { work: append, options: unasked })
    },

    readSent,
    findAll,

    /** Replaces the lists of collections. They must be locked, and the caller may change their settings. */
    async replaceAll(
      tx: Tx,
      actor: Actor,
      lists: readonly { readonly list: Collection; readonly access: Access; readonly entries: readonly FoundEntry[] }[],
      options: ShareOptions,
    ): Promise<void> {
      if (lists.length === 0) return
      for (const { list, access, entries } of lists) {
        requireCollection(access, 'bag_read', list.id)
        if (entries.length > 0) requireList(access, 'link', list.id)
      }
      const changes = await replace(tx, lists)
      await settle(
        tx,
        actor,
        lists.map((one, index) => ({ ...one, changed: changes[index] as Changed })),
        options,
      )
    },

    /** A page of the list; of objects that the caller may not read, only the ids are answered (decision 42). */
    async page(actor: Actor, id: number, { offset, limit }: { offset: number; limit: number }): Promise<ListOutput> {
      const { version, objectCount, entries, open, readable } = await seenPage(actor, id, { offset, limit })
      return {
        _version: version,
        count: objectCount,
        index: offset,
        offset,
        limit,
        objects: entries.map(({ objectId, globalId, webfrontendProps }) => {
          const named = { _global_object_id: globalId ?? `${objectId}@${databaseName}` }
          // Without the PIN, no entry has details, not even for objects that the caller may read elsewhere.
          if (!open || (globalId === null && !readable.has(objectId))) return { ...named, _not_allowed: true }
          return webfrontendProps ? { ...named, webfrontend_props: webfrontendProps } : named
        }),
      }
    },

    /** The objects of this instance in a range of the list that the caller may read, in their order. */
    async readablePage(actor: Actor, id: number, page: { offset: number; limit: number }): Promise<ReadablePage> {
      const { objectCount, entries, readable } = await seenPage(actor, id, page)
      const ids = entries.flatMap(({ objectId }) => (readable.has(objectId) ? objectId : []))
      return { count: objectCount, systemObjectIds: ids }
    },

    async replace(actor: Actor, id: number, input: ListInput, options: ShareOptions): Promise<ListAnswer> {
      // A misspelled name must not empty the list.
      if (input.objects === undefined) throw badRequest('objects says what is in the list', { path: 'objects' })
      const sent = await readSent(input.objects, 'objects')
      // Sending back one page would remove all other entries.
      if ((input.index ?? 0) !== 0 || (input.count ?? sent.length) !== sent.length) {
        throw badRequest('objects replace the whole list: count must be their number, and index 0', {
          path: 'count',
          value: input.count ?? null,
          expected: sent.length,
        })
      }
      const work: Work = async (tx, list, entries) => {
        const [changed] = await replace(tx, [{ list, entries }])
        return changed as Changed
      }
      return change(actor, id, sent, { work, options })
    },

    /** Appends entries; those already in the list move to its end. */
    async push(actor: Actor, id: number, input: ListInput, options: ShareOptions): Promise<ListAnswer> {
      const said = (['index', 'count'] as const).find((name) => input[name] !== undefined)
      if (said) throw badRequest(`${said} says nothing where objects go to the end`, { path: said, value: input[said] })
      const sent = await readSent(input.objects, 'objects')
      return change(actor, id, sent, { work: append, options })
    },

    /** Removes `count` entries at `index` and inserts others there. */
    async splice(actor: Actor, id: number, input: ListInput, options: ShareOptions): Promise<ListAnswer> {
      const { index, count = 0 } = input
      if (index === undefined) throw badRequest('index says where to splice', { path: 'index' })
      const sent = await readSent(input.objects, 'objects')
      const work: Work = (tx, list, entries) => {
        const most = list.objectCount - index
        if (most < 0)
          throw badRequest('index is beyond the end of the list', {
            path: 'index',
            value: index,
            most: list.objectCount,
          })
        if (count > most)
          throw badRequest('count goes beyond the end of the list', { path: 'count', value: count, most })
        return splice(tx, list, { index, length: count === -1 ? most : count, entries })
      }
      return change(actor, id, sent, { work, options })
    },

    /** Removes the named objects. @throws {AppError} `CollectionRemoveNotAllObjectsFound` */
    async remove(actor: Actor, id: number, body: readonly unknown[]): Promise<ListChanged> {
      const sent = await readSent(body, 'body')
      return db.transaction(async (tx) => {
        const [seen] = await findCollections(tx, [id])
        requireList(await accessible(tx, actor, seen, id), 'unlink', id)
        const found = await lookUp(tx, actor, sent, { lock: false, make: false })
        const [list] = await lockCollections(tx, [id])
        const access = await accessible(tx, actor, list, id)
        const ids = [...new Set(found.flatMap(({ objectId }) => objectId ?? []))]
        const removed = await store.removeFrom(tx, [{ collectionId: id, objectIds: ids }])
        const gone = new Set(removed)
        const missing = found.filter(({ objectId }) => objectId === null || !gone.has(objectId))
        if (missing.length > 0) {
          throw new AppError('CollectionRemoveNotAllObjectsFound', {
            collection: id,
            count: missing.length,
            paths: missing.slice(0, 100).map(({ path }) => path),
          })
        }
        const changed = { added: [], removed }
        return finish(tx, actor, { list: list as Collection, access, entries: [], changed }, unasked)
      })
    },
  }
}
