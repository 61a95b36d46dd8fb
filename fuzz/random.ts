/** Numbers that depend only on the seed, so that a run can be repeated. */
export interface Random {
  /** At least 0, less than 1. */
  next(): number
  /** A whole number of at least 0 and less than `end`. */
  below(end: number): number
  pick<T>(list: readonly T[]): T
  chance(probability: number): boolean
}

/** Mulberry32: enough for choosing, and the same everywhere. */
export function createRandom(...seeds: number[]): Random {
  let state = seeds.reduce((hash, seed) => Math.imul(hash ^ seed, 0x9e3779b1) ^ (hash >>> 15), 0x243f6a88) >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (end: number): number => Math.floor(next() * end)
  return {
    next,
    below,
    pick<T>(list: readonly T[]): T {
      if (list.length === 0) throw new Error('nothing to pick from')
      return list[below(list.length)] as T
    },
    chance: (probability) => next() < probability,
  }
}
