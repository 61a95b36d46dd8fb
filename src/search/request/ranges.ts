/** `range` elements: numbers and dates between two bounds. */
import type { Clause, NumberBound } from '../plan/plan.ts'
import { assetFields } from './assets.ts'
import { and, type ElementContext, inRows, or } from './clauses.ts'
import { boundsOf, momentRange } from './moments.ts'
import { notAllowed, resolveName } from './names.ts'
import { linkedClause, throughLink } from './paths.ts'
import { type Fields, numberOf, optional, wrong } from './read.ts'

export function rangeClause(element: Fields, place: string, context: ElementContext): Clause {
  const name = optional(element, 'field', 'string', place)
  if (name === undefined) throw wrong(`${place}.field`, 'the name of a field')
  const assets = assetFields(name, context)
  if (assets) {
    if (context.nested) throw notAllowed(name, 'nested')
    return or(assets.map((field) => rangeClause({ ...element, field: field.name }, place, context)))
  }
  const { from, to } = boundsOf(element, place)
  const through = throughLink(name, context)
  if (through) {
    const field = through.rest
    return linkedClause(through, name, place, context, (inner) => rangeClause({ ...element, field }, place, inner))
  }
  const named = resolveName(context.fields, name)
  if (named.kind === 'system' && !context.nested) {
    if (named.name === '_created') return { is: 'created', range: momentRange(from, to, context.clock) }
    if (named.name === '_last_modified') return { is: 'modified', range: momentRange(from, to, context.clock) }
  }
  if (named.kind !== 'field') throw notAllowed(name, 'range')
  const { field } = named
  const open = isOpen(from.value) && isOpen(to.value)
  let clause: Clause
  if (field.kind === 'number') {
    clause = open
      ? { is: 'not', of: { is: 'empty', field } }
      : { is: 'numbers', field, from: numberBound(from), to: numberBound(to) }
  } else if (field.kind === 'date') {
    clause = open
      ? { is: 'not', of: { is: 'empty', field } }
      : { is: 'dates', field, range: momentRange(from, to, context.clock) }
  } else throw notAllowed(name, 'range')
  if (context.nested && field.path.at(-1) !== context.nested.table) throw notAllowed(name, 'nested')
  return inRows(context, [{ field }], and([clause]))
}

const isOpen = (value: unknown): boolean => value === undefined || value === null || value === ''

function numberBound({
  value,
  inclusive,
  place,
}: {
  value: unknown
  inclusive: boolean
  place: string
}): NumberBound | null {
  if (isOpen(value)) return null
  const number = numberOf(value)
  if (number === null) throw wrong(place, 'a number')
  return { value: number, inclusive }
}
