/**
 * Rules of synonyms, one per line: `a, b, c` are equal, `a, b => c` means that a search for `a` or `b` also finds `c`. Empty lines
 * and lines that begin with `#` are ignored.
 */
import { AppError } from '../platform/errors.ts'
import { assertStorable } from '../platform/values/text.ts'
import { type Field, wrong } from './fields/field.ts'
import { takenFile } from './taken-files.ts'

/** A search for one of `from` also finds all of `to`. */
export interface SynonymRule {
  readonly from: readonly string[]
  readonly to: readonly string[]
}

export const synonymLimits = {
  /** Characters of all rules of a language. */
  length: 100_000,
  /** Rules of a language. */
  rules: 2000,
  /** Terms of a rule. */
  terms: 50,
  /** Words of a term. */
  words: 10,
} as const

type Read = { readonly rule: SynonymRule } | { readonly wrong: string }

/** The rules of a text that was checked when it was stored; lines that would be refused now are left out. */
export function readSynonyms(text: string): readonly SynonymRule[] {
  return linesOf(text).flatMap(({ line }) => {
    const read = readLine(line)
    return 'rule' in read ? [read.rule] : []
  })
}

export function synonyms(): Field<readonly SynonymRule[]> {
  return {
    type: 'text',
    default: '',
    more: {},
    check(wire, path) {
      if (typeof wire !== 'string') throw wrong(path, 'text')
      assertStorable(wire, path)
      if (wire.length > synonymLimits.length) throw wrong(path, `at most ${synonymLimits.length} characters long`)
      const lines = linesOf(wire)
      if (lines.length > synonymLimits.rules) throw wrong(path, `a text of at most ${synonymLimits.rules} rules`)
      for (const { line, number } of lines) {
        const read = readLine(line)
        if ('wrong' in read) throw wrong(path, `a list of synonyms: line ${number} ${read.wrong}`)
      }
      return wire
    },
    read: (wire) => readSynonyms(wire as string),
    show: (wire) => wire,
  }
}

/** The same rules in a file: its text is stored as if it had been typed. */
export function synonymsFile(): Field<readonly SynonymRule[]> {
  const typed = synonyms()
  return takenFile({
    mostBytes: 4 * synonymLimits.length,
    take({ bytes }) {
      try {
        const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
        return { kept: typed.check(text, '', undefined) as string }
      } catch (error) {
        const expected = error instanceof AppError ? error.parameters.expected : undefined
        return { expected: typeof expected === 'string' ? `a file with ${expected}` : 'a text file in UTF-8' }
      }
    },
    read: (kept) => (kept === null ? [] : readSynonyms(kept)),
  })
}

function linesOf(text: string): { readonly line: string; readonly number: number }[] {
  return text
    .split(/\r\n|\r|\n/)
    .map((line, index) => ({ line: line.trim(), number: index + 1 }))
    .filter(({ line }) => line !== '' && !line.startsWith('#'))
}

function readLine(line: string): Read {
  const sides = line.split('=>')
  if (sides.length > 2) return { wrong: 'has more than one =>' }
  const [from = [], to = from] = sides.map((side) => side.split(',').map((term) => term.trim()))
  if (sides.length === 1 && from.length < 2) return { wrong: 'has a single term' }
  const terms = [...from, ...(sides.length === 1 ? [] : to)]
  if (terms.length > synonymLimits.terms) return { wrong: `has more than ${synonymLimits.terms} terms` }
  for (const term of terms) {
    if (!/[\p{L}\p{N}]/u.test(term))
      return { wrong: term === '' ? 'has an empty term' : `has a term without letters: ${term.slice(0, 50)}` }
    if (term.split(/[^\p{L}\p{N}\p{M}]+/u).length > synonymLimits.words)
      return { wrong: `has a term of more than ${synonymLimits.words} words` }
  }
  return { rule: { from, to } }
}
