/** Collections: lists of objects arranged by people, in a tree below a top collection for each user. See docs/collections.md. */
import type { Model } from '../datamodel/model.ts'
import type { RequireMappings } from '../objecttypes/model.ts'
import type { Actor } from '../platform/actor.ts'
import type { ConventionOf } from '../platform/config/versions.ts'
import { badRequest } from '../platform/errors.ts'
import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { type OrTasks, orTasks } from '../platform/values/questions.ts'
import { assertStorable } from '../platform/values/text.ts'
import type { KeptPools } from '../pools/service.ts'
import type { RightsService, ShareOptions } from '../rights/service.ts'
import type { KeptTags } from '../tags/service.ts'
import { type Access, accessTo, notFound, requireCollection, type UploadTarget } from './access.ts'
import { requireList } from './entries/rights.ts'
import { createListService, type FoundEntry, type ListDeps } from './entries/service.ts'
import { collectionEvent } from './events.ts'
import type { Collection, CreateObject, Localized } from './model.ts'
import type { Pins } from './pins/service.ts'
import { assertWithinQuotas } from './quotas.ts'
import { compiledOf, renderCollections, type UploadAddress } from './render.ts'
import { type SavedCollection, saveCollections } from './save.ts'
import type { CollectionInput, CollectionOutput } from './schema.ts'
import type { MailBudget, ShareMails } from './shares/mails.ts'
import { assertNotices, noticesOf } from './shares/notices.ts'
import type { Shares } from './shares/service.ts'
import type { WantedShare } from './shares/share-users.ts'
import { createShareCheck } from './sharing/check.ts'
import { createReview } from './sharing/review.ts'
import * as store from './store.ts'

export type { ReadablePage } from './entries/service.ts'
export {
  type InspectedCollections,
  inspectCollectionMarks,
  inspectCollections,
} from './inspection.ts'
export { linkNamed, namedPool } from './linked-pools.ts'
export { collectionMappingUse } from './mapping-use.ts'
export { collectionsOf, collectionsSeen, leaveCollections } from './memberships.ts'
export { createPins } from './pins/service.ts'
export { collectionPresetUse, presetUses } from './preset-uses.ts'
export type { CollectionOutput } from './schema.ts'
export { createShareMails } from './shares/mails.ts'
export { createShares } from './shares/service.ts'
export { createShareCheck, type ShareCheck } from './sharing/check.ts'
export { shareChecks } from './sharing/later.ts'
export { collectionsTopic, openShares } from './sharing/snapshot.ts'
export { fileColumnNamed, textColumnNamed } from './upload-fields.ts'
export { collectionsOfUsers, collectionTagUses } from './users.ts'

export interface CollectionDeps extends Omit<ListDeps, 'rights' | 'check'> {
  readonly rights: Pick<
    RightsService,
    'beyond' | 'forActor' | 'validateAcls' | 'resolveWho' | 'whoNames' | 'renderAcls'
  >
  readonly datamodel: { current(): Model }
  readonly pools: Pick<KeptPools, 'snapshot'>
  readonly tags: Pick<KeptTags, 'existing'>
  readonly requireMappings: RequireMappings
  readonly conventionOf: ConventionOf
  /** Database languages, first one first. */
  readonly languages: () => readonly string[]
  /** Addresses for uploads into the collection. */
  readonly uploadAddresses: (collectionId: number, generation: number) => Promise<readonly UploadAddress[]>
  readonly pins: Pick<Pins, 'hashesOf' | 'remember'>
  readonly shareMails: ShareMails
  readonly shares: Pick<Shares, 'wanted' | 'make' | 'settle' | 'shown'>
}

/** A collection as a target of uploads. */
export interface CollectionUploads {
  readonly collection: Pick<
    Collection,
    'id' | 'uuid' | 'ownerId' | 'version' | 'displayname' | 'shortname' | 'reference'
  >
  /** `create_object`, of the collection or of the nearest ancestor with such settings. */
  readonly settings: CreateObject | null
}

/** Parts of a request that are prepared before its transaction. */
interface Asked {
  readonly pinHashes: readonly (string | null)[]
  readonly wanted: readonly WantedShare[]
  readonly mails: MailBudget
}

/** For an empty collection that is not shared. */
const unasked: ShareOptions = { allow: false, background: false }

export type CollectionService = ReturnType<typeof createCollectionService>

