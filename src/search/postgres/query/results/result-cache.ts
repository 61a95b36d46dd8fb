import { type ByteCache, createByteCache } from '../../../../platform/memory/byte-cache.ts'

/**
 * Cached results: people run the same large searches again and again (every visit begins with all objects and all facets). A result
 * is cached with the state of the index that it was read from. It is valid as long as that state has not changed, and for a while
 * after that it can be brought up to date (difference.ts).
 */

export interface CachedResult<T> {
  readonly value: T
  /** Moment of the last batch of the index that it has, in microseconds since 1970. */
  readonly asOf: number
  /** The data beside the plan that its conditions depend on. */
  readonly lookedUp: string
  /** Size in memory. */
  readonly bytes: number
}

export interface ResultCache {
  /** The result, if there is one. The caller must check whether it is current. */
  get<T>(key: string): CachedResult<T> | undefined
  set<T>(key: string, kept: CachedResult<T>): void
  clear(): void
}

/** `maxBytes`: of all cached results together. */
export function createResultCache(maxBytes: number): ResultCache {
  const entries: ByteCache<string, CachedResult<unknown>> = createByteCache({
    name: 'search_results',
    maxBytes,
    sizeOf: ({ bytes }) => bytes,
  })
  return {
    get: <T>(key: string) => entries.get(key) as CachedResult<T> | undefined,
    set: (key, kept) => void entries.set(key, kept),
    clear: () => entries.clear(),
  }
}
