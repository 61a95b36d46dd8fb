/** Unions of lists of pools, which are needed again and again for each object type: the same result list for the same input. */
export interface Unions {
  of(lists: readonly (readonly number[])[]): readonly number[]
}

export function createUnions(): Unions {
  const numbers = new Map<readonly number[], number>()
  const known = new Map<string, readonly number[]>()
  const numberOf = (list: readonly number[]): number => {
    const number = numbers.get(list) ?? numbers.size
    numbers.set(list, number)
    return number
  }
  return {
    of(lists) {
      const [first, ...others] = new Set(lists)
      if (first && others.length === 0) return first
      const key = [...new Set(lists.map(numberOf))].sort((a, b) => a - b).join()
      const list = known.get(key) ?? [...new Set(lists.flat())]
      known.set(key, list)
      return list
    },
  }
}
