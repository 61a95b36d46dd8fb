/** Text clauses: the words of columns and titles, as far as the caller sees them. */

import { parseDate } from '../../../src/platform/values/dates.ts'
import type { Localized } from '../../../src/platform/values/localized.ts'
import { type Pattern, patterns, token, words } from '../../../src/search/document/analyze.ts'
import { customTexts, intervalOf } from '../../../src/search/document/values.ts'
import type { SearchField } from '../../../src/search/plan/fields.ts'
import type { SearchPlan, TextClause, TextTarget } from '../../../src/search/plan/plan.ts'
import { type MemoryDocument, type Spot, valuesAt } from './documents.ts'
import { isSeen, mayRead } from './visibility.ts'

export interface Asked {
  readonly plan: SearchPlan
  readonly all: ReadonlyMap<number, MemoryDocument>
}

/** Whether one word, or one whole value, is meant. */
type Unit = (word: string) => boolean

export function matchesText(clause: TextClause, spot: Spot, asked: Asked): boolean {
  return matchesWords(clause, spot, asked) || clause.targets.some((target) => matchesWhole(clause, target, spot, asked))
}

function matchesWords({ text, mode, phrase, targets, synonyms }: TextClause, spot: Spot, asked: Asked): boolean {
  const units: Unit[] =
    mode === 'wildcard'
      ? usable(patterns(text, 'words')).map(unitOf)
      : words(text).map(
          (wanted): Unit =>
            (word) =>
              word === wanted,
        )
  if (units.length === 0) return false
  const sideBySide = (wanted: readonly Unit[]): boolean =>
    targets
      .flatMap(({ field, languages }) =>
        (field ? [field] : fulltextFields(spot, asked)).flatMap((each) => sequencesOf(each, languages, spot, asked)),
      )
      .some((sequence) => sequence.some((_, at) => wanted.every((unit, n) => unit(sequence[at + n] ?? ''))))
  if ((phrase || mode === 'token') && units.length > 1) return sideBySide(units)
  const bag = targets.flatMap((target) => bagOf(target, spot, asked))
  if (!synonyms) return units.every((unit) => bag.some(unit))
  const stands = (term: readonly string[]): boolean =>
    term.length === 1 ? bag.includes(term[0] as string) : sideBySide(term.map((wanted) => (word) => word === wanted))
  return synonyms.every(({ words: own, or }) => own.every((word) => bag.includes(word)) || or.some(stands))
}

const usable = (found: readonly Pattern[]): readonly Pattern[] =>
  found.filter(({ parts }) => parts.some((part) => 'literal' in part))

export function unitOf({ parts }: Pattern): Unit {
  const source = parts.map((part) => {
    if ('literal' in part) return RegExp.escape(part.literal)
    return part.wildcard === '*' ? '.*' : '.'
  })
  const pattern = new RegExp(`^${source.join('')}$`, 'su')
  return (word) => pattern.test(word)
}

/** The words of a target, in no order. */
export function bagOf({ field, languages }: TextTarget, spot: Spot, asked: Asked): string[] {
  if (field) return sequencesOf(field, languages, spot, asked).flat()
  return fulltextFields(spot, asked).flatMap((each) =>
    languages ? sequencesOf(each, languages, spot, asked).flat() : fulltextWords(each, spot, asked),
  )
}

function fulltextFields({ document }: Spot, { plan }: Asked): readonly SearchField[] {
  return (plan.fields.types.get(document.source.objecttype)?.all ?? []).filter(({ fulltext }) => fulltext)
}

/** What a column adds to `_fulltext`: here whole values are split, and numbers and years are words. */
function fulltextWords(field: SearchField, spot: Spot, asked: Asked): readonly string[] {
  if (!isSeen(asked.plan.fieldVisibility.column(field), spot.document)) return []
  const values = valuesAt(spot, field)
  if (field.kind === 'string') return values.flatMap((value) => words(value as string))
  if (field.kind === 'number') return values.flatMap((value) => words(String(value)))
  if (field.kind !== 'date') return sequencesOf(field, null, spot, asked).flat()
  const years = values.flatMap((value) => {
    const { value: single, from, to } = value as Record<string, string | undefined>
    return [single, from, to].flatMap((date) => (date === undefined ? [] : words(date).slice(0, 1)))
  })
  return [...years, ...sequencesOf(field, null, spot, asked).flat()]
}

/** The texts of a column as lists of words. */
function sequencesOf(
  field: SearchField,
  languages: readonly string[] | null,
  spot: Spot,
  { plan, all }: Asked,
): (readonly string[])[] {
  if (!isSeen(plan.fieldVisibility.column(field), spot.document)) return []
  const inLanguages = (text: Localized): string[] =>
    Object.entries(text).flatMap(([language, each]) => (!languages || languages.includes(language) ? each : []))
  return valuesAt(spot, field).flatMap((value): (readonly string[])[] => {
    switch (field.kind) {
      case 'text':
        return [words(value as string)]
      case 'string':
        return [[token(value as string)]]
      case 'l10n':
        return inLanguages(value as Localized).map(words)
      case 'date':
        return inLanguages((value as { text?: Localized }).text ?? {}).map(words)
      case 'custom':
        return customTexts(value).map(words)
      case 'link':
        return titleOf(value as number, spot.document, { plan, all }).map(words)
      default:
        return []
    }
  })
}

/** The title of a linked object in all languages, for those who may read the object. */
function titleOf(id: number, { links }: MemoryDocument, { plan, all }: Asked): string[] {
  const target = all.get(id)
  if (!target || !mayRead(plan.fieldVisibility, target)) return []
  return Object.values(links.get(id)?.title ?? {})
}

/** Whole values: tokens of `string` columns, numbers, dates. */
function matchesWhole({ text, mode }: TextClause, { field }: TextTarget, spot: Spot, { plan }: Asked): boolean {
  if (!field || !isSeen(plan.fieldVisibility.column(field), spot.document)) return false
  const values = valuesAt(spot, field)
  if (field.kind === 'string') {
    const [pattern] = mode === 'wildcard' ? usable(patterns(text, 'token')) : []
    const fits = pattern ? unitOf(pattern) : (whole: string): boolean => whole === token(text)
    return values.some((value) => fits(token(value as string)))
  }
  if (field.kind === 'number') return text.trim() !== '' && values.includes(Number(text))
  const date = field.kind === 'date' ? parseDate(text.trim()) : null
  // Dates of nested tables are asked row by row.
  if (!date || (field.path.length > 0 && !spot.row)) return false
  return values.some((value) => overlaps(value, date))
}

/** Whether a date shares a moment with the range. */
export function overlaps(value: unknown, { from, to }: { from: bigint | null; to: bigint | null }): boolean {
  const interval = intervalOf(value)
  if (!interval) return false
  return (
    (from === null || interval.to === null || interval.to >= from) &&
    (to === null || interval.from === null || interval.from <= to)
  )
}
