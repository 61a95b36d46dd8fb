/** Ids that are counted at a time; nine bytes each, for good. */
const places = 262_144
/**
 * Counts end here, and are halved after so many questions: what was wanted often long ago must not hold its place for much
 * longer than that.
 */
const most = 63
const halving = places

export type Admission = ReturnType<typeof createAdmission>

/** How many times as often as what has to go. With less, things that are asked for alike would push each other out. */
const clearly = 2

/**
 * What a cache should take in: what is asked for a second time, and when the cache is full, what is asked for clearly more
 * often than what would have to go. Where everything is asked for alike, keeping it costs as much as making it and is of no
 * use. Counts are of the last ids that fell into a place of a table; the idea is that of TinyLFU (Einziger, Friedman, Manes
 * 2017).
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
    /** The thing is asked for, whether it is in the cache or not. */
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

    /** `oldest` is what would have to go, if something has to. */
    admits(id: number, oldest: number | undefined): boolean {
      const count = countOf(id)
      return count > 1 && (oldest === undefined || count > clearly * countOf(oldest))
    },
  }
}
