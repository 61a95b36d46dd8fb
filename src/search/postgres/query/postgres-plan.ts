import type { SearchPlan } from '../../plan/plan.ts'
import type { Slots } from '../slots.ts'

/** A plan with the places at which documents have its facets and sort keys. */
export interface PostgresPlan extends SearchPlan {
  readonly slots: Slots
}
