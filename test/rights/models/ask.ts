import { carryOut, create } from './changes.ts'
import { askCollections } from './collections.ts'
import type { House } from './house.ts'
import { askInfo } from './info.ts'
import { type Knowledge, knowledgeOf } from './knowledge.ts'
import { marksKnown } from './marks.ts'
import { askEvents, askPools, askTransitions } from './others.ts'
import { askExplanations, askMessages } from './people.ts'
import { type Asking, askReads } from './reads.ts'
import { askSearches } from './searches.ts'
import { askSetters } from './setters.ts'
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
  /** Writes that changed something. */
  carriedOut: number
}

const searches = 24
const explanations = 4
const changes = 9
const searchesAfter = 6
const creations = 3

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
      heard: marksKnown(world, knowledge, titleOf).heard,
    }
    await askReads(asking)
    await askSearches(asking, searches)
    await askInfo(asking)
    await askWrites(asking)
    await askTransitions(asking)
    await askPools(asking)
    await askCollections(asking, house.svc.as('root'))
    await askEvents(asking, names.since)
    await askExplanations(asking, house.svc.as('root'), explanations)
    await askMessages(asking)
  }
  await askChanged(house, world, names, tally)
}

/** As one of the callers: writes that are carried out, and what is read and found then. */
async function askChanged(house: House, world: World, names: Names, tally: Tally): Promise<void> {
  const pick = pickerOf(world.questions + 17)
  const caller = pick([...callers.keys()])
  const login = callers[caller] as string
  const asking = (of: World, before?: ReadonlySet<string>): Asking & { readonly known: ReadonlySet<string> } => {
    const knowledge = knowledgeOf(of, caller)
    const titleOf = titlesOf(of, names)
    const client = house.svc.as(login)
    const hearing = marksKnown(of, knowledge, titleOf, before)
    return { world: of, names, knowledge, titleOf, client, pick, who: login, ...hearing }
  }
  const first = asking(world)
  const after = asking(await carryOut(house, first, changes), first.known)
  tally.carriedOut += after.world.things.filter((thing, index) => thing !== world.things[index]).length
  await house.svc.drain()
  await askReads(after)
  await askSearches(after, searchesAfter)
  for (let n = 0; n < creations; n++) await create(house, after)
  await askSetters(house, after.world, names, caller)
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
