import { setImmediate as nextTurn } from 'node:timers/promises'

/** Milliseconds that one piece of work runs before all other requests get their turn. */
export const longestTurn = 5

export interface Pauses {
  /** It is time to let others pass; cheap enough to be asked for each of many objects. */
  due(): boolean
  take(): Promise<void>
}

/**
 * Long work on the event loop in short turns: `if (pauses.due()) await pauses.take()` in its loops. `check` throws when
 * nobody waits for the result any more.
 */
export function createPauses(check?: () => void): Pauses {
  let since = performance.now()
  return {
    due: () => performance.now() - since > longestTurn,
    async take() {
      await nextTurn()
      check?.()
      since = performance.now()
    },
  }
}

/** Between two steps of long work. */
export async function letPass(pauses: Pauses): Promise<void> {
  if (pauses.due()) await pauses.take()
}

/** `for … of` in short turns. */
export async function eachInTurns<T>(list: Iterable<T>, act: (each: T) => void, pauses: Pauses): Promise<void> {
  for (const each of list) {
    if (pauses.due()) await pauses.take()
    act(each)
  }
}

/** `list.map` in short turns. */
export async function mapInTurns<T, R>(list: readonly T[], map: (each: T) => R, pauses: Pauses): Promise<R[]> {
  const results: R[] = []
  for (const each of list) {
    if (pauses.due()) await pauses.take()
    results.push(map(each))
  }
  return results
}

/** The JSON text of a list of objects or arrays, made in short turns. */
export async function jsonInTurns<T>(list: readonly T[], row: (each: T) => object, pauses: Pauses): Promise<string> {
  return `[${(await mapInTurns(list, (each) => JSON.stringify(row(each)), pauses)).join()}]`
}

/** Sorts in place by a merge sort that pauses. Equal elements keep their order. */
export async function sortInTurns<T>(list: T[], compare: (a: T, b: T) => number, pauses: Pauses): Promise<T[]> {
  const run = 500
  for (let start = 0; start < list.length; start += run) {
    const sorted = list.slice(start, start + run).sort(compare)
    for (let index = 0; index < sorted.length; index++) list[start + index] = sorted[index] as T
    if (pauses.due()) await pauses.take()
  }
  let from = list
  let to = new Array<T>(list.length)
  for (let width = run; width < list.length; width *= 2) {
    for (let start = 0; start < list.length; start += 2 * width) {
      const middle = Math.min(start + width, list.length)
      const end = Math.min(start + 2 * width, list.length)
      let left = start
      let right = middle
      for (let index = start; index < end; index++) {
        const takeLeft = right >= end || (left < middle && compare(from[left] as T, from[right] as T) <= 0)
        to[index] = (takeLeft ? from[left++] : from[right++]) as T
        if (index % 256 === 0 && pauses.due()) await pauses.take()
      }
    }
    ;[from, to] = [to, from]
  }
  return from
}
