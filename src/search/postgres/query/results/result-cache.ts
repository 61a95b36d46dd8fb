import { type ByteCache, createByteCache } from '../../../../platform/memory/byte-cache.ts'

/**
 * Results that were found: people ask for the same large lists again and again (all objects with all facets is what every
 * visit begins with). A result is kept with the state of the index that it was read from: as long as that has not changed it
 * is good as it is, and for a while after that it can be brought up to date (difference.ts).
 */

export interface Kept<T> {
  readonly value: T
  /** Moment of the last batch of the index that it has, in microseconds since 1970. */
  readonly asOf: number
  /** What the conditions were made from besides the plan: what was looked up for it. */
  readonly lookedUp: string
  /** What it takes in memory. */
  readonly bytes: number
}

export interface ResultCache {
  /** The result, if there is one; whether it is current is the caller's question. */
  get<T>(key: string): Kept<T> | undefined
  set<T>(key: string, kept: Kept<T>): void
  clear(): void
}

/** `maxBytes`: of all cached results together. */
export function createResultCache(maxBytes: number): ResultCache {
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
