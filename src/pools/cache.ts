import type { Snapshots } from '../platform/snapshot.ts'
import { loadPools } from './store.ts'
import { buildSnapshot } from './tree.ts'

/** Messages of this topic mean: pools changed, read them again. */
export const poolTopic = 'pool'

/** The tree in memory, renewed when a process on the same database has changed it. */
export const openPoolTree = (snapshots: Pick<Snapshots, 'open'>) =>
  snapshots.open({ name: 'pools', topics: [poolTopic], read: loadPools, build: (stored) => buildSnapshot(stored) })
