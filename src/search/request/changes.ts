/** `changelog_range` elements: they find objects by the history of their changes. */
import type { ChangeClause } from '../plan/plan.ts'
import type { ElementContext } from './clauses.ts'
import { boundsOf, momentRange } from './moments.ts'
import { choice, type Fields, optional, unsupported, wrong } from './read.ts'

const operations = {
  insert: ['i'],
  update: ['u'],
  delete: ['d'],
  undelete: ['r'],
} as const

export function changeClause(element: Fields, place: string, context: ElementContext): ChangeClause {
  if (context.nested) throw unsupported(`${place}.type`, 'changelog_range within nested')
  const field = optional(element, 'field', 'string', place)
  // Clients write the name of the history here; no other field is possible.
  if (field && field !== '_changelog' && !field.startsWith('_changelog.'))
    throw wrong(`${place}.field`, '_changelog or absent')
  const { from, to } = boundsOf(element, place)
  const operation = optional(element, 'operation', 'string', place)
  const names = Object.keys(operations) as (keyof typeof operations)[]
  return {
    is: 'changed',
    range: momentRange(from, to, context.clock),
    operations: operation ? operations[choice(operation.toLowerCase(), names, `${place}.operation`)] : null,
    comment: optional(element, 'comment', 'string', place) ?? null,
    userId: optional(element, 'user', 'integer', place) ?? null,
  }
}
