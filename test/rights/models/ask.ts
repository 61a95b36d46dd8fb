import type { House } from './house.ts'
import { askInfo } from './info.ts'
import { type Knowledge, knowledgeOf } from './knowledge.ts'
import { marksKnown } from './marks.ts'
import { askEvents, askPools, askTransitions } from './others.ts'
import { type Asking, askReads } from './reads.ts'
import { askSearches } from './searches.ts'
import { titlesOf } from './titles.ts'
import type { Names } from './wire.ts'
import { callers, type World } from './world.ts'
import { askWrites } from './writes.ts'

/** How many objects were hidden from a caller, known in part, known whole; and how many values were hidden in the second. */
export interface Tally {
  hidden: number
  partly: number
  whole: number
  columnsHidden: number
}

const searches = 24

/** Everything that is asked of a world, as each of its callers. */
export async function askAll(house: House, world: World, names: Names, tally: Tally): Promise<void> {
  const titleOf = titlesOf(world, names)
  for (const [caller, login] of callers.entries()) {
    const knowledge = knowledgeOf(world, caller)
    count(world, knowledge, tally)
    const asking: Asking = {
      world,
      names,
      knowledge,
      titleOf,
      client: house.svc.as(login),
      pick: pickerOf(world.questions + caller),
      who: login,
      heard: marksKnown(world, knowledge, titleOf),
    }
    await askReads(asking)
    await askSearches(asking, searches)
    await askInfo(asking)
    await askWrites(asking)
    await askTransitions(asking)
    await askPools(asking)
    await askEvents(asking, names.since)
  }
}

function count({ things }: World, knowledge: Knowledge, tally: Tally): void {
  for (const { index, values } of things) {
    const hidden = [...values.keys()].filter((column) => !knowledge.knows(index, column)).length
    if (!knowledge.sees(index)) tally.hidden++
    else if (hidden === 0) tally.whole++
    else {
      tally.partly++
      tally.columnsHidden += hidden
    }
  }
}

/** Small numbers in an order that is the same each time (mulberry32). */
function pickerOf(seed: number): <T>(list: readonly T[]) => T {
  let state = seed
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  return <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T
}
