/** Text clauses as conditions on lexemes. Wildcards are expanded beforehand (wildcards.ts). */

import type { Table } from '../../datamodel/model.ts'
import { parseDate } from '../../platform/dates.ts'
import { type Pattern, patterns, token, words } from '../analyze.ts'
import type { SearchField, TypeFields } from '../fields.ts'
import {
  columnWord,
  dateEnd,
  dateStart,
  exactValue,
  fulltextFrom,
  fulltextWord,
  groupWord,
  languageCode,
  linkedWord,
  numberValue,
  otherLanguages,
  titleWord,
} from '../lexemes.ts'
import { momentFrom, momentTo, orderedNumber, rangePieces } from '../ordered.ts'
import type { TextClause, TextTarget } from '../plan.ts'
import type { Sight, Vision } from '../vision.ts'
import type { LinkedObjects } from './linked.ts'
import { whereSeen } from './sight.ts'
import { allOf, anyOf, lexeme, type Node, prefix } from './tsquery.ts'
import type { Expansions } from './wildcards.ts'

export interface TextContext {
  readonly types: readonly TypeFields[]
  readonly languages: readonly string[]
  readonly expansions: Expansions
  readonly vision: Vision
  readonly linked: LinkedObjects
}

/** How one kind of lexeme is written: for a word, and for all that begin alike. */
type Writer = (word: string) => string

/** What is asked of one text, given how its words are written; null: nothing can match. */
type Asked = (write: Writer) => Node | null

/** One text of an object that a search may use. */
type Source = (asked: Asked) => Node | null

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
  const asked = units.map(
    (unit): Asked =>
      (write) =>
        unitNode(unit, 0, write, context),
  )
  if (adjacent && units.length > 1) return clause.targets.flatMap((target) => phraseNodes(target, asked, context))
  const sources = clause.targets.flatMap((target) => sourcesOf(target, context))
  const perWord = asked.map((word) => sources.map((source) => source(word)).filter((node) => node !== null))
  // A word that is found nowhere keeps everything from matching.
  if (perWord.some((nodes) => nodes.length === 0)) return []
  return [allOf(perWord.map(anyOf))]
}

/** Positions are kept per column, so a phrase in `_fulltext` is one in any of its columns. */
function phraseNodes(target: TextTarget, words: readonly Asked[], context: TextContext): Node[] {
  const phrase: Asked = (write) => {
    const nodes = words.map((word) => word(write))
    return nodes.every((node) => node !== null) ? { op: 'phrase', of: nodes } : null
  }
  const sources = target.field ? sourcesOf(target, context) : fulltextColumns(target, context)
  const phrases = sources.map((source) => source(phrase)).filter((node) => node !== null)
  if (phrases.length === 0) return []
  if (target.field || !context.vision.whole) return [anyOf(phrases)]
  // Fewer documents are looked at when all words must be there at all.
  const present = words.map((word) => wholeFulltext(word))
  return present.every((node) => node !== null) ? [allOf([...present, anyOf(phrases)])] : []
}

/** Whole values: tokens of `string` columns, numbers, dates. */
function wholeNodes(clause: TextClause, context: TextContext): Node[] {
  return clause.targets.flatMap(({ field }): Node[] => {
    const nodes = field ? wholeNodesOf(clause, field, context) : []
    return nodes
      .map((node) => whereSeen(context.vision.column(field as SearchField), node))
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

function sourcesOf(target: TextTarget, context: TextContext): Source[] {
  if (target.field) return columnSources(target.field, target.languages, context)
  return target.languages === null ? fulltextSources(context) : fulltextColumns(target, context)
}

/** A column, for localized texts in each language by itself, as far as the caller sees it. */
function columnSources(field: SearchField, languages: readonly string[] | null, context: TextContext): Source[] {
  const sight = context.vision.column(field)
  if (sight === 'never') return []
  return codesOf(field, languages, context).map((code): Source => {
    const write: Writer = (word) => columnWord(code, word)
    return (asked) => {
      const own = asked(write)
      const node = own && field.kind === 'link' ? titleNode(field, asked, own, context) : own
      return node && whereSeen(sight, node)
    }
  })
}

/** Titles are those of objects that the caller may read: then the object that links to them has their words too. */
function titleNode(field: SearchField, asked: Asked, own: Node, { linked }: TextContext): Node | null {
  const table = field.column.target
  if (!table || linked.knowsAll(table)) return own
  const title = asked(titleWord)
  return title && linkNode(field, table, title, own, linked)
}

/** A link to an object that the caller may read and that matches. */
export function linkNode(
  field: SearchField,
  table: Table,
  of: Node,
  candidates: Node,
  linked: LinkedObjects,
): Node | null {
  const ids = linked.find(table, of)
  const { code, column } = field
  if (ids === null)
    return { op: 'linked', column: column.id, code, target: table.id, of: linked.readable(of), candidates }
  return ids.length === 0 ? null : allOf([candidates, anyOf(ids.map((id) => lexeme(exactValue(code, id))))])
}

const wholeFulltext: Source = (asked) => either([asked(fulltextWord), asked(linkedWord)])

/**
 * `_fulltext` of all searched object types. The words of all its columns together say too much where some of these are
 * hidden; then the groups of columns that the same masks show are asked, and titles link by link.
 */
function fulltextSources(context: TextContext): Source[] {
  const { vision, types, linked } = context
  if (vision.whole) return [wholeFulltext]
  const sources: Source[] = []
  const [own, links]: [TypeFields[], TypeFields[]] = [[], []]
  for (const type of types) {
    const { groups } = type.fulltext
    const sights = groups.map(([field]) => vision.column(field as SearchField))
    if (sights.every((sight) => sight === 'always')) own.push(type)
    else if (groups.length === 1) sources.push(seenSource(sights[0] as Sight, fromTypes([type], fulltextWord)))
    else {
      sources.push(
        ...groups.map(([field], index): Source => {
          const write: Writer = (word) => groupWord(field?.group ?? '', word)
          return seenSource(sights[index] as Sight, (asked) => asked(write))
        }),
      )
    }
    const open = (field: SearchField): boolean =>
      vision.column(field) === 'always' && (!field.column.target || linked.knowsAll(field.column.target))
    if (type.fulltext.links.every(open)) links.push(type)
    else sources.push(...type.fulltext.links.flatMap((field) => columnSources(field, null, context)))
  }
  return [fromTypes(own, fulltextWord), fromTypes(links, linkedWord), ...sources]
}

function seenSource(sight: Sight, source: Source): Source {
  return (asked) => {
    const node = source(asked)
    return node && whereSeen(sight, node)
  }
}

/** Words of objects whose `_fulltext` is made of the columns that today's masks put there. */
function fromTypes(types: readonly TypeFields[], write: Writer): Source {
  if (types.length === 0) return () => null
  const from = anyOf(types.map(({ fulltext }) => lexeme(fulltextFrom(fulltext.name))))
  return (asked) => {
    const node = asked(write)
    return node && allOf([node, from])
  }
}

function either(nodes: readonly (Node | null)[]): Node | null {
  const possible = nodes.filter((node) => node !== null)
  return possible.length === 0 ? null : anyOf(possible)
}

/** The columns whose texts are `_fulltext`, as far as their words are kept per column. */
function fulltextColumns(target: TextTarget, context: TextContext): Source[] {
  return context.types
    .flatMap((type) => type.all)
    .filter((field) => field.fulltext)
    .flatMap((field) => columnSources(field, target.languages, context))
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
