/**
 * Reads the text of a search bar: words, `'word'`, `` `exact value` ``, `"phrase"`, AND OR NOT, `+ - ! ,` and parentheses. No text
 * is an error: parts that make no sense are left out or read as well as possible, and a note reports this.
 */
import { patterns, words } from '../document/analyze.ts'
import { mostPatternParts } from '../request/patterns.ts'
import type { Element } from './elements.ts'
import type { Note } from './syntax.ts'
import { hasWildcards } from './texts.ts'
import { type Token, tokensOf } from './tokens.ts'

export interface Reading {
  readonly search: readonly Element[]
  readonly notes: readonly Note[]
}

export const wordLimits = {
  /** Characters that are read. */
  length: 10_000,
  /** Words, phrases and values. */
  terms: 400,
  /** Words with wildcards. */
  patterns: 50,
  /** Parentheses within parentheses. */
  depth: 18,
} as const

interface Operator {
  readonly is: 'and' | 'or'
  readonly at: number
}

/**
 * The content of one pair of parentheses, or the whole text: alternatives, each of which is a list of elements that must all match.
 */
interface Group {
  readonly alternatives: Element[][]
  /** An operator that waits for its second operand. */
  operator: Operator | null
  /** Whether the next term is negated, and the position of the negation. */
  not: { readonly on: boolean; readonly at: number } | null
  /** The position of the opening parenthesis. */
  readonly at: number
}

export function readWords(given: string): Reading {
  const notes: Note[] = []
  const text = given.slice(0, wordLimits.length)
  if (text.length < given.length) {
    notes.push({ position: text.length, note: `Only the first ${wordLimits.length} characters are searched for.` })
  }
  const reader = createReader(notes)
  for (const token of tokensOf(text, notes)) reader.take(token)
  return { search: reader.end(text.length), notes: notes.sort((a, b) => a.position - b.position) }
}

function createReader(notes: Note[]) {
  const open: Group[] = [emptyGroup(0)]
  const termOf = createTerms(notes)
  let skipped = 0
  const current = (): Group => open.at(-1) as Group
  const note = (position: number, text: string): number => notes.push({ position, note: text })

  function add(element: Element | null): void {
    const to = current()
    const { not } = to
    to.not = null
    if (element === null) return
    if (to.operator?.is === 'or') to.alternatives.push([])
    to.operator = null
    to.alternatives.at(-1)?.push(not?.on ? { ...element, bool: 'must_not' } : element)
  }

  function takeOperator({ operator: is, written, at }: Extract<Token, { kind: 'operator' }>): void {
    const to = current()
    if (is === 'not') {
      to.not = { on: !to.not?.on, at }
      return
    }
    noteUnused(to)
    const isFirst = to.alternatives[0]?.length === 0
    if (isFirst && written !== '+') note(at, 'Nothing stands before this operator, so it is left out.')
    to.operator = isFirst ? null : { is, at }
  }

  /** Notes operators without a following operand. */
  function noteUnused(group: Group): void {
    for (const each of [group.operator, group.not]) {
      if (each) note(each.at, 'Nothing follows this operator, so it is left out.')
    }
    group.operator = null
    group.not = null
  }

  function close(): void {
    const inner = open.pop() as Group
    noteUnused(inner)
    const search = listOf(inner)
    if (search.length === 0) note(inner.at, 'There is nothing in these parentheses, so they are left out.')
    add(search.length === 0 ? null : { type: 'complex', search })
  }

  return {
    take(token: Token): void {
      switch (token.kind) {
        case 'open':
          if (open.length <= wordLimits.depth) open.push(emptyGroup(token.at))
          else if (skipped++ === 0) note(token.at, 'Parentheses this deep are left out.')
          break
        case 'close':
          if (skipped > 0) skipped--
          else if (open.length > 1) close()
          else note(token.at, 'Nothing was opened here, so this is left out.')
          break
        case 'operator':
          takeOperator(token)
          break
        case 'term':
          add(termOf(token))
      }
    },
    end(at: number): readonly Element[] {
      if (open.length > 1) note(at, 'Open parentheses are closed at the end.')
      while (open.length > 1) close()
      noteUnused(current())
      return listOf(current())
    },
  }
}

const emptyGroup = (at: number): Group => ({ alternatives: [[]], operator: null, not: null, at })

/** A list of elements that means the same as a group. */
function listOf({ alternatives }: Group): readonly Element[] {
  const lists = alternatives.filter((list) => list.length > 0).map(together)
  const [first] = lists
  if (lists.length < 2) return first ?? []
  return lists.map((list) => {
    const [single] = list
    const alone = list.length === 1 && single && single.bool === undefined
    return alone ? { ...single, bool: 'should' } : { type: 'complex', search: list, bool: 'should' }
  })
}

/** Adjacent words become one text element: each of them may occur anywhere. */
function together(list: readonly Element[]): readonly Element[] {
  const result: Element[] = []
  for (const element of list) {
    const last = result.at(-1)
    if (last && isPlain(last) && isPlain(element))
      result.splice(-1, 1, { ...last, string: `${last.string} ${element.string}` })
    else result.push(element)
  }
  return result
}

const isPlain = (element: Element): boolean =>
  element.mode === 'fulltext' && element.phrase === undefined && element.bool === undefined

type Term = Extract<Token, { kind: 'term' }>

/** null: the term is left out, and a note reports this. */
function createTerms(notes: Note[]): (token: Term) => Element | null {
  let count = 0
  let withWildcards = 0
  return ({ quote, text, at }) => {
    const leaveOut = (note: string): null => {
      notes.push({ position: at, note })
      return null
    }
    if (++count > wordLimits.terms) {
      return count === wordLimits.terms + 1
        ? leaveOut(`What follows the first ${wordLimits.terms} terms is left out.`)
        : null
    }
    let wild = quote !== "'" && hasWildcards(text)
    if (wild && ++withWildcards > wordLimits.patterns) {
      wild = false
      if (withWildcards === wordLimits.patterns + 1)
        notes.push({ position: at, note: `Wildcards count in the first ${wordLimits.patterns} terms that have some.` })
    }
    if (!hasLetters(text, wild)) {
      return leaveOut(
        wild
          ? 'Wildcards alone find nothing in particular, so they are left out.'
          : 'There is no letter or digit in it, so it is left out.',
      )
    }
    const mode = wild ? 'wildcard' : 'fulltext'
    if (quote === '"') return { type: 'text', string: text, mode, phrase: true }
    if (quote === "'") return { type: 'text', string: text, mode: 'token' }
    if (quote === null) return { type: 'text', string: text, mode }
    if (text.split(/[*?]/, mostPatternParts + 2).length <= mostPatternParts)
      return { type: 'text', string: text, mode: 'exact' }
    notes.push({ position: at, note: 'It has too many wildcards for an exact value, so its words are looked for.' })
    return { type: 'text', string: text, mode }
  }
}

function hasLetters(text: string, wild: boolean): boolean {
  if (!wild) return words(text).length > 0
  return patterns(text, 'words').some(({ parts }) => parts.some((part) => 'literal' in part))
}
