/** Number of ids that are counted at a time; nine bytes each, permanently. */
const places = 262_144
/**
 * Upper limit of counts. All counts are halved after this number of questions, so that an entry that was popular long ago loses its
 * place.
 */
const most = 63
const halving = places

export type Admission = ReturnType<typeof createAdmission>

/**
 * A new entry must be requested this many times as often as the entry that it would replace. With a lower factor, entries with
 * equal demand would displace each other.
 */
const clearly = 2

/**
 * Decides which entries a cache should keep: an entry that is requested for a second time, and, when the cache is full, one that is
 * requested clearly more often than the entry that it would replace. With equal demand for all entries, caching costs as much as it
 * saves. Counts belong to the last id in each slot of a table; the idea is that of TinyLFU (Einziger, Friedman, Manes 2017).
 */
export function createAdmission() {
  const ids = new Float64Array(places)
  const counts = new Uint8Array(places)
  let asked = 0

  const countOf = (id: number): number => (ids[id % places] === id ? (counts[id % places] as number) : 0)

  function halve(): void {
    asked = 0
    for (let place = 0; place < places; place++) counts[place] = (counts[place] as number) >> 1
  }

  return {
    /** Counts a request for the entry, whether it is in the cache or not. */
    note(id: number): void {
      const place = id % places
      if (++asked === halving) halve()
      const count = counts[place] as number
      if (ids[place] === id) counts[place] = Math.min(count + 1, most)
      else if (count > 1) counts[place] = count - 1
      else {
        ids[place] = id
        counts[place] = 1
      }
    },

    /** `oldest`: the entry that would be evicted, if any. */
    admits(id: number, oldest: number | undefined): boolean {
      const count = countOf(id)
      return count > 1 && (oldest === undefined || count > clearly * countOf(oldest))
    },
  }
}
