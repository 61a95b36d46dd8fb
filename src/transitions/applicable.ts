import type { Transition } from './model.ts'

/** Transitions of a pool or an object type, and whether it is private (inherits none). */
export interface TransitionLayer {
  readonly private: boolean
  readonly transitions: readonly Transition[]
}

/**
 * The transitions for objects of one type in one pool, in the order of their evaluation: those of the instance, of the object type,
 * of the pools from the root down. A private object type does not inherit transitions of the instance; a private pool inherits
 * neither those of the instance nor those of the pools above it. Sticky ones always apply.
 */
export function applicableTransitions(
  instance: readonly Transition[],
  objecttype: TransitionLayer,
  pools: readonly TransitionLayer[],
): Transition[] {
  let general = objecttype.private ? instance.filter(isSticky) : [...instance]
  let ofPools: Transition[] = []
  for (const pool of pools) {
    if (pool.private) {
      general = general.filter(isSticky)
      ofPools = ofPools.filter(isSticky)
    }
    ofPools.push(...pool.transitions)
  }
  return [...general, ...objecttype.transitions, ...ofPools]
}

function isSticky(transition: Transition): boolean {
  return transition.sticky
}
