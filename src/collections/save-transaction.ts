import type { Model } from '../datamodel/model.ts'
import type { RequireMappings } from '../objecttypes/model.ts'
import type { Actor } from '../platform/actor.ts'
import type { ConventionOf } from '../platform/config/versions.ts'
import { badRequest } from '../platform/errors.ts'
import type { Tx } from '../platform/postgres/db.ts'
import { type OrTasks, orTasks } from '../platform/values/questions.ts'
import { assertStorable } from '../platform/values/text.ts'
import type { KeptPools } from '../pools/service.ts'
import type { RightsService, ShareOptions } from '../rights/service.ts'
import type { KeptTags } from '../tags/service.ts'
import { accessTo, requireCollection } from './access.ts'
import type { createListService, FoundEntry, ListDeps } from './entries/service.ts'
import { collectionEvent } from './events.ts'
import type { Pins } from './pins/service.ts'
import { assertWithinQuotas } from './quotas.ts'
import { type SavedCollection, saveCollections } from './save.ts'
import type { CollectionInput } from './schema.ts'
import type { MailBudget, ShareMails } from './shares/mails.ts'
import { assertNotices, noticesOf } from './shares/notices.ts'
import type { Shares } from './shares/service.ts'
import type { WantedShare } from './shares/share-users.ts'
import type { ShareCheck } from './sharing/check.ts'
import * as store from './store.ts'

export interface SaveDeps extends Omit<ListDeps, 'rights' | 'check'> {
  readonly rights: Pick<RightsService, 'beyond' | 'forActor' | 'validateAcls' | 'resolveWho'>
  readonly datamodel: { current(): Model }
  readonly pools: Pick<KeptPools, 'snapshot'>
  readonly tags: Pick<KeptTags, 'existing'>
  readonly requireMappings: RequireMappings
  readonly conventionOf: ConventionOf
  readonly pins: Pick<Pins, 'hashesOf' | 'remember'>
  readonly shareMails: ShareMails
  readonly shares: Pick<Shares, 'wanted' | 'make' | 'settle'>
}

interface SaveParts {
  readonly check: ShareCheck
  readonly lists: ReturnType<typeof createListService>
}

/** Parts of a request that are prepared before its transaction. */
interface Asked {
  readonly pinHashes: readonly (string | null)[]
  readonly wanted: readonly WantedShare[]
  readonly mails: MailBudget
}

/** Saves the records of collections with all that a request holds for them: lists, PINs, shares, mails and addresses. */
export function createSaveTransaction(deps: SaveDeps, { check, lists }: SaveParts) {
  const { db, events, rights } = deps
  const now = (): number => deps.clock().getTime()

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

  /** `first` begins the transaction. */
  async function save(
    actor: Actor,
    inputs: readonly CollectionInput[],
    placeOf: (index: number) => string,
    options: ShareOptions,
    first: (tx: Tx) => Promise<void>,
  ): Promise<OrTasks<number[]>> {
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
    return orTasks(() =>
      deps.shareMails.withinQuota(actor, (mails) =>
        db.transaction(async (tx) => {
          await first(tx)
          return saveIn(tx, actor, inputs, placeOf, options, { pinHashes, wanted, mails })
        }),
      ),
    )
  }

  return { save, saveIn }
}
