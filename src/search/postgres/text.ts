/** Text clauses as conditions on lexemes. Wildcards are expanded beforehand (wildcards.ts). */

import { parseDate } from '../../platform/dates.ts'
import { type Pattern, patterns, token, words } from '../analyze.ts'
import type { SearchField, TypeFields } from '../fields.ts'
import { columnWord, dateEnd, dateStart, fulltextWord, languageCode, numberValue, otherLanguages } from '../lexemes.ts'
import { momentFrom, momentTo, orderedNumber, rangePieces } from '../ordered.ts'
import type { TextClause, TextTarget } from '../plan.ts'
import { allOf, anyOf, lexeme, type Node, prefix } from './tsquery.ts'
import type { Expansions } from './wildcards.ts'

export interface TextContext {
  readonly types: readonly TypeFields[]
  readonly languages: readonly string[]
  readonly expansions: Expansions
}

/** How one kind of lexeme is written: for a word, and for all that begin alike. */
type Writer = (word: string) => string

/** null: nothing can match. */
export function textNode(clause: TextClause, context: TextContext): Node | null {
  const nodes = [...wordNodes(clause, context), ...wholeNodes(clause, context)]
  return nodes.length === 0 ? null : anyOf(nodes)
}

/** Every word in one of the targets; as a phrase, all of them side by side in one. */
function wordNodes(clause: TextClause, context: TextContext): Node[] {
  const adjacent = clause.phrase || clause.mode === 'token'
  const units = clause.mode === 'wildcard' ? usable(patterns(clause.text, 'words')) : words(clause.text)
  if (units.length === 0) return []
  const single = units.length === 1
  const nodesOf = (write: Writer): (Node | null)[] => units.map((unit) => unitNode(unit, 0, write, context))
  if (!adjacent || single) {
    const perTarget = clause.targets.flatMap((target) => writersOf(target, context).map(nodesOf))
    const perWord = units.map((_, index) =>
      perTarget.map((nodes) => nodes[index]).filter((node) => node !== null && node !== undefined),
    )
    // A word that is found nowhere keeps everything from matching.
    if (perWord.some((nodes) => nodes.length === 0)) return []
    return [allOf(perWord.map(anyOf))]
  }
  return clause.targets.flatMap((target) => phraseNodes(target, nodesOf, context))
}

/** Positions are kept per column, so a phrase in `_fulltext` is one in any of its columns. */
function phraseNodes(target: TextTarget, nodesOf: (write: Writer) => (Node | null)[], context: TextContext): Node[] {
  const writers = target.field ? writersOf(target, context) : fulltextColumns(target, context)
  const phrases = writers.flatMap((write): Node[] => {
    const nodes = nodesOf(write)
    return nodes.every((node) => node !== null) ? [{ op: 'phrase', of: nodes }] : []
  })
  if (phrases.length === 0) return []
  if (target.field) return [anyOf(phrases)]
  // Fewer documents are looked at when all words must be there at all.
  const present = nodesOf(fulltextWord)
  return present.every((node) => node !== null) ? [allOf([...present, anyOf(phrases)])] : []
}

/** Whole values: tokens of `string` columns, numbers, dates. */
function wholeNodes(clause: TextClause, context: TextContext): Node[] {
  return clause.targets.flatMap(({ field }): Node[] => {
    if (field?.kind === 'string') return tokenNodes(clause, field, context)
    if (field?.kind === 'number') return numberNodes(field, clause.text)
    if (field?.kind === 'date') return dateNodes(field, clause.text)
    return []
  })
}

function tokenNodes(clause: TextClause, field: SearchField, context: TextContext): Node[] {
  const write: Writer = (word) => columnWord(field.code, word)
  const [pattern] = clause.mode === 'wildcard' ? usable(patterns(clause.text, 'token')) : []
  const node = pattern ? unitNode(pattern, field.column.id, write, context) : lexeme(write(token(clause.text)))
  return node ? [node] : []
}

function numberNodes(field: SearchField, text: string): Node[] {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) ? [lexeme(numberValue(field.code, orderedNumber(value)))] : []
}

function dateNodes(field: SearchField, text: string): Node[] {
  const date = parseDate(text.trim())
  return date ? [datesNode(field.code, date.from, date.to)] : []
}

/** Dates that share a moment with the interval. */
export function datesNode(code: string, from: bigint | null, to: bigint | null): Node {
  const nodes: Node[] = []
  if (from !== null)
    nodes.push(piecesNode(rangePieces('moment', momentFrom(from), null), (text) => dateEnd(code, text)))
  if (to !== null) nodes.push(piecesNode(rangePieces('moment', null, momentTo(to)), (text) => dateStart(code, text)))
  return allOf(nodes)
}

export function piecesNode(pieces: { exact: readonly string[]; prefixes: readonly string[] }, write: Writer): Node {
  return anyOf([
    ...pieces.exact.map((text) => lexeme(write(text))),
    ...pieces.prefixes.map((text) => prefix(write(text))),
  ])
}

/** Wildcards alone say nothing. */
function usable(found: readonly Pattern[]): readonly Pattern[] {
  return found.filter((pattern) => pattern.parts.some((part) => 'literal' in part))
}

/** One word or pattern; null when nothing in the dictionary fits the pattern. */
function unitNode(unit: string | Pattern, dictionary: number, write: Writer, context: TextContext): Node | null {
  if (typeof unit === 'string') return lexeme(write(unit))
  const [first, second] = unit.parts
  if (first && 'literal' in first) {
    if (unit.parts.length === 1) return lexeme(write(first.literal))
    if (unit.parts.length === 2 && second && 'wildcard' in second && second.wildcard === '*') {
      return prefix(write(first.literal))
    }
  }
  const terms = context.expansions.terms(dictionary, unit)
  return terms.length === 0 ? null : anyOf(terms.map((term) => lexeme(write(term))))
}

function writersOf(target: TextTarget, context: TextContext): Writer[] {
  const { field } = target
  if (!field) return target.languages === null ? [fulltextWord] : fulltextColumns(target, context)
  return codesOf(field, target.languages, context).map((code) => (word) => columnWord(code, word))
}

/** The columns whose texts are `_fulltext`, as far as their words are kept per column. */
function fulltextColumns(target: TextTarget, context: TextContext): Writer[] {
  return context.types
    .flatMap((type) => type.all)
    .filter((field) => field.fulltext)
    .flatMap((field) => codesOf(field, target.languages, context))
    .map((code) => (word) => columnWord(code, word))
}

function codesOf(field: SearchField, languages: readonly string[] | null, context: TextContext): string[] {
  switch (field.kind) {
    case 'text':
    case 'string':
    case 'link':
    case 'custom':
      return [field.code]
    case 'l10n':
    case 'date': {
      if (languages === null) {
        const own = context.languages.map((language) => languageCode(field.code, language, context.languages))
        return [...own, otherLanguages(field.code)]
      }
      return [...new Set(languages.map((language) => languageCode(field.code, language, context.languages)))]
    }
    default:
      return []
  }
}
