import type { SearchPlan } from '../../../plan/plan.ts'
import type { Slots } from '../../slots.ts'
import type { AccessSets } from './access-sets.ts'

/** A plan with the places of facets and sort keys in documents. */
export interface PostgresPlan extends SearchPlan {
  readonly slots: Slots
  readonly accessSets: AccessSets
}
