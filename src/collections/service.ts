/**
 * Collections: lists of objects that people put together, in a tree below a top collection for each user. See
 * docs/collections.md.
 */
import type { Model } from '../datamodel/model.ts'
import type { Actor } from '../platform/actor.ts'
import type { ConventionOf } from '../platform/config/versions.ts'
import { badRequest } from '../platform/errors.ts'
import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { assertStorable } from '../platform/values/text.ts'
import type { KeptPools } from '../pools/service.ts'
import type { RightsService } from '../rights/service.ts'
import type { KeptTags } from '../tags/service.ts'
import { type Access, accessTo, notFound, requireCollection } from './access.ts'
import { createListService, type FoundEntry, type ListDeps } from './entries/service.ts'
import { collectionEvent } from './events.ts'
import type { Collection } from './model.ts'
import { renderCollections } from './render.ts'

import { type SavedCollection, saveCollections } from './save.ts'
import type { CollectionInput, CollectionOutput } from './schema.ts'
import * as store from './store.ts'

export { collectionsOf, collectionsSeen, leaveCollections } from './memberships.ts'
export { collectionsOfUsers, collectionTagUses } from './users.ts'

export interface CollectionDeps extends Omit<ListDeps, 'rights'> {
  readonly rights: Pick<RightsService, 'forActor' | 'validateAcls' | 'resolveWho' | 'whoNames' | 'renderAcls'>
  readonly datamodel: { current(): Model }
  readonly pools: Pick<KeptPools, 'snapshot'>
  readonly tags: Pick<KeptTags, 'existing'>
  readonly conventionOf: ConventionOf
  /** Database languages, first one first. */
  readonly languages: () => readonly string[]
}

export type CollectionService = ReturnType<typeof createCollectionService>

