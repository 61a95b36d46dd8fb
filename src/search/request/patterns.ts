/** Texts in the mode `exact`: a pattern that must match a whole stored text, with case. */
import { AppError } from '../../platform/errors.ts'
import { patterns } from '../document/analyze.ts'
import type { SearchField } from '../plan/fields.ts'
import type { Clause, TextTarget } from '../plan/plan.ts'
import { and, type ElementContext, or } from './clauses.ts'
import { notAllowed } from './names.ts'
import { wrong } from './read.ts'

/** The highest number of pieces between wildcards: each is searched behind the one before it. */
export const mostPatternParts = 20

const kinds: readonly SearchField['kind'][] = ['text', 'string', 'l10n', 'custom']

/** The words find candidates, regardless of case; the stored text then decides. */
export function patternClause(
  text: string,
  targets: readonly TextTarget[],
  place: string,
  context: ElementContext,
): Clause {
  if (context.nested) throw wrong(`${place}.mode`, 'another one than exact about a row of a nested table')
  const parts = partsOf(text)
  if (parts.filter((part) => part === null).length >= mostPatternParts) {
    throw wrong(`${place}.string`, `a pattern with fewer than ${mostPatternParts} wildcards`)
  }
  const candidates = wordsOf(parts)
  if (!patterns(candidates, 'words').some(({ parts }) => parts.some((part) => 'literal' in part))) {
    throw new AppError('WildcardOnlyNotAllowed', { name: place })
  }
  const named = targets.flatMap(({ field, languages }) => (field === null ? [] : [{ field, languages }]))
  for (const { field } of named) if (!kinds.includes(field.kind) || field.part) throw notAllowed(field.name, 'exact')
  const whole = named.filter(({ field }) => field.kind === 'string')
  const rest = named.filter(({ field }) => field.kind !== 'string')
  return or([
    ...targets.flatMap(({ field, languages }): Clause[] => {
      if (field !== null) return []
      const all = fulltextFields(context).map((each) => ({ field: each, languages }))
      return [found([{ field, languages }], candidates, all, text)]
    }),
    ...(whole.length > 0 ? [found(whole, text, whole, text)] : []),
    ...(rest.length > 0 ? [found(rest, candidates, rest, text)] : []),
  ])
}

function found(
  targets: readonly TextTarget[],
  text: string,
  of: Extract<Clause, { is: 'pattern' }>['of'],
  pattern: string,
): Clause {
  if (of.length === 0) return { is: 'none' }
  return and([
    { is: 'text', targets, text, mode: 'wildcard', phrase: false },
    { is: 'pattern', of, pattern },
  ])
}

/** Without links, which show texts of other objects, and without dates and numbers, which are no texts. */
function fulltextFields({ fields, objecttypes }: ElementContext): readonly SearchField[] {
  return objecttypes
    .flatMap((table) => fields.types.get(table.id)?.all ?? [])
    .filter((field) => field.fulltext && kinds.includes(field.kind))
}

/** Texts, with null for each wildcard. */
function partsOf(text: string): readonly (string | null)[] {
  const parts: (string | null)[] = []
  for (const [piece] of text.matchAll(/\\[\s\S]|[\s\S]/g)) {
    const last = parts.at(-1)
    if (piece === '*' || piece === '?') parts.push(null)
    else if (typeof last === 'string') parts[parts.length - 1] = last + piece.at(-1)
    else parts.push(piece.at(-1) as string)
  }
  return parts
}

/** A pattern for the words: next to a wildcard a word may continue, and another one may follow. */
function wordsOf(parts: readonly (string | null)[]): string {
  return parts
    .map((part, index) => {
      if (part === null) return ' '
      const before = index > 0 ? '*' : ''
      const behind = index < parts.length - 1 ? '*' : ''
      return `${before}${part.replace(/[\\*?]/g, '\\$&')}${behind}`
    })
    .join('')
}
