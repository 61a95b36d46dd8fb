/** The index and the engine that searches it, in PostgreSQL. Another one is handed in by the composition in its place. */
import type { Logger } from 'pino'
import type { Db } from '../../platform/db.ts'
import type { SearchEngine } from '../plan/plan.ts'
import type { IndexTarget } from '../queue/target.ts'
import { createPostgresTarget } from './index/target.ts'
import { createPostgresEngine } from './query/engine.ts'
import { createSortIndexes } from './query/sort-indexes.ts'
import { createSlotCache } from './slots.ts'

/** An index and who searches it. */
export interface SearchIndex {
  readonly target: IndexTarget
  readonly engine: SearchEngine
  /** Resolves when nothing is being done in the background. */
  idle(): Promise<void>
  close(): Promise<void>
}

export interface SearchIndexOptions {
  readonly db: Db
  readonly log: Logger
  /** Version of ICU. */
  readonly icu: string
  /** Connections for searches for words. */
  readonly connections: number
}

export function createPostgresIndex({ db, log, icu, connections }: SearchIndexOptions): SearchIndex {
  const slots = createSlotCache(db)
  const sortIndexes = createSortIndexes({ db, log })
  const engine = createPostgresEngine({ db, slots, sortIndexes, maxConnections: connections })
  return {
    target: createPostgresTarget({ slots, icu }),
    engine,
    idle: () => sortIndexes.idle(),
    async close() {
      await sortIndexes.close()
      await engine.close()
    },
  }
}
