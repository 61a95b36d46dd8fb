/**
 * An index in memory, which finds by looking at every document: the other one, besides that in PostgreSQL, that the tests of
 * searches run against (`TEST_SEARCH_INDEX`, test/support/search-index.ts).
 */
import type { SearchIndex, SearchIndexOptions } from '../../../src/search/service.ts'
import { createMemoryEngine } from './engine.ts'
import { createMemoryTarget, type Held } from './target.ts'

/** By database: several services of one process share it. */
const shared = new Map<string, { readonly held: Held; users: number }>()

export default function createMemoryIndex({ db }: Pick<SearchIndexOptions, 'db'>): SearchIndex {
  const name = db.pool.options.connectionString ?? ''
  const fresh = (): Held => ({ documents: new Map(), former: [], generation: 0, changedAt: 0, followedSince: null })
  const known = shared.get(name) ?? { held: fresh(), users: 0 }
  shared.set(name, known)
  known.users++
  return {
    target: createMemoryTarget(known.held),
    engine: createMemoryEngine(known.held, db),
    idle: async () => {},
    forget() {},
    async close() {
      if (--known.users === 0) shared.delete(name)
    },
  }
}
