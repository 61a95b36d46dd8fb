/** Converts the syntax of a query to the elements of a search request. */
import type { FieldCatalogue } from '../plan/fields.ts'
import { type Named, notAllowed } from '../request/names.ts'
import { resolvePath } from '../request/paths.ts'
import { type Clock, momentOf, placeholders } from '../request/relative-dates.ts'
import { queryError } from './parse.ts'
import type { Comparison, Expression, Operator, Value } from './syntax.ts'
import { escaped, hasWildcards } from './texts.ts'

/** An element of a search request. */
export type Element = Readonly<Record<string, unknown>>

interface Context {
  readonly text: string
  readonly fields: FieldCatalogue
  readonly clock: Clock
}

/** @throws {AppError} `QueryParse`, `SearchFieldUnknown`, `SearchFieldNotAllowed` */
export function elementsOf(query: Expression | null, context: Context): readonly Element[] {
  return query === null ? [] : listOf(query, context)
}

const must = (element: Element, bool: 'must' | 'must_not' | 'should'): Element =>
  bool === 'must' ? element : { ...element, bool }

/** A list of elements that means the same. */
function listOf(given: Expression, context: Context): readonly Element[] {
  const each = withoutGroups(given)
  if (each.kind === 'or') return each.of.flatMap((part) => parts(part, 'or')).map((part) => alternative(part, context))
  const all = each.kind === 'and' ? each.of.flatMap((part) => parts(part, 'and')) : [each]
  return withRanges(all.flatMap((part) => conjunct(part, context)))
}

/** Removes parentheses around the whole expression, and double negations. */
function withoutGroups(each: Expression): Expression {
  if (each.kind === 'group') return withoutGroups(each.of)
  if (each.kind !== 'not') return each
  const inner = withoutGroups(each.of)
  return inner.kind === 'not' ? withoutGroups(inner.of) : each
}

/** Flattens parentheses with the same connective into the expression around them. A comparison in parentheses stays as it is. */
function parts(each: Expression, kind: 'and' | 'or'): readonly Expression[] {
  const inner = withoutGroups(each)
  return inner.kind === kind ? inner.of.flatMap((part) => parts(part, kind)) : [each]
}

interface Conjunct {
  readonly element: Element
  /** Whether it is one bound of a range, which its neighbour may complete. */
  readonly open: boolean
}

function conjunct(given: Expression, context: Context): readonly Conjunct[] {
  const each = withoutGroups(given)
  if (each.kind === 'or') return [{ element: { type: 'complex', search: listOf(each, context) }, open: false }]
  if (each.kind === 'not') return [{ element: negated(each.of, context), open: false }]
  if (each.kind === 'text') return [{ element: fulltext(each.text), open: false }]
  const element = comparison(each as Comparison, context)
  return [{ element, open: given.kind === 'compare' && element.type === 'range' && !('bool' in element) }]
}

/** Two adjacent bounds are one range: one value of the field must be within both. */
function withRanges(conjuncts: readonly Conjunct[]): readonly Element[] {
  const elements: Element[] = []
  for (let index = 0; index < conjuncts.length; index++) {
    const one = conjuncts[index] as Conjunct
    const other = conjuncts[index + 1]
    if (one.open && other?.open && one.element.field === other.element.field && isPair(one.element, other.element)) {
      elements.push({ ...one.element, ...other.element })
      index++
    } else elements.push(one.element)
  }
  return elements
}

const isPair = (one: Element, other: Element): boolean =>
  ('from' in one && !('to' in one) && 'to' in other && !('from' in other)) ||
  ('to' in one && !('from' in one) && 'from' in other && !('to' in other))

function alternative(given: Expression, context: Context): Element {
  const list = listOf(given, context)
  const [first] = list
  const single = list.length === 1 && first && first.bool === undefined
  return must(single ? first : { type: 'complex', search: list }, 'should')
}

function negated(given: Expression, context: Context): Element {
  const list = listOf(given, context)
  const [first] = list
  if (list.length === 1 && first && first.bool !== 'should') {
    const { bool, ...element } = first
    return bool === 'must_not' ? element : must(element, 'must_not')
  }
  return must({ type: 'complex', search: list }, 'must_not')
}

