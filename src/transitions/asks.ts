import type { Ask, Plan } from './engine.ts'

/** Somebody who is asked before a change is written, and the items concerned, by their places in the list. */
export interface AskedOf extends Omit<Ask, 'mayChange'> {
  /** Names the action, and the transition in the version that it has. */
  readonly key: string
  readonly items: readonly number[]
  /** Those of them that the user who has set the transition may not change. */
  readonly fixed: ReadonlySet<number>
}

/** Asks of all objects of a plan, each action once, in the order in which the first object meets them. */
export function asksOf({ objects }: Pick<Plan, 'objects'>): AskedOf[] {
  const asked = new Map<string, AskedOf & { readonly items: number[]; readonly fixed: Set<number> }>()
  for (const { object, asks, rejectedBy } of objects) {
    // What is refused anyway is not asked of.
    if (rejectedBy !== null) continue
    for (const { mayChange, ...ask } of asks) {
      const key = `${ask.transition.id}.${ask.transition.version}:${ask.index}`
      const entry = asked.get(key) ?? { ...ask, key, items: [], fixed: new Set() }
      entry.items.push(Number(object.key))
      if (!mayChange) entry.fixed.add(Number(object.key))
      asked.set(key, entry)
    }
  }
  return [...asked.values()]
}
