import { createByteCache } from '../../../../platform/memory/byte-cache.ts'

/** Objects that fulfil a condition; null: too many. */
export type LinkedIds = readonly number[] | null

interface Kept {
  readonly ids: LinkedIds
  readonly asOf: number
}

/**
 * Cached answers about linked objects, by their `tsquery`. Most of them concern the caller, and each of their searches needs them:
 * whether there are objects that they may not see as others do.
 */
export interface LinkedAnswers {
  /** undefined: not known for this moment of the index, in microseconds since 1970. */
  get(query: string, moment: number): LinkedIds | undefined
  keep(query: string, ids: LinkedIds, asOf: number): void
}

/** `maxBytes`: of all answers. */
export function createLinkedAnswers(maxBytes: number): LinkedAnswers {
  const cache = createByteCache<string, Kept>({
    name: 'search_linked',
    maxBytes,
    sizeOf: ({ ids }) => 100 + 8 * (ids?.length ?? 0),
  })
  return {
    get(query, moment) {
      const kept = cache.get(query)
      return kept?.asOf === moment ? kept.ids : undefined
    },
    keep: (query, ids, asOf) => void cache.set(query, { ids, asOf }),
  }
}
