/** Splits the typed text: complete words, and the last word, which is to be completed. */
import { AppError } from '../../platform/errors.ts'
import { type Pattern, patterns, token, words } from '../document/analyze.ts'
import type { TermMatch } from '../plan/terms.ts'
import { wrong } from '../request/read.ts'
import type { SuggestRequest } from './schema.ts'

export interface Typed {
  /** Other words that must be present, as they were typed. */
  readonly earlier: readonly string[]
  /** The typed part of the suggestion, folded; empty for a pattern without a literal part. */
  readonly partial: string
  /** The kinds of terms that match, the preferred kind first. */
  readonly matches: readonly TermMatch[]
}

/** The trigram index finds nothing for shorter words: these are only searched at the beginning of words. */
const shortestWithin = 3
export const isLongEnough = (word: string): boolean => [...word].length >= shortestWithin

/** White space as people see it. */
const spaces = /\s+/u

/** The typed text in parts, at its white space. */
export function piecesOf({ query = '', tokens_dont_split_query: whole }: SuggestRequest): readonly string[] {
  const text = query.trim()
  if (text === '') return []
  return whole ? [text] : text.split(spaces)
}

/** The last one of several words; null: there is nothing to complete. */
export function typedWord(request: SuggestRequest): Typed | null {
  const pieces = piecesOf(request)
  const before = pieces.slice(0, -1).filter((piece) => words(piece).length > 0)
  const last = pieces.at(-1) ?? ''
  if (request.analyze_wildcards) return typedPattern(before, patterns(last, 'words'), request)
  const found = words(last)
  const partial = found.at(-1)
  if (partial === undefined || (request.tokens_dont_split_query && found.length > 1)) return null
  return { earlier: [...before, ...found.slice(0, -1)], partial, matches: matchesOf(partial, request) }
}

function typedPattern(before: readonly string[], found: readonly Pattern[], request: SuggestRequest): Typed | null {
  const last = found.at(-1)
  if (!last) return null
  const inner = found.slice(0, -1).map(literalOf)
  if (inner.includes(null)) throw wrong('query', 'one in which only the last word is a pattern')
  if (last.parts.every((part) => 'wildcard' in part)) throw new AppError('WildcardOnlyNotAllowed', { name: 'query' })
  const literal = literalOf(last)
  const earlier = [...before, ...(inner as string[])]
  if (literal !== null) return { earlier, partial: literal, matches: matchesOf(literal, request) }
  return { earlier, partial: '', matches: [patternMatch(last)] }
}

function literalOf({ parts: [first, ...more] }: Pattern): string | null {
  return first && 'literal' in first && more.length === 0 ? first.literal : null
}

/** A pattern that only ends with a star is a beginning. */
function patternMatch({ parts }: Pattern): TermMatch {
  const [first, second] = parts
  if (parts.length === 2 && first && 'literal' in first && second && 'wildcard' in second && second.wildcard === '*')
    return { is: 'beginning', text: first.literal }
  const pattern = parts
    .map((part) => ('literal' in part ? escaped(part.literal) : part.wildcard === '*' ? '%' : '_'))
    .join('')
  return { is: 'like', pattern, without: null }
}

const escaped = (literal: string): string => literal.toWellFormed().replace(/[\\%_]/g, '\\$&')

function matchesOf(partial: string, { tokens_mode: mode = '' }: SuggestRequest): readonly TermMatch[] {
  if (mode === 'exact') return [{ is: 'exact', text: partial }]
  const beginning = { is: 'beginning', text: partial } as const
  if (mode === 'edgengram' || !isLongEnough(partial)) return [beginning]
  return [beginning, { is: 'like', pattern: `%${escaped(partial)}%`, without: partial }]
}

/**
 * The text as a whole value of a `string` column, which the dictionary finds only by its beginning; null: there is nothing to
 * complete.
 */
export function typedValue(request: SuggestRequest): Typed | null {
  const pieces = piecesOf(request)
  const earlier = pieces.slice(0, -1).filter((piece) => words(piece).length > 0)
  const last = pieces.at(-1) ?? ''
  if (request.analyze_wildcards) {
    const [pattern] = patterns(last, 'token')
    const [first] = pattern?.parts ?? []
    if (!pattern || !first || !('literal' in first)) return null
    const literal = literalOf(pattern)
    if (literal === null) return { earlier, partial: '', matches: [patternMatch(pattern)] }
    return { earlier, partial: literal, matches: matchesOf(literal, request).slice(0, 1) }
  }
  const partial = token(last)
  return partial === '' ? null : { earlier, partial, matches: matchesOf(partial, request).slice(0, 1) }
}