function fulltext(text: string, field?: string): Element {
  return {
    type: 'text',
    ...(field === undefined ? {} : { fields: [field] }),
    string: text,
    mode: hasWildcards(text) ? 'wildcard' : 'fulltext',
  }
}

const positive: Readonly<Partial<Record<Operator, Operator>>> = { '!=': '==', '!@': '=@', '!*': '=*', '!^': '=^' }

function comparison(each: Comparison, context: Context): Element {
  const operator = positive[each.operator]
  if (operator === undefined) return affirmative(each, context)
  return must(affirmative({ ...each, operator }, context), 'must_not')
}

function affirmative({ field, operator, value, at }: Comparison, context: Context): Element {
  if (value.kind === 'search') return searchWithin(field, value, at, context)
  const { named } = resolvePath(context.fields, field)
  if (operator === '==') return equal(field, named, value, context)
  if (operator === '=@') return fulltext((value as { text: string }).text, field)
  if (operator === '=*' || operator === '=^') {
    const start = escaped((value as { text: string }).text)
    return { type: 'text', fields: [field], string: `${operator === '=*' ? '*' : ''}${start}*`, mode: 'exact' }
  }
  return {
    type: 'range',
    field,
    [operator.startsWith('>') ? 'from' : 'to']: boundOf(named, value, context),
    ...(operator === '>' ? { from_equals: false } : operator === '<' ? { to_equals: false } : {}),
  }
}

function equal(field: string, named: Named, value: Value, context: Context): Element {
  switch (value.kind) {
    case 'box':
      return { type: 'geo_bounding_box', fields: [field], geo_bounding_box: boxOf(value, context) }
    case 'null':
      return { type: 'in', fields: [field], in: [null] }
    case 'boolean':
      return { type: 'in', fields: [field], in: [value.boolean] }
    case 'text':
    case 'number': {
      if (isDate(named)) {
        const bound = boundOf(named, value, context)
        return { type: 'range', field, from: bound, to: bound }
      }
      if (value.kind === 'text' && isTitle(named)) {
        return { type: 'text', fields: [field], string: value.text, mode: 'token' }
      }
      return { type: 'in', fields: [field], in: [value.kind === 'text' ? value.text : value.number] }
    }
    case 'search':
      throw new Error('a search is no value')
  }
}

/** A search for the linked object. For a nested table: a condition that one of its rows must fulfil. */
function searchWithin(
  field: string,
  { of }: Extract<Value, { kind: 'search' }>,
  at: number,
  context: Context,
): Element {
  const search = listOf(of, context)
  if (context.fields.nestedByName.has(field)) return { type: 'nested', path: field, search }
  const { named } = resolvePath(context.fields, field)
  const target = named.kind === 'field' && named.field.kind === 'link' ? named.field.column.target : null
  if (!target) throw notAllowed(field, 'subsearch')
  if (search.length === 0) throw queryError(context.text, at, ['a condition'])
  return { type: 'in', fields: [field], subsearch: { objecttypes: [target.name], search } }
}

export function isDate(named: Named): boolean {
  if (named.kind === 'system') return named.name === '_created' || named.name === '_last_modified'
  return named.kind === 'field' && named.field.kind === 'date'
}

/** Whether the name is a link that is compared by the title of the linked object, not by its id. */
export function isTitle(named: Named): boolean {
  return named.kind === 'field' && named.field.kind === 'link' && !/_(?:system|global)_object_id$/.test(named.written)
}

function boundOf(named: Named, value: Value, { text, clock }: Context): string | number {
  if (value.kind === 'number') return value.number
  const given = (value as { text: string }).text
  if (!given.startsWith('$') || !isDate(named)) return given
  const moment = momentOf(given, clock)
  if (moment === null) throw queryError(text, value.at, ['a date', ...placeholders.map((name) => `"${name}"`)])
  return moment
}

function boxOf({ corners: [one, other], at }: Extract<Value, { kind: 'box' }>, { text }: Context): Element {
  for (const corner of [one, other]) {
    if (typeof corner === 'string') continue
    if (Math.abs(corner.lat) > 90) throw queryError(text, at, ['latitudes from -90 to 90'])
    if (Math.abs(corner.lon) > 180) throw queryError(text, at, ['longitudes from -180 to 180'])
  }
  return { top_left: one, bottom_right: other }
}
