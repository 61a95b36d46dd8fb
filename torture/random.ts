/** Numbers that depend on a seed (mulberry32), so that a run can be repeated as far as timing allows. */
export interface Random {
  /** From 0 to `below` - 1. */
  below(below: number): number
  /** One in `n`. */
  oneIn(n: number): boolean
  pick<T>(list: readonly T[]): T | undefined
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return { below, oneIn: (n) => below(n) === 0, pick: (list) => list[below(list.length)] }
}
