/** Text clauses as conditions on lexemes. Wildcards are expanded beforehand (wildcards.ts). */

import { parseDate } from '../../../../platform/values/dates.ts'
import { type Pattern, patterns, token, words } from '../../../document/analyze.ts'
import { momentFrom, momentTo, orderedNumber, type Piece, rangePieces } from '../../../document/ordered.ts'
import type { SearchField } from '../../../plan/fields.ts'
import type { Alternatives, MomentRange, TextClause, TextTarget } from '../../../plan/plan.ts'
import { columnWord, dateEnd, dateStart, numberValue } from '../../document/lexemes.ts'
import { whereSeen } from '../access/visibility.ts'
import { allOf, anyOf, anyOfShared, lexeme, type Node, prefix } from '../sql/tsquery.ts'
import {
  fulltextColumns,
  type Source,
  type SourceContext,
  sourcesOf,
  type TextCondition,
  type Writer,
  wholeFulltext,
} from './sources.ts'

/** Terms of a dictionary (0: words, else the id of a `string` column) that match patterns. */
export interface Expansions {
  terms(dictionary: number, pattern: Pattern): readonly string[]
  /** All results as a text, for cache keys. */
  found(): string
  /** Whether beginnings of words, which the index answers by itself, are expanded too. */
  readonly ofBeginnings?: boolean
}

export interface TextContext extends SourceContext {
  readonly expansions: Expansions
}

/** The last node of each clause: a search needs it several times (to count, to sort, for columns). */
const last = new WeakMap<TextClause, { readonly context: TextContext; readonly node: Node | null }>()

/** null: nothing can match. */
export function textNode(clause: TextClause, context: TextContext): Node | null {
  const known = last.get(clause)
  if (known && isSame(known.context, context)) return known.node
  const nodes = [...wordNodes(clause, context), ...wholeNodes(clause, context)]
  const node = nodes.length === 0 ? null : anyOf(nodes)
  last.set(clause, { context, node })
  return node
}

function isSame(one: TextContext, other: TextContext): boolean {
  return (
    one.fieldVisibility === other.fieldVisibility &&
    one.linked === other.linked &&
    one.expansions === other.expansions &&
    one.languages === other.languages &&
    one.types.length === other.types.length &&
    one.types.every((type, index) => type === other.types[index])
  )
}

/** Every word in one of the targets; for a phrase, all of them adjacent in one target. */
function wordNodes(clause: TextClause, context: TextContext): Node[] {
  const adjacent = clause.phrase || clause.mode === 'token'
  const units = clause.mode === 'wildcard' ? usable(patterns(clause.text, 'words')) : words(clause.text)
  if (units.length === 0) return []
  const asked = units.map(
    (unit): TextCondition =>
      (write) =>
        unitNode(unit, 0, write, context),
  )
  if (adjacent && units.length > 1) return clause.targets.flatMap((target) => phraseNodes(target, asked, context))
  const sources = clause.targets.flatMap((target) => sourcesOf(target, context))
  if (clause.synonyms) return synonymNodes(clause, clause.synonyms, sources, context)
  const perWord = asked.map((word) => sources.map((source) => source(word)).filter((node) => node !== null))
  // If a word occurs in no target, nothing can match.
  if (perWord.some((nodes) => nodes.length === 0)) return []
  return [allOf(perWord.map(anyOfShared))]
}

/** Every part of the text, or one of its synonyms: several words in a row. */
function synonymNodes(
  { targets }: TextClause,
  parts: readonly Alternatives[],
  sources: readonly Source[],
  context: TextContext,
): Node[] {
  const one = (word: string): Node | null => {
    const nodes = sources.map((source) => source((write) => lexeme(write(word)))).filter((node) => node !== null)
    return nodes.length === 0 ? null : anyOfShared(nodes)
  }
  const all = parts.map(({ words: own, or }) => {
    const ownNodes = own.map(one)
    const others = or.flatMap(([word, ...more]): (Node | null)[] => {
      if (more.length === 0) return [one(word as string)]
      const asked = [word as string, ...more].map(
        (each): TextCondition =>
          (write) =>
            lexeme(write(each)),
      )
      return targets.flatMap((target) => phraseNodes(target, asked, context))
    })
    const whole = ownNodes.every((node) => node !== null) ? [allOf(ownNodes)] : []
    return [...whole, ...others.filter((node) => node !== null)]
  })
  return all.some((ways) => ways.length === 0) ? [] : [allOf(all.map(anyOfShared))]
}