export function createCollectionService(deps: CollectionDeps) {
  const { db, events, rights } = deps
  const check = createShareCheck(deps)
  const lists = createListService({ ...deps, check })
  const now = (): number => deps.clock().getTime()

  async function render(q: Queryable, actor: Actor, collections: readonly Collection[]): Promise<CollectionOutput[]> {
    const ids = collections.map(({ id }) => id)
    const at = now()
    const chains = await store.findChains(q, ids, actor)
    const figures = await store.figuresOf(q, actor, ids)
    const seen = await store.visibleOf(q, actor, [...chains.keys()])
    const names = await rights.whoNames(
      q,
      collections.map(({ ownerId }) => `u${ownerId}` as const),
      actor.languages,
    )
    const accesses = new Map(collections.map((one) => [one.id, accessTo(actor, one, chains, at)]))
    const access = ({ id }: Collection): Access => accesses.get(id) as Access
    const acls = await deps.shares.shown(
      q,
      collections,
      await rights.renderAcls(
        q,
        collections.map((one) => (access(one).may('bag_acl') ? one.acl : [])),
        actor.languages,
      ),
    )
    const model = deps.datamodel.current()
    const open = collections.filter((one) => {
      const settings = compiledOf(one, chains)
      return settings && access(one).mayUpload(uploadTarget(settings, model))
    })
    const addresses = open.map(
      async (one) => [one.id, await deps.uploadAddresses(one.id, one.uploadGeneration)] as const,
    )
    const uploads = new Map(await Promise.all(addresses))
    return renderCollections(collections, { names, chains, figures, accessTo: access, seen, acls, uploads, at })
  }

  /** A collection that the caller may see. @throws {AppError} `ObjectNotFound`, `RightRequired` */
  async function visible(q: Queryable, actor: Actor, id: number): Promise<Collection> {
    const [collection] = await store.findCollections(q, [id])
    if (!collection) throw notFound(id)
    const access = accessTo(actor, collection, await store.findChains(q, [id], actor), now())
    if (!access.known) throw notFound(id)
    requireCollection(access, 'bag_read', id)
    return collection
  }

  async function saveIn(
    tx: Tx,
    actor: Actor,
    inputs: readonly CollectionInput[],
    placeOf: (index: number) => string,
    options: ShareOptions,
    { pinHashes, wanted, mails }: Asked = { pinHashes: [], wanted: [], mails: { counted: 0, written: 0 } },
  ) {
    // Objects are locked before collections, as in deletions of objects.
    const entries = await sentLists(tx, actor, inputs, placeOf)
    const { collections: saved, made } = await saveCollections(
      {
        tx,
        actor,
        rights: await rights.forActor(actor),
        grants: rights,
        model: deps.datamodel.current(),
        pools: deps.pools.snapshot(),
        tags: deps.tags,
        requireMappings: deps.requireMappings,
        convention: deps.conventionOf(actor),
        at: now(),
        pinHashes,
        makeShares: () => deps.shares.make(tx, actor, wanted),
      },
      inputs,
      placeOf,
    )
    await assertWithinQuotas(
      tx,
      deps.quotas,
      saved.filter(({ created, moved }) => created || moved).map(({ ownerId }) => ownerId),
    )
    await deps.shares.settle(tx, saved, made)
    await deps.shareMails.send(
      tx,
      actor,
      mails,
      saved.flatMap((collection, index) =>
        noticesOf(inputs[index]?._acl ?? [], collection, placeOf(index)).map((notice) => ({ ...notice, collection })),
      ),
    )
    await replaceLists(tx, actor, saved, entries, options)
    await renewUploads(tx, actor, saved, inputs)
    // The user who sets a PIN knows it.
    await deps.pins.remember(
      tx,
      actor,
      saved.flatMap(({ id, pinId, pinHash }) => (pinId && pinHash ? [{ id, pinId }] : [])),
    )
    await settleShares(tx, actor, saved, options)
    await deps.sharing.changed(tx)
    await events.append(
      tx,
      saved.map((one) => collectionEvent(one.created ? 'COLLECTION_INSERT' : 'COLLECTION_UPDATE', actor, one)),
    )
    return saved.map(({ id }) => id)
  }

  /** The lists in the records of a request; null: none. */
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
    options: ShareOptions,
  ): Promise<void> {
    const ids = saved.flatMap(({ id }, index) => (entries[index] ? [id] : []))
    if (ids.length === 0) return
    const stored = new Map((await store.findCollections(tx, ids)).map((one) => [one.id, one]))
    const chains = await store.findChains(tx, ids, actor)
    await lists.replaceAll(
      tx,
      actor,
      saved.flatMap(({ id }, index) => {
        const list = stored.get(id)
        const own = entries[index]
        return list && own ? [{ list, access: accessTo(actor, list, chains, now()), entries: own }] : []
      }),
      options,
    )
  }

  async function renewUploads(
    tx: Tx,
    actor: Actor,
    saved: readonly SavedCollection[],
    inputs: readonly CollectionInput[],
  ): Promise<void> {
    const ids = saved.flatMap(({ id }, index) => (inputs[index]?._renew_upload_urls ? [id] : []))
    if (ids.length === 0) return
    const chains = await store.findChains(tx, ids, actor)
    for (const one of await store.findCollections(tx, ids)) {
      requireCollection(accessTo(actor, one, chains, now()), 'bag_acl', one.id)
    }
    await store.renewUploads(tx, ids)
  }

  /** Changed grants and places change what is shared, here and below. */
  async function settleShares(
    tx: Tx,
    actor: Actor,
    saved: readonly SavedCollection[],
    options: ShareOptions,
  ): Promise<void> {
    const reshared = saved.filter((one) => one.reshared).map(({ id }) => id)
    if (reshared.length === 0) return
    const moved = saved.filter((one) => one.moved).map(({ id }) => id)
    if (moved.length > 0) await check.requirePassing(tx, actor, await check.shared(tx, moved))
    await check.settle(tx, actor, { ids: await check.shared(tx, reshared) }, options)
  }

  async function save(
    actor: Actor,
    inputs: readonly CollectionInput[],
    placeOf: (index: number) => string,
    options: ShareOptions,
    first: (tx: Tx) => Promise<void> = async () => {},
  ): Promise<OrTasks<CollectionOutput[]>> {
    for (const [index, { objects: _, _objects: __, ...record }] of inputs.entries())
      assertStorable(record, placeOf(index))
    const pinHashes = await deps.pins.hashesOf(
      actor,
      inputs.map(({ collection }, index) => ({
        pin: collection.pin_code,
        path: `${placeOf(index)}.collection.pin_code`,
      })),
    )
    assertNotices(inputs, placeOf)
    const wanted = await deps.shares.wanted(actor, inputs, placeOf)
    const saved = await orTasks(() =>
      deps.shareMails.withinQuota(actor, (mails) =>
        db.transaction(async (tx) => {
          await first(tx)
          return saveIn(tx, actor, inputs, placeOf, options, { pinHashes, wanted, mails })
        }),
      ),
    )
    if (saved.kind === 'confirm') return saved
    const ids = saved.value
    const stored = new Map((await store.findCollections(db, ids)).map((one) => [one.id, one]))
    const value = await render(
      db,
      actor,
      ids.flatMap((id) => stored.get(id) ?? []),
    )
    return { kind: 'done', value }
  }

  return {
    lists,
    /** Shares that a change of objects would make too wide. */
    review: createReview(deps),

    /** Makes a collection of objects below the caller's top collection, named with the date; answers its id (decision 44). */
    async collect(tx: Tx, actor: Actor, systemObjectIds: readonly number[]): Promise<number> {
      const today = deps.clock().toISOString().slice(0, 10)
      const displayname = Object.fromEntries(deps.languages().map((language) => [language, today]))
      const [id] = await saveIn(tx, actor, [{ collection: { displayname } }], () => 'delete_policy', unasked)
      if (systemObjectIds.length > 0) await lists.add(tx, actor, id as number, systemObjectIds, 'delete_policy')
      return id as number
    },

    /** The collections that the caller may see, parents before their children. */
    async list(actor: Actor, page: store.Page): Promise<CollectionOutput[]> {
      return render(db, actor, await store.listSeen(db, actor, page))
    },

    /** Collections directly below one; null: those without parent. @throws {AppError} `ObjectNotFound`, `RightRequired` */
    async listBelow(actor: Actor, parentId: number | null, page: store.Page): Promise<CollectionOutput[]> {
      if (parentId !== null) await visible(db, actor, parentId)
      return render(db, actor, await store.listSeen(db, actor, page, parentId))
    },

    /** @throws {AppError} `ObjectNotFound`, `RightRequired` */
    async read(actor: Actor, id: number): Promise<CollectionOutput> {
      const [wire] = await render(db, actor, [await visible(db, actor, id)])
      return wire as CollectionOutput
    },

    /** The collections that a caller may see, for any number of callers. */
    async readable(ids: readonly number[]): Promise<(actor: Actor) => ReadonlySet<number>> {
      const collections = await store.findCollections(db, ids)
      const chains = await store.findChains(db, ids, null)
      return (actor) =>
        new Set(collections.flatMap((one) => (accessTo(actor, one, chains, now()).may('bag_read') ? one.id : [])))
    },

    /** For searches: the visible collections, and conditions for them. */
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

    /**
     * Settings for objects made of uploads into a collection, for callers who may add objects to it.
     * @throws {AppError} `ObjectNotFound`, `RightRequired`
     */
    async uploads(actor: Actor, id: number): Promise<CollectionUploads> {
      const collection = await visible(db, actor, id)
      const chains = await store.findChains(db, [id], actor)
      requireList(accessTo(actor, collection, chains, now()), 'link', id)
      return { collection, settings: compiledOf(collection, chains) }
    },

    /** Makes a collection with a name below another one; `first` begins its transaction. @throws {AppError} */
    async makeBelow(
      actor: Actor,
      parentId: number,
      displayname: Localized,
      first: (tx: Tx) => Promise<void>,
    ): Promise<void> {
      await save(actor, [{ collection: { _id_parent: parentId, displayname } }], () => 'body', unasked, first)
    },

    /** Renames a collection in the named languages; `first` begins its transaction. @throws {AppError} */
    async rename(actor: Actor, id: number, displayname: Localized, first: (tx: Tx) => Promise<void>): Promise<void> {
      const { version, displayname: before } = await visible(db, actor, id)
      const _version = deps.conventionOf(actor) === 'next' ? version + 1 : version
      await save(
        actor,
        [{ collection: { _id: id, _version, displayname: { ...before, ...displayname } } }],
        () => 'body',
        unasked,
        first,
      )
    },

    /** Creates or changes one; `id` is that of the address. @throws {AppError} as `saveAll` */
    async save(
      actor: Actor,
      input: CollectionInput,
      options: ShareOptions,
      id?: number,
    ): Promise<OrTasks<CollectionOutput>> {
      const saved = await save(actor, [id === undefined ? input : withId(input, id)], () => 'body', options)
      return saved.kind === 'confirm' ? saved : { kind: 'done', value: saved.value[0] as CollectionOutput }
    },

    /**
     * Creates and changes collections, all or none.
     * @throws {AppError} `VersionMismatch`, `ObjectNotFound`, `LookupNotFound`, `RightRequired`, …
     */
    saveAll: (
      actor: Actor,
      inputs: readonly CollectionInput[],
      options: ShareOptions,
    ): Promise<OrTasks<CollectionOutput[]>> => save(actor, inputs, (index) => `body[${index}]`, options),

    /** Deletes a collection and all below it. @throws {AppError} `ObjectNotFound`, `RightRequired` */
    async remove(actor: Actor, id: number): Promise<void> {
      await db.transaction(async (tx) => {
        await store.lockTree(tx, 'alone')
        const below = await store.findSubtree(tx, id)
        const chains = await store.findChains(
          tx,
          below.map((one) => one.id),
          actor,
        )
        const accesses = below.map((one) => accessTo(actor, one, chains, now()))
        if (!accesses[0]?.known) throw notFound(id)
        // The answer says only that there are collections below it, nothing more about them.
        for (const access of accesses) requireCollection(access, 'bag_delete', id)
        if (below.some(({ isSystem }) => isSystem))
          throw badRequest('A system collection cannot be deleted.', { collection: id })
        await store.lockCollections(
          tx,
          below.map((one) => one.id),
        )
        await deps.sharing.changed(tx)
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

/**
 * The object type and mask for uploads by these settings (decision 41: only callers who may make such objects and add
 * them get the address).
 */
function uploadTarget({ objecttype, mask_id }: CreateObject, model: Model): UploadTarget {
  const table = typeof objecttype === 'string' ? model.objecttypes.get(objecttype) : undefined
  if (!table) return null
  const preferred = table.preferredMask.id
  const maskId = typeof mask_id === 'number' ? mask_id : preferred
  return { objecttypeId: table.id, maskId, standard: maskId === preferred }
}

/** The collection is identified by the address. */
function withId(input: CollectionInput, id: number): CollectionInput {
  const { _id: said, 'lookup:_id': lookup, ...collection } = input.collection
  if (said && said !== id)
    throw badRequest('collection._id is not that of the address', { path: 'collection._id', value: said })
  if (lookup) throw badRequest('the address says which collection it is', { path: 'collection.lookup:_id' })
  return { ...input, collection: { ...collection, _id: id } }
}
