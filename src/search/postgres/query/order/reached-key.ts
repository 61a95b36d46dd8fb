/** Sort keys of objects that links lead to. */
import type { LinkStep } from '../../../plan/field-paths.ts'
import type { Which } from '../../../plan/plan.ts'
import { keySql } from '../../slots.ts'
import { linkingSql } from '../access/linking.ts'
import type { PostgresPlan } from '../access/postgres-plan.ts'
import { readableSql, visibleSql } from '../access/visibility.ts'
import type { Sql } from '../sql/of-document.ts'

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
  const place = plan.slots.linked(field)
  if (place === undefined) return 'null::bytea'
  const type = field.column.table.root.id
  const first = visibleSql(plan.fieldVisibility.column(field), firstLinkedSql(place), 'd')
  return `(select ${key} from (select case when d.objecttype = ${type} then ${first} end as id offset 0) step
    join search_document d on d.id = step.id where not d.deleted and ${readableSql(plan, 'd')})`
}

export const firstLinkedSql = (place: number): string =>
  `('x' || encode(${keySql(place, 'd')}, 'hex'))::bit(64)::bigint`

/** Of one of the objects whose column links to it. */
function backSql(field: LinkStep['field'], { key, which }: ReachedKey, plan: PostgresPlan): Sql {
  const direction = which === 'greatest' ? 'desc nulls last' : 'asc'
  return `(select ${key} as key from (select d.id as id offset 0) step
    ${linkingSql(field, { to: 'step.id', source: 'd', link: 'link' }, plan)} order by 1 ${direction} limit 1)`
}
