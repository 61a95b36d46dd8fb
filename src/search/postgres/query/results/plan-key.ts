/** Plans as short texts: equal searches have equal keys, however large they are. */
import { hash } from 'node:crypto'
import type { SearchPlan } from '../../../plan/plan.ts'

/** The parts of a plan that the number of matches and the facets depend on. */
export const countsKey = remembered((plan) =>
  keyOf(plan, { scope: digestOf(plan.scope), aggregations: plan.aggregations }),
)

/** The parts of a plan that the page depends on. */
export const pageKey = remembered((plan) => {
  const { scope, score, sort, after, offset, limit } = plan
  return keyOf(plan, { scope: digestOf(scope), score: digestOf(score), sort, after, offset, limit })
})

/** A search needs its keys several times. */
function remembered(make: (plan: SearchPlan) => string): (plan: SearchPlan) => string {
  const known = new WeakMap<SearchPlan, string>()
  return (plan) => {
    let key = known.get(plan)
    if (key === undefined) {
      key = make(plan)
      known.set(plan, key)
    }
    return key
  }
}

function keyOf(plan: SearchPlan, parts: object): string {
  return hash(
    'sha256',
    `${plan.model.version} ${plan.fieldVisibility.key} ${plan.languages} ${textOf(parts)}`,
    'base64',
  )
}

const textOf = (parts: object): string => JSON.stringify(parts, plain)

/** Digests of parts that may be long and are used in several keys. */
const digests = new WeakMap<object, string>()

function digestOf(part: object): string {
  let digest = digests.get(part)
  if (digest === undefined) {
    digest = hash('sha256', textOf(part), 'base64')
    digests.set(part, digest)
  }
  return digest
}

/**
 * Columns, tables and steps between them are written as ids, because they refer to each other in circles. The rights of a caller
 * are written as their digest: they are long, and the same in all searches.
 */
function plain(key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (key === 'rights') return digestOf(value)
  if ('column' in value && 'code' in value) return value.code
  if ('reverse' in value && 'field' in value) return { field: value.field, reverse: value.reverse }
  if ('rows' in value && 'table' in value) return (value.table as { id: number }).id
  return value
}
