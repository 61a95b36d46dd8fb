/** Parses the text of a query to its syntax, within limits. Errors contain their position in the text. */
import { AppError } from '../../platform/errors.ts'
import { readQuery } from './grammar.ts'
import type { Expression } from './syntax.ts'

export const queryLimits = {
  /** Characters of a query. */
  length: 100_000,
  /** Parentheses within parentheses. */
  depth: 20,
  /** Comparisons and texts. */
  conditions: 500,
  /** Characters of a name. */
  name: 1000,
} as const

/** null: an empty query, which everything matches. @throws {AppError} `QueryParse` */
export function parseQuery(text: string): Expression | null {
  if (text.length > queryLimits.length) {
    throw queryError(text, queryLimits.length, [`at most ${queryLimits.length} characters`])
  }
  assertBounded(text)
  const read = readQuery(text)
  if ('at' in read) throw queryError(text, read.at, read.expected)
  if (read.query !== null) assertFew(text, read.query)
  return read.query
}

const inName = /[\w.:-]/

/** Limits the work of the parser: each level takes space on its stack, each condition and each long name takes time. */
function assertBounded(text: string): void {
  let depth = 0
  let connectives = 0
  let run = 0
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at] as string
    if (quoted && char === '\\') at++
    else if (char === '"') quoted = !quoted
    if (quoted) continue
    run = inName.test(char) ? run + 1 : 0
    if (run > queryLimits.name)
      throw queryError(text, at - run + 1, [`names of at most ${queryLimits.name} characters`])
    if (char === ')') depth--
    if (char === '(' && ++depth > queryLimits.depth) {
      throw queryError(text, at, [`parentheses at most ${queryLimits.depth} deep`])
    }
    if (text.startsWith('&&', at) || text.startsWith('||', at)) {
      if (++connectives === queryLimits.conditions) throw tooMany(text, at)
      at++
    }
  }
}

const tooMany = (text: string, at: number): AppError =>
  queryError(text, at, [`at most ${queryLimits.conditions} conditions`])

function assertFew(text: string, parsed: Expression): void {
  let count = 0
  const walk = (each: Expression): void => {
    if (each.kind === 'and' || each.kind === 'or') {
      each.of.forEach(walk)
      return
    }
    if (each.kind === 'not' || each.kind === 'group') {
      walk(each.of)
      return
    }
    if (++count > queryLimits.conditions) throw tooMany(text, each.at)
    if (each.kind === 'compare' && each.value.kind === 'search') walk(each.value.of)
  }
  walk(parsed)
}

const shownLetters = 20

/** @param position characters before the error */
export function queryError(text: string, position: number, expected: readonly string[]): AppError {
  const rest = text.slice(position, position + shownLetters).toWellFormed()
  const before = text.slice(0, position)
  const line = before.split('\n').length
  const column = position - before.lastIndexOf('\n')
  const found = rest === '' ? 'the end of the query' : rest
  return new AppError(
    'QueryParse',
    { position, line, column, expected, found },
    {
      message: `The query cannot be read at line ${line}, column ${column}: expected ${listed(expected)}, found ${found}`,
    },
  )
}

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
}
