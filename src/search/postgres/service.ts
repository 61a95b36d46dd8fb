/** The index and its search engine, in PostgreSQL. The composition can pass in another implementation. */
import type { Logger } from 'pino'
import type { Jobs } from '../../jobs/service.ts'
import type { Shares } from '../../platform/memory/shares.ts'
import type { Db, Queryable } from '../../platform/postgres/db.ts'
import type { SearchEngine } from '../plan/plan.ts'
import type { IndexTarget } from '../queue/target.ts'
import { type ColumnShares, createBitmapStore } from './bitmaps/bitmap-store.ts'
import { schedulePruning } from './index/prune-sets.ts'
import { type Renewal, scheduleRenewal } from './index/renew.ts'
import { createPostgresTarget } from './index/target.ts'
import { createKnownSets } from './query/access/access-sets.ts'
import { createPostgresEngine, type EngineShares } from './query/engine.ts'
import { createSortIndexes, registerSortIndexes } from './query/order/sort-indexes.ts'
import { createSlotCache } from './slots.ts'

/** An index and its search engine. */
export interface SearchIndex {
  readonly target: IndexTarget
  readonly engine: SearchEngine
  /** Indexes of words that can be rebuilt; absent: there are none. */
  readonly words?: Pick<Renewal, 'begin' | 'read'>
  /** Resolves when all background work of searches is done, or queued. */
  idle(): Promise<void>
  /** Forgets data outside of caches (`createByteCache`), because the database was replaced by another one. */
  forget(): void
  close(): Promise<void>
}

export interface SearchIndexOptions {
  readonly db: Db
  /** For statements that take microseconds. */
  readonly pipelined: Queryable
  readonly log: Logger
  /** Runs work that takes minutes. */
  readonly jobs: Pick<Jobs, 'register' | 'enqueue'>
  /** Version of ICU. */
  readonly icu: string
  /** Connections for searches for words. */
  readonly connections: number
  readonly memory: ColumnShares & EngineShares & Pick<Shares, 'accessSets'>
  /** The number of matches from which on a result is large; absent: the default of the engine. */
  readonly largeResult?: number
  /** The highest number of objects that a condition through a link looks up beforehand; absent: the default of the engine. */
  readonly mostTargets?: number
}

export function createPostgresIndex({
  db,
  pipelined,
  log,
  jobs,
  icu,
  connections,
  memory,
  largeResult,
  mostTargets,
}: SearchIndexOptions): SearchIndex {
  const slots = createSlotCache(db)
  const sortIndexes = createSortIndexes({ db, log, jobs })
  registerSortIndexes({ db, log, jobs })
  const pruning = schedulePruning({ db, log, jobs })
  const renewal = scheduleRenewal({ db, log, jobs })
  const accessSets = createKnownSets({ db, log, maxBytes: memory.accessSets })
  const bitmaps = createBitmapStore({ db, log, memory })
  const engine = createPostgresEngine({
    db,
    pipelined,
    slots,
    accessSets,
    sortIndexes,
    bitmaps,
    memory,
    maxConnections: connections,
    ...(largeResult === undefined ? {} : { largeResult }),
    ...(mostTargets === undefined ? {} : { mostTargets }),
  })
  const target = createPostgresTarget({ slots, icu, renewal })
  return {
    target,
    engine,
    words: renewal,
    forget() {
      target.forgetAll()
      slots.forget()
      sortIndexes.forget()
      bitmaps.forget()
    },
    async idle() {
      await sortIndexes.idle()
      await accessSets.idle()
      await bitmaps.idle()
    },
    async close() {
      pruning.close()
      await renewal.close()
      await accessSets.idle()
      await bitmaps.idle()
      await engine.close()
    },
  }
}
