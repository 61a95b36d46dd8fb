/** Sort keys of objects that links lead to. */
import type { LinkStep } from '../../../plan/field-paths.ts'
import type { Which } from '../../../plan/plan.ts'
import { keySql } from '../../slots.ts'
import { linkingSql } from '../access/linking.ts'
import type { PostgresPlan } from '../access/postgres-plan.ts'
import { readableSql, visibleSql } from '../access/visibility.ts'
import { documentSql, type Sql } from '../sql/of-document.ts'

export interface ReachedKey {
  /** Of the object that the step leads to, which is `d` there. */
  readonly key: string
  /** Of several objects. */
  readonly which: Which
}

/** A key of what a step leads to, as far as the caller sees the link and may read the object. */
export function reachedKeySql({ field, reverse }: LinkStep, { key, which }: ReachedKey, plan: PostgresPlan): Sql {
  return reverse ? backSql(field, { key, which }, plan) : firstSql(field, key, plan)
}

/**
 * Of the first object that the column links to. Within, `d` is that object; the subselect of its id still means the one that links
 * to it.
 */
function firstSql(field: LinkStep['field'], key: string, plan: PostgresPlan): Sql {
  const first = firstTargetSql(field, plan)
  if (first === null) return 'null::bytea'
  return `(select ${key} from (select ${first} as id offset 0) step
    join search_document d on d.id = step.id where not d.deleted and ${readableSql(plan, 'd')})`
}

/** The id of the first object that the column links to, where the caller sees the link; null: no document has it. */
export function firstTargetSql(field: LinkStep['field'], plan: PostgresPlan): Sql | null {
  const place = plan.slots.linked(field)
  if (place === undefined) return null
  const first = documentSql(`case when d.objecttype = ${field.column.table.root.id} then ${firstLinkedSql(place)} end`)
  return visibleSql(plan.fieldVisibility.column(field), first, 'd')
}

/** The key of an object that a link leads to, as a `select` of the one row `x.id`. */
export function targetKeySql(key: string, plan: PostgresPlan): string {
  return `select ${key} as key from search_document d where d.id = x.id and not d.deleted and ${readableSql(plan, 'd')}`
}

export const firstLinkedSql = (place: number): string => `${keySql(place, 'd')}::bigint`

/** Of one of the objects whose column links to it. */
function backSql(field: LinkStep['field'], { key, which }: ReachedKey, plan: PostgresPlan): Sql {
  const direction = which === 'greatest' ? 'desc nulls last' : 'asc'
  return `(select ${key} as key from (select d.id as id offset 0) step
    ${linkingSql(field, { to: 'step.id', source: 'd', link: 'link' }, plan)} order by 1 ${direction} limit 1)`
}
