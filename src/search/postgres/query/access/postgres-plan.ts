import type { SearchPlan } from '../../../plan/plan.ts'
import type { Slots } from '../../slots.ts'
import type { AccessSets } from './access-sets.ts'

/** A plan with the places at which documents have its facets and sort keys. */
export interface PostgresPlan extends SearchPlan {
  readonly slots: Slots
  readonly accessSets: AccessSets
}
