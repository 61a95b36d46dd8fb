/**
 * Pools: the tree that holds objects and hands down grants, tags, transitions and preferred masks. See docs/rights-and-pools.md for
 * the rules of inheritance and for the rights to change pools.
 */

import { isDeepStrictEqual } from 'node:util'
import type { Model } from '../datamodel/model.ts'
import type { EventLog } from '../events/service.ts'
import type { RequireMappings } from '../objecttypes/model.ts'
import { renditionsTask } from '../objecttypes/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { ConventionOf } from '../platform/config/versions.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import { type NeededRight, requireRight } from '../platform/http/system-right.ts'
import type { Bus } from '../platform/postgres/bus.ts'
import type { Db, Tx } from '../platform/postgres/db.ts'
import { orTasks } from '../platform/values/questions.ts'
import type { Task } from '../platform/values/tasks.ts'
import { assertStorable } from '../platform/values/text.ts'
import type { CallerRights, ContainerGrants, RightsService, ShareOptions } from '../rights/service.ts'
import { type KeptTags, renderTagLayers } from '../tags/service.ts'
import type { TransitionService } from '../transitions/service.ts'
import { type PoolEvent, parentUpdates, toEvents } from './events.ts'
import type { Pool, PoolSnapshot } from './model.ts'
import { renderPools } from './render.ts'
import { type PoolMarks, type PoolObjects, requirePool, savePools } from './save.ts'
import type { PoolInput, PoolOutput, PoolStats } from './schema.ts'
import { type KeptPools, poolTopic } from './snapshot.ts'
import * as store from './store.ts'
import { poolTagUses } from './tag-use.ts'
import { buildSnapshot, subtree } from './tree.ts'

export type { Pool, PoolSnapshot } from './model.ts'
export { type KeptPools, openPools } from './snapshot.ts'

export interface PoolDeps {
  db: Db
  bus: Bus
  events: EventLog
  rights: RightsService
  datamodel: { current(): Model }
  pools: KeptPools
  tags: KeptTags
  transitions: Pick<TransitionService, 'validateLists' | 'renderLists'>
  conventionOf: ConventionOf
  /** The functions for objects that pools need. */
  objects: PoolObjects
  marks: PoolMarks
  requireMappings: RequireMappings
  /** Checks grants of collections that would then give too much. @throws {Unconfirmed} */
  shares: {
    settle(tx: Tx, actor: Actor, changed: Partial<ContainerGrants>, options: ShareOptions): Promise<void>
  }
}

export const managePools: NeededRight = { name: 'system.poolmanager' }

export type PoolService = ReturnType<typeof createPoolService>

