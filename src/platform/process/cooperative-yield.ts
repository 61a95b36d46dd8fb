import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Milliseconds that one piece of work runs before all other requests get their turn. */
export const longestTurn = 5
/**
 * The same for work in the background: a save of a user has to wait for a turn at each of its statements, a dozen times.
 */
const longestBackgroundTurn = 1

const background = new AsyncLocalStorage<true>()

/** Work for which no user waits: it yields to others after shorter turns. */
export function inBackground<T>(work: () => T): T {
  return background.run(true, work)
}

export interface Yielder {
  /** Whether it is time to yield; cheap enough to be called for each of many objects. */
  due(): boolean
  yield(): Promise<void>
}

/**
 * Long work that yields to others every few milliseconds: `if (yielder.due()) await yielder.yield()` in its loops. `check` throws
 * when the result is no longer needed.
 */
export function createYielder(check?: () => void): Yielder {
  const turn = background.getStore() ? longestBackgroundTurn : longestTurn
  let since = performance.now()
  return {
    due: () => performance.now() - since > turn,
    async yield() {
      await nextTurn()
      check?.()
      since = performance.now()
    },
  }
}

/** Between two steps of long work. */
export async function yieldIfDue(yielder: Yielder): Promise<void> {
  if (yielder.due()) await yielder.yield()
}

/** `for … of` that yields to others. */
export async function eachYielding<T>(list: Iterable<T>, act: (each: T) => void, yielder: Yielder): Promise<void> {
  for (const each of list) {
    if (yielder.due()) await yielder.yield()
    act(each)
  }
}

/** `list.map` that yields to others. */
export async function mapYielding<T, R>(list: readonly T[], map: (each: T) => R, yielder: Yielder): Promise<R[]> {
  const results: R[] = []
  for (const each of list) {
    if (yielder.due()) await yielder.yield()
    results.push(map(each))
  }
  return results
}

/** The JSON text of a list of objects or arrays, which yields to others while it is made. */
export async function jsonYielding<T>(list: readonly T[], row: (each: T) => object, yielder: Yielder): Promise<string> {
  return `[${(await mapYielding(list, (each) => JSON.stringify(row(each)), yielder)).join()}]`
}

/** Sorts in place by a merge sort that pauses. Equal elements keep their order. */
export async function sortYielding<T>(list: T[], compare: (a: T, b: T) => number, yielder: Yielder): Promise<T[]> {
  const run = 500
  for (let start = 0; start < list.length; start += run) {
    const sorted = list.slice(start, start + run).sort(compare)
    for (let index = 0; index < sorted.length; index++) list[start + index] = sorted[index] as T
    if (yielder.due()) await yielder.yield()
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
        if (index % 256 === 0 && yielder.due()) await yielder.yield()
      }
    }
    ;[from, to] = [to, from]
  }
  return from
}
