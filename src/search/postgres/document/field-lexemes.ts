/** The lexemes of one value of a column. */

import { readExact } from '../../../platform/values/exact-json.ts'
import type { Localized } from '../../../platform/values/localized.ts'
import { token } from '../../document/analyze.ts'
import { orderedNumber } from '../../document/ordered.ts'
import { customTexts, orderedInterval, wordsOf } from '../../document/values.ts'
import { cellsOf } from '../../geo/cells.ts'
import { mostRectangles, rectangleBytes, rectanglesOf } from '../../geo/rectangles.ts'
import type { SearchField } from '../../plan/fields.ts'
import type { Draft } from './draft.ts'
import { labelOf } from './facets.ts'
import {
  columnWords,
  dateEnd,
  dateStart,
  exactValue,
  fulltextWords,
  geoCell,
  groupWords,
  hasValue,
  type LexemeSet,
  languageCode,
  linkAncestor,
  linkedWords,
  numberValue,
  titleWords,
} from './lexemes.ts'

/** The distance between the words of two values of a column, so that no phrase spans both. */
const gap = 10
/** Positions of a word in title and subtitle that count: more do not make an object more relevant. */
const namePlaces = 3
/** Longer tokens are not offered to wildcards that begin with a star. */
const longestTerm = 100

/**
 * Whether the whole values of the field are lexemes: those of columns that results list, and of columns that are prepared for facets.
 * For other fields the stored value is compared.
 */
export function exactByLexeme(field: SearchField): boolean {
  if (field.part) return ['text', 'string', 'l10n'].includes(field.kind) && !field.part.expert
  if (field.kind === 'custom') return field.facet
  if (field.kind === 'l10n') return field.listed
  return ['text', 'string'].includes(field.kind) && (field.facet || field.listed || field.path.length > 0)
}

/** Whether each text of the localized values is a lexeme, together with its language. */
export const exactByLanguage = (field: SearchField): boolean =>
  field.kind === 'l10n' && field.part === null && exactByLexeme(field)

export function fieldLexemes(draft: Draft, field: SearchField, value: unknown, row: LexemeSet | null): void {
  const { lexemes, context } = draft
  const add = (lexeme: string): void => {
    lexemes.add(lexeme)
    row?.add(lexeme)
  }
  const { code } = field
  switch (field.kind) {
    case 'text':
      addText(draft, field, code, value as string, row)
      break
    case 'l10n':
      for (const [language, text] of Object.entries(value as Localized)) {
        addText(draft, field, languageCode(code, language, context.languages), text, row)
      }
      break
    case 'string':
      addToken(draft, field, value as string, row)
      break
    case 'number':
      add(numberValue(code, orderedNumber(value as number)))
      if (field.fulltext) addNumberWords(draft, field, value as number)
      break
    case 'boolean':
      if (value === true) add(exactValue(code, 'true'))
      break
    case 'date':
      addDate(draft, field, value, row)
      break
    case 'link':
      addLink(draft, field, value as number, row)
      break
    case 'custom':
      for (const text of customTexts(value)) addText(draft, field, code, text, row)
      add(hasValue(code))
      break
    case 'files':
      for (const { _id } of value as { _id: number }[]) add(exactValue(code, _id))
      add(hasValue(code))
      break
    case 'geo':
      add(hasValue(code))
      addGeometries(draft, field, value)
  }
  if (exactByLanguage(field)) {
    for (const [language, text] of Object.entries(value as Localized)) {
      const whole = labelOf(field, { und: text }, [])
      if (whole !== null) add(exactValue(languageCode(code, language, context.languages), whole))
    }
  } else if (exactByLexeme(field)) {
    const label = labelOf(field, value, context.languages)
    if (label !== null) add(exactValue(code, label))
    // A member or file field has no stored column that could be compared.
    if (field.part && field.kind === 'l10n') {
      for (const text of Object.values(value as Localized)) {
        const whole = labelOf(field, { und: text }, [])
        if (whole !== null) add(exactValue(code, whole))
      }
    }
  }
}

/** Adds the cells, for the index, and the rectangles, of all values of the column together. */
function addGeometries({ lexemes, farKeys, context }: Draft, field: SearchField, value: unknown): void {
  const place = context.slots.geoKey(field)
  if (place === undefined) return
  const before = farKeys[-place] ?? Buffer.alloc(0)
  const found = rectanglesOf(readExact(value)).slice(0, mostRectangles - before.length / 16)
  for (const rectangle of found) for (const cell of cellsOf(rectangle)) lexemes.add(geoCell(field.code, cell))
  farKeys[-place] = Buffer.concat([before, rectangleBytes(found)])
}

