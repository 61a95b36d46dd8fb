import fc from 'fast-check'
import { type Knowledge, knowledgeOf, withOthers } from './knowledge.ts'
import { callers, type Scene, someScene, someValue, type Thing } from './scene.ts'

/** The same world with other things in it wherever a caller knows none. */

const { seed = 20261121 } = fc.readConfigureGlobal()

export const draws = <T>(of: fc.Arbitrary<T>, count: number, more: number): T[] =>
  fc.sample(of, { numRuns: count, seed: seed + more })

/** Other values in the fields that the caller does not know, and other places of objects that the caller may not read. */
export function otherThings(scene: Scene, knowledge: Knowledge, caller: number): Thing[] {
  let drawn = 1000 * caller
  const other = (_: string, type: string, before: unknown): unknown => {
    if (type === 'parent') return null
    const targets = { person: [0, 1, 2, 3, 4], place: [5, 6, 7, 8, 9, 10], work: [11, 12] }
    const values = draws(someValue(type, targets), 8, ++drawn)
    return values.find((value) => JSON.stringify(value) !== JSON.stringify(before))
  }
  return withOthers(scene, knowledge, other, (rows) => [...rows, {}, {}])
}

/**
 * Besides, other owners, tags, grants and pools of the objects that the caller may not read, as far as they stay hidden,
 * and other grants of everybody else on pools and types.
 */
export function otherScene(scene: Scene, caller: number): Scene {
  const [model] = draws(someScene, 1, 5000 + caller) as [Scene]
  const someoneElse = (caller + 1) % callers.length
  const others = { who: someoneElse, masks: {}, tags: null }
  const frame = {
    pools: scene.pools.map((pool) => ({
      ...pool,
      grants: [...pool.grants.filter(({ who }) => who === caller), others],
    })),
    types: { person: [...(scene.types.person ?? []).filter(({ who }) => who === caller), others] },
  }
  const knowledge = knowledgeOf(scene, caller)
  const things = otherThings(scene, knowledge, caller)
  return {
    ...frame,
    things: things.map((thing, index) => {
      if (knowledge.mayRead(index)) return thing
      const { owner, tags, grants, pool } = model.things[index] as Thing
      const changed = { ...thing, owner, tags, grants, pool }
      const stays = !knowledgeOf({ ...frame, things: [changed] }, caller).mayRead(0)
      return stays ? changed : thing
    }),
  }
}
