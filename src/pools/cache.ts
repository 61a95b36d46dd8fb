import type { Logger } from 'pino'
import type { Bus } from '../platform/bus.ts'
import type { Db } from '../platform/db.ts'
import type { PoolSnapshot } from './model.ts'
import { loadPools } from './store.ts'
import { buildSnapshot } from './tree.ts'

/** Messages of this topic mean: pools changed, read them again. */
export const poolTopic = 'pool'

/** The tree in memory, renewed when a process on the same database has changed it. */
export async function createPoolCache({ db, bus, log }: { db: Db; bus: Pick<Bus, 'subscribe'>; log: Logger }) {
  let snapshot = buildSnapshot(await loadPools(db))
  // Changes heard of, and how many of them the snapshot has seen: a change while reading asks for one more read.
  let heard = 0
  let seen = 0
  let loading: Promise<void> | null = null

  async function load(): Promise<void> {
    const before = heard
    const next = buildSnapshot(await loadPools(db))
    snapshot = next
    seen = before
  }

  async function current(): Promise<PoolSnapshot> {
    while (seen < heard) {
      loading ??= load().finally(() => {
        loading = null
      })
      await loading
    }
    return snapshot
  }

  bus.subscribe(poolTopic, () => {
    heard++
    current().catch((error: unknown) => log.error({ err: error }, 'pools cannot be read'))
  })

  return {
    /** The tree as last read: at most a moment behind changes that other processes make. */
    snapshot: (): PoolSnapshot => snapshot,
    /** The tree with all changes that this process has heard of; its own are always among them. */
    current,
  }
}
