/** Files of objects are looked up together, and opened one after the other. */

export interface AheadOptions<T, R> {
  /** The results for the entries, in their order. */
  readonly find: (entries: readonly T[]) => Promise<readonly R[]>
  /** Milliseconds of a clock that does not go back. */
  readonly now: () => number
}

/** Entries that are looked up together. */
const most = 100
/** Milliseconds for which a result counts: rights may be lost while somebody reads slowly. */
const fresh = 5000

/** Finds the result of an entry of the list, and with it those of the next ones. */
export function lookAhead<T, R>(entries: readonly T[], { find, now }: AheadOptions<T, R>): (entry: T) => Promise<R> {
  let found: ReadonlyMap<T, R> = new Map()
  let since = 0
  return async (entry) => {
    const known = found.get(entry)
    if (known !== undefined && now() - since < fresh) return known
    const start = entries.indexOf(entry)
    const next = entries.slice(start, start + most)
    const asked = now()
    const results = await find(next)
    since = asked
    found = new Map(next.map((one, index) => [one, results[index] as R]))
    return results[0] as R
  }
}