export function createCollectionService(deps: CollectionDeps) {
  const { db, events, rights } = deps
  const lists = createListService(deps)
  const now = (): number => deps.clock().getTime()

  async function render(q: Queryable, actor: Actor, collections: readonly Collection[]): Promise<CollectionOutput[]> {
    const ids = collections.map(({ id }) => id)
    const at = now()
    const chains = await store.findChains(q, ids)
    const figures = await store.figuresOf(q, actor, ids)
    const seen = await store.seenOf(q, actor, [...chains.keys()])
    const names = await rights.whoNames(
      q,
      collections.map(({ ownerId }) => `u${ownerId}` as const),
      actor.languages,
    )
    const accesses = new Map(collections.map((one) => [one.id, accessTo(actor, one, chains, at)]))
    const access = ({ id }: Collection): Access => accesses.get(id) as Access
    const acls = await rights.renderAcls(
      q,
      collections.map((one) => (access(one).may('bag_acl') ? one.acl : [])),
      actor.languages,
    )
    return renderCollections(collections, { names, chains, figures, accessTo: access, seen, acls, at })
  }

  /** A collection that the caller may see. @throws {AppError} `ObjectNotFound`, `RightRequired` */
  async function visible(q: Queryable, actor: Actor, id: number): Promise<Collection> {
    const [collection] = await store.findCollections(q, [id])
    if (!collection) throw notFound(id)
    const access = accessTo(actor, collection, await store.findChains(q, [id]), now())
    if (!access.known) throw notFound(id)
    requireCollection(access, 'bag_read', id)
    return collection
  }

  async function saveIn(tx: Tx, actor: Actor, inputs: readonly CollectionInput[], placeOf: (index: number) => string) {
    // Objects before collections, as deletions of objects lock them.
    const entries = await sentLists(tx, actor, inputs, placeOf)
    const saved = await saveCollections(
      {
        tx,
        actor,
        rights: await rights.forActor(actor),
        grants: rights,
        model: deps.datamodel.current(),
        pools: deps.pools.snapshot(),
        tags: deps.tags,
        convention: deps.conventionOf(actor),
        at: now(),
      },
      inputs,
      placeOf,
    )
    await replaceLists(tx, actor, saved, entries)
    await events.append(
      tx,
      saved.map((one) => collectionEvent(one.created ? 'COLLECTION_INSERT' : 'COLLECTION_UPDATE', actor, one)),
    )
    return saved.map(({ id }) => id)
  }

  /** The lists that records bring along; null: none. */
  async function sentLists(
    tx: Tx,
    actor: Actor,
    inputs: readonly CollectionInput[],
    placeOf: (index: number) => string,
  ): Promise<(readonly FoundEntry[] | null)[]> {
    const all: { readonly index: number; readonly sent: Awaited<ReturnType<typeof lists.readSent>> }[] = []
    for (const [index, { objects, _objects: other }] of inputs.entries()) {
      const place = placeOf(index)
      if (objects && other)
        throw badRequest(`${place}: objects and _objects are the same`, { path: `${place}._objects` })
      const given = objects ?? other
      const name = objects ? 'objects' : '_objects'
      if (given) all.push({ index, sent: await lists.readSent(given, `${place}.${name}`) })
    }
    const result = new Array<readonly FoundEntry[] | null>(inputs.length).fill(null)
    const found = await lists.findAll(
      tx,
      actor,
      all.map(({ sent }) => sent),
    )
    for (const [place, { index }] of all.entries()) result[index] = found[place] ?? []
    return result
  }

  async function replaceLists(
    tx: Tx,
    actor: Actor,
    saved: readonly SavedCollection[],
    entries: readonly (readonly FoundEntry[] | null)[],
  ): Promise<void> {
    const ids = saved.flatMap(({ id }, index) => (entries[index] ? [id] : []))
    if (ids.length === 0) return
    const stored = new Map((await store.findCollections(tx, ids)).map((one) => [one.id, one]))
    const chains = await store.findChains(tx, ids)
    await lists.replaceAll(
      tx,
      actor,
      saved.flatMap(({ id }, index) => {
        const list = stored.get(id)
        const own = entries[index]
        return list && own ? [{ list, access: accessTo(actor, list, chains, now()), entries: own }] : []
      }),
    )
  }

  async function save(
    actor: Actor,
    inputs: readonly CollectionInput[],
    placeOf: (index: number) => string,
  ): Promise<CollectionOutput[]> {
    for (const [index, { objects: _, _objects: __, ...record }] of inputs.entries())
      assertStorable(record, placeOf(index))
    const ids = await db.transaction((tx) => saveIn(tx, actor, inputs, placeOf))
    const stored = new Map((await store.findCollections(db, ids)).map((one) => [one.id, one]))
    return render(
      db,
      actor,
      ids.flatMap((id) => stored.get(id) ?? []),
    )
  }

  return {
    lists,

    /** A new collection of objects below the own top collection, named with the date; its id (decision 44). */
    async collect(tx: Tx, actor: Actor, systemObjectIds: readonly number[]): Promise<number> {
      const today = deps.clock().toISOString().slice(0, 10)
      const displayname = Object.fromEntries(deps.languages().map((language) => [language, today]))
      const [id] = await saveIn(tx, actor, [{ collection: { displayname } }], () => 'delete_policy')
      if (systemObjectIds.length > 0) await lists.add(tx, actor, id as number, systemObjectIds, 'delete_policy')
      return id as number
    },

    /** The collections that the caller may see, parents before their children. */
    async list(actor: Actor, page: store.Page): Promise<CollectionOutput[]> {
      return render(db, actor, await store.listSeen(db, actor, page))
    },

    /** Those right below a collection; null: those without parent. @throws {AppError} `ObjectNotFound`, `RightRequired` */
    async listBelow(actor: Actor, parentId: number | null, page: store.Page): Promise<CollectionOutput[]> {
      if (parentId !== null) await visible(db, actor, parentId)
      return render(db, actor, await store.listSeen(db, actor, page, parentId))
    },

    /** @throws {AppError} `ObjectNotFound`, `RightRequired` */
    async read(actor: Actor, id: number): Promise<CollectionOutput> {
      const [wire] = await render(db, actor, [await visible(db, actor, id)])
      return wire as CollectionOutput
    },

    /** Those of the collections that a caller may see, for any number of callers. */
    async readable(ids: readonly number[]): Promise<(actor: Actor) => ReadonlySet<number>> {
      const collections = await store.findCollections(db, ids)
      const chains = await store.findChains(db, ids)
      return (actor) =>
        new Set(collections.flatMap((one) => (accessTo(actor, one, chains, now()).may('bag_read') ? one.id : [])))
    },

    /** For searches: which collections the caller may see, and how. */
    records: {
      access: (actor: Actor, bind: (value: unknown) => string) => ({
        condition: store.seenCondition(actor, bind),
        shown: {},
      }),
      async render(actor: Actor, ids: readonly number[]): Promise<ReadonlyMap<number, CollectionOutput>> {
        const wire = await render(db, actor, await store.findCollections(db, ids))
        return new Map(wire.map((one) => [one.collection._id, one]))
      },
    },

    /** Creates or changes one; `id` is that of the address. @throws {AppError} as `saveAll` */
    async save(actor: Actor, input: CollectionInput, id?: number): Promise<CollectionOutput> {
      const [wire] = await save(actor, [id === undefined ? input : withId(input, id)], () => 'body')
      return wire as CollectionOutput
    },

    /**
     * Creates and changes collections, all or none.
     * @throws {AppError} `VersionMismatch`, `ObjectNotFound`, `LookupNotFound`, `RightRequired`, …
     */
    saveAll: (actor: Actor, inputs: readonly CollectionInput[]): Promise<CollectionOutput[]> =>
      save(actor, inputs, (index) => `body[${index}]`),

    /** Deletes a collection and all below it. @throws {AppError} `ObjectNotFound`, `RightRequired` */
    async remove(actor: Actor, id: number): Promise<void> {
      await db.transaction(async (tx) => {
        await store.lockTree(tx, 'alone')
        const below = await store.findSubtree(tx, id)
        const chains = await store.findChains(
          tx,
          below.map((one) => one.id),
        )
        const accesses = below.map((one) => accessTo(actor, one, chains, now()))
        if (!accesses[0]?.known) throw notFound(id)
        // Of what is below it the answer tells nothing but that it is in the way.
        for (const access of accesses) requireCollection(access, 'bag_delete', id)
        if (below.some(({ isSystem }) => isSystem))
          throw badRequest('A system collection cannot be deleted.', { collection: id })
        await store.lockCollections(
          tx,
          below.map((one) => one.id),
        )
        await store.deleteCollections(
          tx,
          below.map((one) => one.id),
        )
        await events.append(
          tx,
          below.map((one) => collectionEvent('COLLECTION_DELETE', actor, one)),
        )
      })
    },
  }
}

/** The address says which one is changed. */
function withId(input: CollectionInput, id: number): CollectionInput {
  const { _id: said, 'lookup:_id': lookup, ...collection } = input.collection
  if (said && said !== id)
    throw badRequest('collection._id is not that of the address', { path: 'collection._id', value: said })
  if (lookup) throw badRequest('the address says which collection it is', { path: 'collection.lookup:_id' })
  return { ...input, collection: { ...collection, _id: id } }
}
