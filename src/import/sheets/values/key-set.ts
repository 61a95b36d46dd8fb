import { hash } from 'node:crypto'

/** Keys of all rows, as 63 bits of a hash each, so that a million of them take 16 MB: a hash table with open addressing. */
export class KeySet {
  /** Two words for each slot; the second one of a used slot is odd. */
  #table = new Uint32Array(2048)
  #size = 0
  readonly #most: number

  /** At most `most` keys are kept: `add` returns null from then on. */
  constructor(most = 30_000_000) {
    this.#most = most
  }

  /** Whether it is new; null when there is no more room to remember keys. */
  add(key: string): boolean | null {
    const bytes = hash('sha256', key, 'buffer')
    const high = bytes.readUInt32BE(0)
    const low = (bytes.readUInt32BE(4) | 1) >>> 0
    let at = placeOf(this.#table, high, low)
    if (this.#table[at + 1] === low) return false
    if (this.#size >= this.#most) return null
    if (this.#size * 4 >= this.#table.length) {
      this.#grow()
      at = placeOf(this.#table, high, low)
    }
    this.#table[at] = high
    this.#table[at + 1] = low
    this.#size++
    return true
  }

  #grow(): void {
    const table = new Uint32Array(this.#table.length * 2)
    for (let from = 0; from < this.#table.length; from += 2) {
      const [high = 0, low = 0] = [this.#table[from], this.#table[from + 1]]
      if (low === 0) continue
      const at = placeOf(table, high, low)
      table[at] = high
      table[at + 1] = low
    }
    this.#table = table
  }
}

/** The slot of the pair, or the free slot for it. */
function placeOf(table: Uint32Array, high: number, low: number): number {
  const places = table.length / 2
  let place = high % places
  while (table[place * 2 + 1] !== 0 && !(table[place * 2] === high && table[place * 2 + 1] === low)) {
    place = (place + 1) % places
  }
  return place * 2
}
