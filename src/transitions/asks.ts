import type { Ask, Plan } from './engine.ts'

/** A callback or webhook that is asked before a change is written, with the items concerned, by their places in the list. */
export interface TransitionCallback extends Omit<Ask, 'mayChange'> {
  /** Identifies the action, and the version of its transition. */
  readonly key: string
  readonly items: readonly number[]
  /** The items that the setter of the transition may not change. */
  readonly fixed: ReadonlySet<number>
}

/** The questions about all objects of a plan, each action once, in the order in which the first object reaches them. */
export function asksOf({ objects }: Pick<Plan, 'objects'>): TransitionCallback[] {
  const asked = new Map<string, TransitionCallback & { readonly items: number[]; readonly fixed: Set<number> }>()
  for (const { object, asks, rejectedBy } of objects) {
    // Objects that are refused anyway need no question.
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
