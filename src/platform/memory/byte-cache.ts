import { LRUCache } from 'lru-cache'

/**
 * A cache with a budget in bytes: for its keys, its values and its own overhead for each entry. The least recently used entries are
 * evicted first. All data that callers can grow without limit is kept in such caches.
 */
export type ByteCache<K extends string | number, V extends object> = LRUCache<K, V>

export interface ByteCacheOptions<V> {
  /** Word for the metrics. */
  readonly name: string
  readonly maxBytes: number
  /** Bytes that only this value uses. */
  readonly sizeOf: (value: V) => number
  /** Bytes of the largest value that is kept; default: an eighth of the budget. */
  readonly maxEntryBytes?: number
}

/** The overhead of the cache for an entry: slots in its lists, and the objects around key and value. */
const entryBytes = 200

export interface CacheSize {
  readonly bytes: number
  readonly entries: number
}

interface Observed {
  readonly name: string
  read(): CacheSize
  clear(): void
}

/** The caches of this process, for its metrics: a list of weak references, since a test process has many services. */
const caches = new Set<WeakRef<object>>()
/** Functions about a cache may use all of the service around it, so they are kept for as long as the cache. */
const observed = new WeakMap<object, Observed>()

/** Adds a cache to those of the process for as long as it is used, and empties it with them. */
export function observeCache<T extends object>(
  name: string,
  cache: T,
  { sizeOf, clear }: { readonly sizeOf: (cache: T) => CacheSize; readonly clear: (cache: T) => void },
): void {
  observed.set(cache, { name, read: () => sizeOf(cache), clear: () => clear(cache) })
  caches.add(new WeakRef(cache))
}

function* observedCaches(): Generator<Observed> {
  for (const reference of caches) {
    const cache = reference.deref()
    const known = cache && observed.get(cache)
    if (known) yield known
    else caches.delete(reference)
  }
}

/** Empties all caches of this process: for a database whose content was replaced. */
export function clearCaches(): void {
  for (const cache of observedCaches()) cache.clear()
}

export function createByteCache<K extends string | number, V extends object>({
  name,
  maxBytes,
  sizeOf,
  maxEntryBytes = maxBytes / 8,
}: ByteCacheOptions<V>): ByteCache<K, V> {
  const cache = new LRUCache<K, V>({
    maxSize: maxBytes,
    maxEntrySize: Math.floor(maxEntryBytes),
    sizeCalculation: (value, key) => Math.ceil(entryBytes + stringBytes(key) + sizeOf(value)),
  })
  observeCache(name, cache, {
    sizeOf: ({ calculatedSize, size }) => ({ bytes: calculatedSize, entries: size }),
    clear: (all) => all.clear(),
  })
  return cache
}

/** The fill level from which adding an entry evicts another. */
const full = 0.95

/** The next entry to be evicted; undefined while there is room. */
export function oldestOf<K extends string | number, V extends object>(cache: ByteCache<K, V>): V | undefined {
  if (cache.calculatedSize < full * cache.maxSize) return undefined
  const [oldest] = cache.rvalues()
  return oldest
}

/** Sizes of all caches, added up by name. */
export function cacheSizes(): Map<string, CacheSize> {
  const sizes = new Map<string, CacheSize>()
  for (const cache of observedCaches()) {
    const size = cache.read()
    const sum = sizes.get(cache.name) ?? { bytes: 0, entries: 0 }
    sizes.set(cache.name, { bytes: sum.bytes + size.bytes, entries: sum.entries + size.entries })
  }
  return sizes
}

/** Maximum bytes of a text in memory: characters beyond Latin-1 take two each. */
export function stringBytes(text: string | number): number {
  return typeof text === 'number' ? 8 : 24 + 2 * text.length
}

/**
 * Approximate bytes of plain data in memory: texts, lists, maps and objects with everything in them, each counted once. Instances
 * of classes are not counted.
 */
export function heapBytes(value: unknown, seen: Set<object> = new Set()): number {
  if (typeof value === 'string') return stringBytes(value)
  if (typeof value !== 'object' || value === null) return 8
  if (seen.has(value)) return 8
  seen.add(value)
  if (ArrayBuffer.isView(value)) return 100 + value.byteLength
  let bytes = 50
  if (Array.isArray(value)) {
    for (const entry of value) bytes += 8 + heapBytes(entry, seen)
  } else if (value instanceof Map) {
    for (const [key, entry] of value) bytes += 40 + heapBytes(key, seen) + heapBytes(entry, seen)
  } else if (value instanceof Set) {
    for (const entry of value) bytes += 30 + heapBytes(entry, seen)
  } else {
    // Objects with the same keys share them.
    for (const entry of Object.values(value)) bytes += 16 + heapBytes(entry, seen)
  }
  return bytes
}
