/**
 * Pools: the tree that holds objects and hands grants, tags, transitions and preferred masks down. See
 * docs/rights-and-pools.md for what is inherited and who may change what.
 */

import type { Model } from '../datamodel/model.ts'
import type { EventLog } from '../events/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { Bus } from '../platform/bus.ts'
import type { Db, Queryable, Tx } from '../platform/db.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import type { Snapshots } from '../platform/snapshot.ts'
import { type NeededRight, requireRight } from '../platform/system-right.ts'
import { assertStorable } from '../platform/text.ts'
import type { VersionConvention } from '../platform/versions.ts'
import type { CallerRights, PoolGrants, RightsService } from '../rights/service.ts'
import { openPoolTree, poolTopic } from './cache.ts'
import { type PoolEvent, parentUpdates, toEvents } from './events.ts'
import type { Pool, PoolSnapshot, PoolTag, PoolTransition } from './model.ts'
import { renderPools, type Wire } from './render.ts'
import { type PoolParts, requirePool, savePools } from './save.ts'
import type { PoolInput, PoolOutput } from './schema.ts'
import * as store from './store.ts'
import { poolTagUses } from './tag-use.ts'
import { buildSnapshot, subtree } from './tree.ts'

export type { Pool, PoolSnapshot, PoolTag, PoolTransition } from './model.ts'
export type { PoolParts } from './save.ts'

/** A pool's say about tags, from the root down: what the tags engine compiles. */
export interface PoolTagLayer {
  readonly private: boolean
  readonly tags: readonly PoolTag[]
}

/** A pool's own transitions and whether it cuts those from above. */
export interface PoolTransitionLayer {
  readonly private: boolean
  readonly transitions: readonly PoolTransition[]
}

export interface PoolOptions {
  db: Db
  bus: Bus
  snapshots: Pick<Snapshots, 'open'>
  events: EventLog
  rights: RightsService
  datamodel: { current(): Model }
  versionConvention: VersionConvention
  parts: PoolParts & {
    /** How many objects, those in the trash included, the pools hold. */
    countObjects(tx: Tx, poolIds: readonly number[]): Promise<number>
    /** `_tags` of the last layer and the tags that all layers together leave, in wire form. */
    renderTags(layers: readonly PoolTagLayer[]): { own: readonly Wire[]; compiled: readonly Wire[] }
    renderTransitions(
      from: Queryable,
      lists: readonly (readonly PoolTransition[])[],
      languages: readonly string[],
    ): Promise<readonly (readonly Wire[])[]>
  }
}

export const managePools: NeededRight = { name: 'system.poolmanager' }

export type PoolService = Awaited<ReturnType<typeof createPoolService>>