export function createPoolService(deps: PoolDeps) {
  const { db, bus, events, rights, pools: kept } = deps
  const { snapshot } = kept

  async function render(actor: Actor, pools: readonly Pool[], callerRights: CallerRights): Promise<PoolOutput[]> {
    const languages = actor.languages
    const people = pools.flatMap((pool) => [pool.owner, pool.contact]).filter((who) => who !== null)
    const names = await rights.whoNames(db, people, languages)
    const acls = await rights.renderAcls(
      db,
      pools.map((pool) => pool.acl),
      languages,
    )
    const transitions = await deps.transitions.renderLists(
      db,
      pools.map((pool) => pool.transitions),
      languages,
    )
    const tags = (pool: Pool) =>
      renderTagLayers(deps.tags.snapshot(), kept.tagLayers(pool.id), callerRights, Date.now())
    return renderPools(pools, { snapshot: snapshot(), rights: callerRights, parts: { names, acls, transitions, tags } })
  }

  /** The transitions of deleted pools are deleted with them, and logged as such. */
  async function dropTransitions(tx: Tx, actor: Actor, deleted: readonly Pool[]): Promise<void> {
    const changes = deleted
      .filter((pool) => pool.transitions.length > 0)
      .map((pool) => ({ wire: [], previous: pool.transitions, path: '_transitions' }))
    if (changes.length > 0) await deps.transitions.validateLists(tx, actor, changes)
  }

  return {
    /** The references of pools to mappings. They are removed with the mapping. */
    mappingUse: {
      name: 'pools',
      count: store.countMapping,
      async remove(tx: Tx, id: number): Promise<void> {
        await store.removeMapping(tx, id)
        await bus.publish(tx, poolTopic)
      },
    },

    /** The references of pools to tags: asked before tags are deleted. */
    tagUses: poolTagUses(bus),
    /** The pools that the actor may see, parents before their children. */
    async list(
      actor: Actor,
      { limit = 1000, offset = 0 }: { limit?: number; offset?: number } = {},
    ): Promise<PoolOutput[]> {
      const callerRights = await rights.forActor(actor)
      const visible = [...snapshot().values()].filter((pool) => callerRights.mayPool('bag_read', pool.id))
      return render(actor, visible.slice(offset, offset + limit), callerRights)
    },

    /** For searches: the pools that the caller may see, and the fields. */
    records: {
      async access(actor: Actor, bind: (value: unknown) => string) {
        const { mayPool } = await rights.forActor(actor)
        const visible = [...snapshot().keys()].filter((id) => mayPool('bag_read', id))
        return { condition: `t.id = any(${bind(visible)}::bigint[])`, shown: {} }
      },
      async render(actor: Actor, ids: readonly number[]): Promise<ReadonlyMap<number, PoolOutput>> {
        const callerRights = await rights.forActor(actor)
        const found = ids.flatMap((id) => snapshot().get(id) ?? [])
        const visible = found.filter(({ id }) => callerRights.mayPool('bag_read', id))
        const wire = await render(actor, visible, callerRights)
        return new Map(wire.map((one) => [one.pool._id, one]))
      },
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
     * The number of files of the objects in a pool; on request including the pools below it that the caller may read.
     * @throws {AppError} `SystemRightRequired`, and as `read`.
     */
    async stats(actor: Actor, id: number, { below }: { readonly below: boolean }): Promise<PoolStats> {
      requireRight(actor, managePools)
      const callerRights = await rights.forActor(actor)
      if (!callerRights.knowsPool(id) || !snapshot().has(id)) notFound(id)
      requirePool(callerRights, 'bag_read', id)
      const pools = below ? subtree(snapshot(), id).map((pool) => pool.id) : [id]
      const seen = pools.filter((one) => callerRights.knowsPool(one) && callerRights.mayPool('bag_read', one))
      const files = await deps.objects.fileFigures(db, { pools: seen })
      return { pool_id: id, created_at: new Date().toISOString(), files }
    },

    /**
     * Creates and changes pools, all or none. An update contains the version that the caller last read. If watermarks or captions
     * of renditions change, `confirm` decides how to treat them; without it the caller is asked, and nothing is saved.
     * @throws {AppError} `VersionMismatch`, `PoolNeedsParent`, `IllegalPathForPool`, `RightRequired`, …
     */
    async save(
      actor: Actor,
      inputs: readonly PoolInput[],
      confirm?: 'resync' | 'skip' | undefined,
      shares: ShareOptions = { allow: false, background: false },
    ): Promise<{ kind: 'confirm'; tasks: readonly Task[] } | { kind: 'done'; pools: PoolOutput[] }> {
      requireRight(actor, managePools)
      assertStorable(inputs, 'pool')
      const before = await rights.forActor(actor)
      const save = async (tx: Tx): Promise<readonly number[] | null> => {
        await store.lockTree(tx)
        const stored = buildSnapshot(await store.loadPools(tx))
        const model = deps.datamodel.current()
        const convention = deps.conventionOf(actor)
        const { tags, transitions, objects, marks, requireMappings } = deps
        const saved = await savePools(
          {
            tx,
            actor,
            rights: before,
            grants: rights,
            model,
            tags,
            transitions,
            requireMappings,
            objects,
            marks,
            confirm,
            convention,
            stored,
          },
          inputs,
        )
        if (saved.kind === 'confirm') return null
        await events.append(tx, toEvents(actor, saved.events))
        const after = buildSnapshot(await store.loadPools(tx))
        if (!isDeepStrictEqual(givenBy(stored), givenBy(after)))
          await deps.shares.settle(tx, actor, { pools: [...after.values()] }, shares)
        await bus.publish(tx, poolTopic)
        return saved.ids
      }
      const result = await orTasks(() => db.transaction(save))
      if (result.kind === 'confirm') return result
      const ids = result.value
      if (ids === null) return { kind: 'confirm', tasks: [renditionsTask()] }
      const after = await kept.renewed()
      const pools = ids.flatMap((id) => after.get(id) ?? [])
      return { kind: 'done', pools: await render(actor, pools, await rights.forActor(actor)) }
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
        // The error discloses nothing about the pools below but that one of them blocks the deletion.
        if (!pools.every((pool) => callerRights.mayPool('bag_delete', pool.id)))
          throw new AppError('RightRequired', { right: 'bag_delete', pool: id })
        for (const pool of pools)
          if (pool.isSystem) throw badRequest('A system pool cannot be deleted.', { pool: pool.id })
        const ids = pools.map((pool) => pool.id)
        await store.lockForDelete(tx, ids)
        const objects = await deps.objects.count(tx, ids)
        if (objects > 0) throw new AppError('PoolNotEmpty', { pool: id, pools: ids, objects })
        await dropTransitions(tx, actor, pools)
        await store.deletePools(tx, ids)
        const deleted: PoolEvent[] = pools.map((pool) => ({ type: 'POOL_DELETE', pool }))
        const above = parentUpdates(stored, pools, [pools[0]?.parentId ?? null])
        await events.append(tx, toEvents(actor, [...deleted, ...above]))
        await bus.publish(tx, poolTopic)
      })
      await kept.renewed()
    },
  }
}

function notFound(id: number): never {
  throw new AppError('ResourceNotFound', { resource: `Pool ${id}` })
}

/** The members of pools that give rights. */
const givenBy = (pools: PoolSnapshot): unknown =>
  [...pools.values()].map(({ id, parentId, acl, privateAcl, owner, contact }) => [
    id,
    parentId,
    acl,
    privateAcl,
    owner,
    contact,
  ])
