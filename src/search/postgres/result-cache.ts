/**
 * Results that are current: people ask for the same large lists again and again (all objects with all facets is what
 * every visit begins with). A result is kept with the generation of the index that it was read from and is good as
 * long as the index has not changed since.
 */

export interface Kept<T> {
  readonly value: T
  readonly generation: number
  /** About how many numbers and texts it holds. */
  readonly weight: number
}

/** All kept results together; about 40 MB at most. */
const mostWeight = 2_000_000
const mostEntries = 5000

export function createResultCache() {
  const entries = new Map<string, Kept<unknown>>()
  let weight = 0

  function remove(key: string): void {
    weight -= entries.get(key)?.weight ?? 0
    entries.delete(key)
  }

  return {
    /** The result, if there is one; whether it is current is the caller's question. */
    get<T>(key: string): Kept<T> | undefined {
      const kept = entries.get(key)
      if (!kept) return undefined
      // Moved to the end, so that the first one is the least recently used.
      entries.delete(key)
      entries.set(key, kept)
      return kept as Kept<T>
    },

    set<T>(key: string, kept: Kept<T>): void {
      remove(key)
      if (kept.weight > mostWeight / 4) return
      entries.set(key, kept)
      weight += kept.weight
      for (const oldest of entries.keys()) {
        if (weight <= mostWeight && entries.size <= mostEntries) break
        remove(oldest)
      }
    },
  }
}
