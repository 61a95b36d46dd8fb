import { type ByteCache, createByteCache } from '../../../platform/byte-cache.ts'

/**
 * Results that are current: people ask for the same large lists again and again (all objects with all facets is what
 * every visit begins with). A result is kept with the generation of the index that it was read from and is good as
 * long as the index has not changed since.
 */

export interface Kept<T> {
  readonly value: T
  readonly generation: number
  /** What it takes in memory. */
  readonly bytes: number
}

/** Bytes of all kept results together. */
const maxBytes = 40_000_000

export interface ResultCache {
  /** The result, if there is one; whether it is current is the caller's question. */
  get<T>(key: string): Kept<T> | undefined
  set<T>(key: string, kept: Kept<T>): void
  clear(): void
}

export function createResultCache(): ResultCache {
  const entries: ByteCache<string, Kept<unknown>> = createByteCache({
    name: 'search_results',
    maxBytes,
    sizeOf: ({ bytes }) => bytes,
  })
  return {
    get: <T>(key: string) => entries.get(key) as Kept<T> | undefined,
    set: (key, kept) => void entries.set(key, kept),
    clear: () => entries.clear(),
  }
}