export async function createPoolService(options: PoolOptions) {
  const { db, bus, events, rights, datamodel, versionConvention, parts } = options
  const tree = await openPoolTree(options.snapshots)
  const snapshot = tree.get
  /** One list for each state of the tree, so that rights are compiled anew only when it has changed. */
  let listed: { of: PoolSnapshot; pools: readonly PoolGrants[] } | null = null

  async function render(actor: Actor, pools: readonly Pool[], callerRights: CallerRights): Promise<PoolOutput[]> {
    const languages = actor.languages
    const people = pools.flatMap((pool) => [pool.owner, pool.contact]).filter((who) => who !== null)
    const names = await rights.whoNames(db, people, languages)
    const acls = await rights.renderAcls(
      db,
      pools.map((pool) => pool.acl),
      languages,
    )
    const transitions = await parts.renderTransitions(
      db,
      pools.map((pool) => pool.transitions),
      languages,
    )
    const tags = (pool: Pool) => parts.renderTags(tagLayers(snapshot(), pool.id))
    return renderPools(pools, { snapshot: snapshot(), rights: callerRights, parts: { names, acls, transitions, tags } })
  }

  /** The transitions of deleted pools are deleted with them, and logged as such. */
  async function dropTransitions(tx: Tx, actor: Actor, deleted: readonly Pool[]): Promise<void> {
    const changes = deleted
      .filter((pool) => pool.transitions.length > 0)
      .map((pool) => ({ wire: [], previous: pool.transitions, path: '_transitions' }))
    if (changes.length > 0) await parts.changeTransitions(tx, actor, changes)
  }

  return {
    /** All pools as last read, by id; parents first. In this process its own changes are always in it. */
    snapshot,
    byId: (id: number): Pool | undefined => snapshot().get(id),
    byReference: (reference: string): Pool | undefined => snapshot().byReference.get(reference),

    /**
     * The pools with these ids, in their order.
     * @throws {AppError} `PoolNotFound`
     */
    resolvePools(ids: readonly number[]): Pool[] {
      return ids.map((id) => {
        const pool = snapshot().get(id)
        if (!pool) throw new AppError('PoolNotFound', { _id: id })
        return pool
      })
    },
    /** Ids from the root down to the pool itself; empty for an unknown pool. */
    poolPath: (id: number): readonly number[] => snapshot().get(id)?.path ?? [],
    /** What the pools of the path say about tags, root first. */
    tagLayers: (id: number): PoolTagLayer[] => tagLayers(snapshot(), id),
    /** The transitions of the pools of the path, root first. */
    transitionLayers: (id: number): PoolTransitionLayer[] =>
      poolsOfPath(snapshot(), id).map((pool) => ({ private: pool.privateTransitions, transitions: pool.transitions })),
    /** Keeps the pools from being deleted until the transaction ends. @throws {AppError} `PoolNotFound` */
    async lockForUse(tx: Tx, ids: readonly number[]): Promise<void> {
      const found = ids.length === 0 ? new Set<number>() : await store.lockForUse(tx, ids)
      for (const id of ids) if (!found.has(id)) throw new AppError('PoolNotFound', { _id: id })
    },
    /** When a user or group goes: its pools belong to `to`, and it is the contact of none. */
    async replacePerson(tx: Tx, kind: 'user' | 'group', from: number, to: number): Promise<void> {
      if (await store.replacePerson(tx, kind, from, to)) await bus.publish(tx, poolTopic)
    },
    /** Where pools refer to tags: asked before tags are deleted. */
    tagUses: poolTagUses(bus),
    /** The grants of all pools, for the compiled rights. */
    grants(): readonly PoolGrants[] {
      const now = snapshot()
      if (listed?.of !== now) listed = { of: now, pools: [...now.values()] }
      return listed.pools
    },

    /** The pools that the actor may see, parents before their children. */
    async list(
      actor: Actor,
      { limit = 1000, offset = 0 }: { limit?: number; offset?: number } = {},
    ): Promise<PoolOutput[]> {
      const callerRights = await rights.forActor(actor)
      const visible = [...snapshot().values()].filter((pool) => callerRights.mayPool('bag_read', pool.id))
      return render(actor, visible.slice(offset, offset + limit), callerRights)
    },

    /** @throws {AppError} `ResourceNotFound`, `RightRequired` */
    async read(actor: Actor, id: number): Promise<PoolOutput> {
      const callerRights = await rights.forActor(actor)
      const pool = (callerRights.knowsPool(id) ? snapshot().get(id) : undefined) ?? notFound(id)
      requirePool(callerRights, 'bag_read', id)
      const [wire] = await render(actor, [pool], callerRights)
      return wire as PoolOutput
    },

    /**
     * Creates and changes pools, all or none. An update names the version that the caller last read.
     * @throws {AppError} `VersionMismatch`, `PoolNeedsParent`, `IllegalPathForPool`, `RightRequired`, …
     */
    async save(actor: Actor, inputs: readonly PoolInput[]): Promise<PoolOutput[]> {
      requireRight(actor, managePools)
      assertStorable(inputs, 'pool')
      const before = await rights.forActor(actor)
      const ids = await db.transaction(async (tx) => {
        await store.lockTree(tx)
        const stored = buildSnapshot(await store.loadPools(tx))
        const model = datamodel.current()
        const context = {
          tx,
          actor,
          rights: before,
          grants: rights,
          model,
          parts,
          convention: versionConvention,
          stored,
        }
        const saved = await savePools(context, inputs)
        await events.append(tx, toEvents(actor, saved.events))
        await bus.publish(tx, poolTopic)
        return saved.ids
      })
      const after = await tree.renewed()
      return render(
        actor,
        ids.flatMap((id) => after.get(id) ?? []),
        await rights.forActor(actor),
      )
    },

    /**
     * Deletes a pool and those below it; none of them may hold an object.
     * @throws {AppError} `ResourceNotFound`, `RightRequired`, `PoolNotEmpty`
     */
    async remove(actor: Actor, id: number): Promise<void> {
      requireRight(actor, managePools)
      const callerRights = await rights.forActor(actor)
      await db.transaction(async (tx) => {
        await store.lockTree(tx)
        const stored = buildSnapshot(await store.loadPools(tx))
        const known = actor.isRoot || callerRights.knowsPool(id) ? stored.get(id) : undefined
        const pools = subtree(stored, (known ?? notFound(id)).id)
        // Of what is below it the answer tells nothing but that it is in the way.
        if (!pools.every((pool) => callerRights.mayPool('bag_delete', pool.id)))
          throw new AppError('RightRequired', { right: 'bag_delete', pool: id })
        for (const pool of pools)
          if (pool.isSystem) throw badRequest('A system pool cannot be deleted.', { pool: pool.id })
        const ids = pools.map((pool) => pool.id)
        await store.lockForDelete(tx, ids)
        const objects = await parts.countObjects(tx, ids)
        if (objects > 0) throw new AppError('PoolNotEmpty', { pool: id, pools: ids, objects })
        await dropTransitions(tx, actor, pools)
        await store.deletePools(tx, ids)
        const deleted: PoolEvent[] = pools.map((pool) => ({ type: 'POOL_DELETE', pool }))
        const above = parentUpdates(stored, pools, [pools[0]?.parentId ?? null])
        await events.append(tx, toEvents(actor, [...deleted, ...above]))
        await bus.publish(tx, poolTopic)
      })
      await tree.renewed()
    },
  }
}

function notFound(id: number): never {
  throw new AppError('ResourceNotFound', { resource: `Pool ${id}` })
}

function poolsOfPath(snapshot: PoolSnapshot, id: number): Pool[] {
  return (snapshot.get(id)?.path ?? []).flatMap((each) => snapshot.get(each) ?? [])
}

function tagLayers(snapshot: PoolSnapshot, id: number): PoolTagLayer[] {
  return poolsOfPath(snapshot, id).map((pool) => ({ private: pool.privateTags, tags: pool.tags }))
}
