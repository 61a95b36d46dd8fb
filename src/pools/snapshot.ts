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

/** Messages of this topic mean that pools changed and must be read again. */
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
  /** The same list for each state of the tree, so that rights are compiled again only when it has changed. */
  let listed: { of: PoolSnapshot; pools: readonly PoolGrants[] } | null = null

  const ofPath = (id: number): Pool[] => (snapshot().get(id)?.path ?? []).flatMap((each) => snapshot().get(each) ?? [])

  return {
    /** All pools as last read, by id; parents first. Changes of this process are always included. */
    snapshot,
    /** Reads the pools again, for a caller that has just committed a change and returns it. */
    renewed: tree.renewed,
    byId: (id: number): Pool | undefined => snapshot().get(id),
    byReference: (reference: string): Pool | undefined => snapshot().byReference.get(reference),
    /** Ids from the root down to the pool itself; empty for an unknown pool. */
    path: (id: number): readonly number[] => snapshot().get(id)?.path ?? [],

    /** The tag settings of the pools on the path, root first. */
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

    /** Before a user or group is deleted: its pools get the owner `to`, and it is removed as contact. */
    async replacePerson(tx: Tx, kind: 'user' | 'group', from: number, to: number): Promise<void> {
      if (await replacePerson(tx, kind, from, to)) await deps.bus.publish(tx, poolTopic)
    },
  }
}