function addText(draft: Draft, field: SearchField, code: string, text: string, row: LexemeSet | null): void {
  const { lexemes, context, positions } = draft
  const found = wordsOf(text)
  let position = positions.get(code) ?? 1
  const beginning = columnWords(code)
  const family = lexemes.family(beginning)
  const rowFamily = row?.family(beginning)
  for (const word of found) {
    lexemes.addAt(family, word, position)
    if (rowFamily) row?.addAt(rowFamily, word, position)
    if (field.terms) context.terms.word(word)
    position++
  }
  positions.set(code, position + gap)
  if (field.fulltext) addFulltext(draft, field, found)
  // Only punctuation: it can be found by the whole value alone.
  if (found.length === 0) {
    lexemes.add(exactValue(code, text))
    row?.add(exactValue(code, text))
  }
}

function addFulltext(draft: Draft, { kind, group, weight }: SearchField, found: readonly string[]): void {
  const { lexemes, names } = draft
  const whole = lexemes.family(kind === 'link' ? linkedWords : fulltextWords)
  for (const word of found) lexemes.addTo(whole, word)
  if (kind === 'link') return
  if (group !== null) {
    const ofGroup = lexemes.family(groupWords(group))
    for (const word of found) lexemes.addTo(ofGroup, word)
  }
  if (weight === 'A' || weight === 'B') {
    const named = names.family('')
    for (const word of found) names.addAt(named, word, draft.namePosition++, weight, namePlaces)
  }
}

function addNumberWords(draft: Draft, field: SearchField, value: number): void {
  const found = wordsOf(String(value))
  addFulltext(draft, field, found)
  for (const word of found) draft.context.terms.word(word)
}

function addToken(draft: Draft, field: SearchField, value: string, row: LexemeSet | null): void {
  const whole = token(value)
  const beginning = columnWords(field.code)
  draft.lexemes.addAt(draft.lexemes.family(beginning), whole, 1)
  row?.addAt(row.family(beginning), whole, 1)
  if (field.terms && whole.length <= longestTerm) draft.context.terms.token(field.column.id, whole)
  if (!field.fulltext) return
  const found = wordsOf(value)
  addFulltext(draft, field, found)
  for (const word of found) draft.context.terms.word(word)
}

/** Rows keep the beginning and end of their dates together. The object itself has only the dates of its own columns. */
function addDate(draft: Draft, field: SearchField, value: unknown, row: LexemeSet | null): void {
  const texts = orderedInterval(value)
  const target = row ?? draft.lexemes
  if (texts) {
    target.add(dateStart(field.code, texts.start))
    target.add(dateEnd(field.code, texts.end))
  }
  const { value: single, from, to, text } = value as { value?: string; from?: string; to?: string; text?: Localized }
  for (const [language, each] of Object.entries(text ?? {})) {
    addText(draft, field, languageCode(field.code, language, draft.context.languages), each, row)
  }
  if (!field.fulltext) return
  // A year is a word: `1851` finds objects dated 1851-06.
  const years = [single, from, to].flatMap((date) => (date === undefined ? [] : wordsOf(date).slice(0, 1)))
  addFulltext(draft, field, years)
  for (const word of years) draft.context.terms.word(word)
}

/** The words of the title that other objects show this one by, with the positions that they have in those objects. */
export function addTitle(lexemes: LexemeSet, texts: Localized): void {
  let position = 1
  const family = lexemes.family(titleWords)
  for (const text of new Set(Object.values(texts))) {
    for (const word of wordsOf(text)) lexemes.addAt(family, word, position++)
    position += gap
  }
}

function addLink(draft: Draft, field: SearchField, id: number, row: LexemeSet | null): void {
  const { lexemes, context } = draft
  const exact = exactValue(field.code, id)
  lexemes.add(exact)
  row?.add(exact)
  for (const ancestor of context.ancestors(id)) {
    const lexeme = linkAncestor(field.code, ancestor)
    lexemes.add(lexeme)
    row?.add(lexeme)
  }
  const texts = context.target(id)?.texts
  if (!texts) return
  const seen = new Set<string>()
  for (const text of Object.values(texts)) {
    if (seen.has(text)) continue
    seen.add(text)
    addText(draft, field, field.code, text, row)
  }
}
