import type { SearchIndex, SearchIndexOptions } from '../../src/search/service.ts'

export type MakeSearchIndex = (options: SearchIndexOptions) => SearchIndex

/**
 * The index that all tests run against when it is not the one in PostgreSQL: `TEST_SEARCH_INDEX` is the address of a
 * module whose default export makes it.
 */
export async function otherSearchIndex(): Promise<MakeSearchIndex | undefined> {
  const address = process.env.TEST_SEARCH_INDEX
  if (!address) return undefined
  const module: { default: MakeSearchIndex } = await import(address)
  return module.default
}
