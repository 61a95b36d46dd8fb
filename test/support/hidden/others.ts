import fc from 'fast-check'
import { concerns, type Knowledge, knowledgeOf, withOthers } from './knowledge.ts'
import { someValue, type TypeName, targets, typeNames, unchanging } from './model.ts'
import { callers, type Grant, hasPool, type Scene, someScene, type Thing } from './scene.ts'

/** The same world with other things in it wherever a caller knows none. */

const { seed = 20261121 } = fc.readConfigureGlobal()

export const draws = <T>(of: fc.Arbitrary<T>, count: number, more: number): T[] =>
  fc.sample(of, { numRuns: count, seed: seed + more })

/** Of each type things that the caller may read, some that may be written too, and hidden ones. */
function hasAll(scene: Scene, caller: number): boolean {
  const { mayRead, mayWrite } = knowledgeOf(scene, caller)
  const each = typeNames.every((type) => {
    const indexes = [...scene.things.keys()].filter((index) => scene.things[index]?.type === type)
    return indexes.some((index) => mayRead(index) && mayWrite(index)) && indexes.some((index) => !mayRead(index))
  })
  // And a link in both directions between what the caller may write and what is hidden.
  const half = ({ type, rows }: Thing, index: number) =>
    type === 'person' && mayWrite(index) && rows.some(({ person }) => !mayRead(person as number))
  return each && scene.things.some(half)
}

/** Things of which the caller sees a part, with values in the other part. */
function hasMasked(scene: Scene, caller: number): boolean {
  const { mayRead, mayKnow } = knowledgeOf(scene, caller)
  const masked = scene.things.filter((thing, index) => {
    return mayRead(index) && Object.keys(thing.values).some((column) => !mayKnow(index, column))
  })
  const of = (type: TypeName) => masked.filter((thing) => thing.type === type).length
  return of('work') > 2 && of('work') + of('person') + of('place') > 4
}

function firstScene(of: (scene: Scene) => boolean, more: number): Scene {
  for (let round = 0; round < 200; round++) {
    const found = draws(someScene, 10, more + 7000 * round).find(of)
    if (found) return found
  }
  throw new Error('no scene has something of everything')
}

/** A scene with something of everything for one caller, or with masked things for all of them. */
export const richScene = (caller: number): Scene =>
  firstScene((scene) => hasAll(scene, caller) && hasMasked(scene, caller), caller)
export const maskedScene = (): Scene => firstScene((scene) => callers.every((_, caller) => hasMasked(scene, caller)), 0)

/** Other values in the fields that the caller does not know, and other places of objects that the caller may not read. */
export function otherThings(scene: Scene, knowledge: Knowledge, caller: number): Thing[] {
  let drawn = 1000 * caller
  const other = (column: string, type: string, before: unknown): unknown => {
    if (unchanging(column)) return before
    const values = draws(someValue(type, targets), 8, ++drawn)
    return values.find((value) => JSON.stringify(value) !== JSON.stringify(before))
  }
  return withOthers(scene, knowledge, other, (rows) => [...rows, {}, {}])
}

/**
 * Besides, other owners, tags, grants and pools of the objects that the caller may not read, as far as they stay hidden,
 * their keys given to each other, and other grants of everybody else on pools and types.
 */
export function otherScene(scene: Scene, caller: number): Scene {
  const [model] = draws(someScene, 1, 5000 + caller) as [Scene]
  const others: Grant = {
    who: (caller + 1) % callers.length,
    reach: 'all',
    masks: {},
    tags: null,
    when: 'always',
    active: true,
    sticky: true,
  }
  const ofCaller = (grants: readonly Grant[] = []) => [...grants.filter((each) => concerns(each, caller)), others]
  const frame = {
    pools: scene.pools.map((pool) => ({ ...pool, grants: ofCaller(pool.grants) })),
    types: Object.fromEntries(Object.entries(scene.types).map(([type, grants]) => [type, ofCaller(grants)])),
  }
  const knowledge = knowledgeOf(scene, caller)
  const things = otherThings(scene, knowledge, caller).map((thing, index) => {
    if (knowledge.mayRead(index)) return thing
    const { owner, tags, grants, private: own, pool } = model.things[index] as Thing
    const changed = { ...thing, owner, tags, grants, private: own, pool: hasPool(thing.type) ? pool : null }
    const stays = !knowledgeOf({ ...frame, things: [changed] }, caller).mayRead(0)
    return stays ? changed : thing
  })
  return { ...frame, things: withKeysSwapped(things, (index) => !knowledge.mayKnow(index, 'reference')) }
}

/** Who has a key that the caller does not know is a different one of those; which keys are taken stays. */
function withKeysSwapped(things: readonly Thing[], hidden: (index: number) => boolean): Thing[] {
  const result = [...things]
  for (const type of ['person', 'topic'] as const) {
    const of = targets[type].filter((index) => hidden(index))
    const keys = of.map((index) => things[index]?.values.reference)
    for (const [at, index] of of.entries()) {
      const { reference: _, ...values } = things[index]?.values ?? {}
      const key = keys[(at + 1) % keys.length]
      result[index] = {
        ...(things[index] as Thing),
        values: key === undefined ? values : { ...values, reference: key },
      }
    }
  }
  return result
}
