import { AppError } from '../platform/errors.ts'
import type { Bus } from '../platform/postgres/bus.ts'
import type { Tx } from '../platform/postgres/db.ts'
import type { Snapshots } from '../platform/postgres/snapshot.ts'
import type { PoolGrants } from '../rights/service.ts'
import type { TagLayer } from '../tags/service.ts'
import type { TransitionLayer } from '../transitions/service.ts'
import type { Pool, PoolSnapshot } from './model.ts'
import { loadPools, lockForUse, replacePerson } from './store.ts'
import { buildSnapshot } from './tree.ts'

/** Messages of this topic mean: pools changed, read them again. */
export const poolTopic = 'pool'

export type KeptPools = Awaited<ReturnType<typeof openPools>>

/** The tree of pools in memory, renewed when a process on the same database has changed it. */
export async function openPools(deps: { readonly snapshots: Pick<Snapshots, 'open'>; readonly bus: Bus }) {
  const tree = await deps.snapshots.open({
    name: 'pools',
    topics: [poolTopic],
    read: loadPools,
    build: (stored) => buildSnapshot(stored),
  })
  const snapshot = tree.get
  /** One list for each state of the tree, so that rights are compiled anew only when it has changed. */
  let listed: { of: PoolSnapshot; pools: readonly PoolGrants[] } | null = null

  const ofPath = (id: number): Pool[] => (snapshot().get(id)?.path ?? []).flatMap((each) => snapshot().get(each) ?? [])

  return {
    /** All pools as last read, by id; parents first. In this process its own changes are always in it. */
    snapshot,
    /** Reads once more, for who has just committed a change and answers with it. */
    renewed: tree.renewed,
    byId: (id: number): Pool | undefined => snapshot().get(id),
    byReference: (reference: string): Pool | undefined => snapshot().byReference.get(reference),
    /** Ids from the root down to the pool itself; empty for an unknown pool. */
    path: (id: number): readonly number[] => snapshot().get(id)?.path ?? [],

    /** What the pools of the path say about tags, root first. */
    tagLayers: (id: number): TagLayer[] => ofPath(id).map((pool) => ({ private: pool.privateTags, tags: pool.tags })),
    /** The transitions of the pools of the path, root first. */
    transitionLayers: (id: number): TransitionLayer[] =>
      ofPath(id).map((pool) => ({ private: pool.privateTransitions, transitions: pool.transitions })),

    /** The grants of all pools, for the compiled rights. */
    grants(): readonly PoolGrants[] {
      const now = snapshot()
      if (listed?.of !== now) listed = { of: now, pools: [...now.values()] }
      return listed.pools
    },

    /** Keeps the pools from being deleted until the transaction ends. @throws {AppError} `PoolNotFound` */
    async lockForUse(tx: Tx, ids: readonly number[]): Promise<void> {
      const found = ids.length === 0 ? new Set<number>() : await lockForUse(tx, ids)
      for (const id of ids) if (!found.has(id)) throw new AppError('PoolNotFound', { _id: id })
    },

    /** When a user or group goes: its pools belong to `to`, and it is the contact of none. */
    async replacePerson(tx: Tx, kind: 'user' | 'group', from: number, to: number): Promise<void> {
      if (await replacePerson(tx, kind, from, to)) await deps.bus.publish(tx, poolTopic)
    },
  }
}
