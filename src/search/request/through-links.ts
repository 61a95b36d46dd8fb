/** Elements whose names go through links. They become the same element for the objects that the link leads to. */
import { AppError } from '../../platform/errors.ts'
import { words } from '../document/analyze.ts'
import type { Clause } from '../plan/plan.ts'
import { type ElementContext, or } from './clauses.ts'
import { linkedClause, type Through, throughLink } from './paths.ts'
import { deepest, type Fields, fieldsAt, wrong } from './read.ts'

/** Builds the clause for any one of some fields, in the given context. */
export type NamesClause = (names: readonly string[], context: ElementContext) => Clause

/** Splits a text into words that may be found in different fields, and also in different objects. */
export function wordsApart(text: string, mode: 'fulltext' | 'token' | 'wildcard' | 'exact'): readonly string[] {
  if (mode !== 'fulltext' && mode !== 'wildcard') return [text]
  const found = mode === 'fulltext' ? words(text) : text.split(/\s+/).filter((word) => word !== '')
  return found.length === 0 ? [text] : [...new Set(found)]
}

/** Fields of the objects themselves, or of linked objects. All fields behind the same link share one clause. */
export function ofAnyNames(
  names: readonly string[],
  place: string,
  context: ElementContext,
  clauseOf: NamesClause,
): Clause {
  const own = names.filter((name) => !throughLink(name, context))
  const linked = names.flatMap((name) => {
    const through = throughLink(name, context)
    return through ? [{ name, through }] : []
  })
  const alike = Map.groupBy(linked, ({ through: { step } }) => `${step.reverse} ${step.field.code}`)
  return or([
    ...(own.length > 0 || linked.length === 0 ? [clauseOf(own, context)] : []),
    ...[...alike.values()].flatMap((group): Clause[] => {
      const [first] = group
      if (!first) return []
      const rests = group.map(({ through }) => through.rest)
      return [
        linkedClause(first.through, first.name, place, context, (inner) => ofAnyNames(rests, place, inner, clauseOf)),
      ]
    }),
  ])
}

/** null among the values: no readable linked object has one. */
export function valuesThroughLink(
  through: Through,
  { name, place, values }: { readonly name: string; readonly place: string; readonly values: readonly unknown[] },
  context: ElementContext,
  among: (values: readonly unknown[], context: ElementContext) => Clause,
): Clause {
  const present = values.filter((value) => value !== null)
  const some = (inner: ElementContext): Clause => opposite(among([null], inner))
  return or([
    ...(present.length < values.length ? [opposite(linkedClause(through, name, place, context, some))] : []),
    ...(present.length > 0 ? [linkedClause(through, name, place, context, (inner) => among(present, inner))] : []),
  ])
}

function opposite(clause: Clause): Clause {
  return clause.is === 'not' && clause.of.is !== 'empty' ? clause.of : { is: 'not', of: clause }
}

/** Members of elements that contain names of fields. */
const nameMembers = ['path', 'field', 'fields'] as const

/**
 * An element with its names shortened by the first step.
 * @throws {AppError} `NestedQueryIn` for a name that does not begin with it
 */
export function withoutStart(element: Fields, start: string, place: string, depth = 0): Fields {
  if (depth > deepest) throw wrong(place, `nested at most ${deepest} deep`)
  const cut = (name: unknown): unknown => {
    if (typeof name !== 'string' || name === '') return name
    if (name.startsWith(start)) return name.slice(start.length)
    throw new AppError('NestedQueryIn', { field: name.slice(0, 200), in: start.slice(0, 200) })
  }
  const own: Record<string, unknown> = { ...element }
  for (const member of nameMembers) {
    const value = own[member]
    if (value !== undefined) own[member] = Array.isArray(value) ? value.map(cut) : cut(value)
  }
  if (Array.isArray(own.search)) {
    own.search = own.search.map((each, index) => {
      const at = `${place}.search[${index}]`
      return withoutStart(fieldsAt(each, at), start, at, depth + 1)
    })
  }
  return own
}