/** Positions are stored per column, so a phrase in `_fulltext` must be within one of its columns. */
function phraseNodes(target: TextTarget, words: readonly TextCondition[], context: TextContext): Node[] {
  const phrase: TextCondition = (write) => {
    const nodes = words.map((word) => word(write))
    return nodes.every((node) => node !== null) ? { op: 'phrase', of: nodes } : null
  }
  const sources = target.field ? sourcesOf(target, context) : fulltextColumns(target, context)
  const phrases = sources.map((source) => source(phrase)).filter((node) => node !== null)
  if (phrases.length === 0) return []
  if (target.field || !context.fieldVisibility.whole) return [anyOf(phrases)]
  // The condition that all words are present reduces the number of documents to be examined.
  const present = words.map((word) => wholeFulltext(word))
  return present.every((node) => node !== null) ? [allOf([...present, anyOf(phrases)])] : []
}

/** Whole values: tokens of `string` columns, numbers, dates. */
function wholeNodes(clause: TextClause, context: TextContext): Node[] {
  return clause.targets.flatMap(({ field }): Node[] => {
    const nodes = field ? wholeNodesOf(clause, field, context) : []
    return nodes
      .map((node) => whereSeen(context.fieldVisibility.column(field as SearchField), node))
      .filter((node) => node !== null)
  })
}

function wholeNodesOf(clause: TextClause, field: SearchField, context: TextContext): Node[] {
  if (field.kind === 'string') return tokenNodes(clause, field, context)
  if (field.kind === 'number') return numberNodes(field, clause.text)
  return field.kind === 'date' ? dateNodes(field, clause.text) : []
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
  return date ? [datesNode(field, date, { single: false })] : []
}

/** Dates that share a moment with the interval. */
export function datesNode({ code }: SearchField, { from, to }: MomentRange, of: { readonly single: boolean }): Node {
  const nodes: Node[] = []
  if (from !== null)
    nodes.push(piecesNode(rangePieces('moment', momentFrom(from), null, of), (text) => dateEnd(code, text)))
  if (to !== null)
    nodes.push(piecesNode(rangePieces('moment', null, momentTo(to), of), (text) => dateStart(code, text)))
  return allOf(nodes)
}

export function piecesNode(pieces: readonly Piece[], write: Writer): Node {
  return anyOf(
    pieces.map((piece) => {
      if ('exact' in piece) return lexeme(write(piece.exact))
      const all = prefix(write(piece.prefix))
      return piece.but.length === 0 ? all : allOf([all, { op: 'not', of: piecesNode(piece.but, write) }])
    }),
  )
}

/** Patterns that consist only of wildcards are ignored. */
function usable(found: readonly Pattern[]): readonly Pattern[] {
  return found.filter((pattern) => pattern.parts.some((part) => 'literal' in part))
}

/** One word or pattern; null when no term of the dictionary matches the pattern. */
function unitNode(unit: string | Pattern, dictionary: number, write: Writer, context: TextContext): Node | null {
  if (typeof unit === 'string') return lexeme(write(unit))
  const [first, second] = unit.parts
  if (first && 'literal' in first) {
    if (unit.parts.length === 1) return lexeme(write(first.literal))
    const isBeginning = unit.parts.length === 2 && second && 'wildcard' in second && second.wildcard === '*'
    if (isBeginning && !context.expansions.ofBeginnings) {
      return prefix(write(first.literal))
    }
  }
  const terms = context.expansions.terms(dictionary, unit)
  return terms.length === 0 ? null : anyOf(terms.map((term) => lexeme(write(term))))
}
