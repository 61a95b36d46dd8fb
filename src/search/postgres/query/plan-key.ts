/** Plans as short texts: equal searches have equal keys, however much they ask for. */
import { createHash } from 'node:crypto'
import type { SearchPlan } from '../../plan/plan.ts'

/** What the number of matches and the facets depend on. */
export function countsKey(plan: SearchPlan): string {
  return keyOf(plan, { scope: plan.scope, aggregations: plan.aggregations })
}

/** What the page depends on. */
export function pageKey(plan: SearchPlan): string {
  const { scope, score, sort, after, offset, limit } = plan
  return keyOf(plan, { scope, score, sort, after, offset, limit })
}

function keyOf(plan: SearchPlan, parts: object): string {
  const text = `${plan.model.version} ${plan.vision.key} ${plan.languages} ${JSON.stringify(parts, plain)}`
  return createHash('sha256').update(text).digest('base64')
}

/** Columns and tables by their ids: they know each other, so they cannot be written out. */
function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if ('column' in value && 'code' in value) return value.code
  if ('rows' in value && 'table' in value) return (value.table as { id: number }).id
  return value
}
