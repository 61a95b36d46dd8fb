/** Splits the text of a search bar into tokens. */
import type { Note } from './syntax.ts'

export type Token =
  | { readonly kind: 'open'; readonly at: number }
  | { readonly kind: 'close'; readonly at: number }
  | {
      readonly kind: 'operator'
      readonly operator: 'and' | 'or' | 'not'
      readonly written: string
      readonly at: number
    }
  /** `quote`: the quotation mark around the term; null: a word. */
  | { readonly kind: 'term'; readonly quote: '"' | "'" | '`' | null; readonly text: string; readonly at: number }

const named = { AND: 'and', OR: 'or', NOT: 'not' } as const
const signs = { '+': 'and', ',': 'or', '-': 'not', '!': 'not' } as const

export function* tokensOf(text: string, notes: Note[]): Generator<Token> {
  for (let at = 0; at < text.length; ) {
    const char = text[at] as string
    if (/\s/.test(char)) at++
    else if (char === '(' || char === ')') yield { kind: char === '(' ? 'open' : 'close', at: at++ }
    else if (isSign(char)) yield { kind: 'operator', operator: signs[char], written: char, at: at++ }
    else if (char === '"' || char === "'" || char === '`') {
      const end = text.indexOf(char, at + 1)
      if (end === -1) notes.push({ position: at, note: `Nothing closes this ${char}, so it reaches to the end.` })
      yield { kind: 'term', quote: char, text: text.slice(at + 1, end === -1 ? text.length : end), at }
      at = end === -1 ? text.length : end + 1
    } else {
      const end = endOfWord(text, at)
      yield wordToken(text.slice(at, end), at)
      at = end
    }
  }
}

const isSign = (char: string): char is keyof typeof signs => Object.hasOwn(signs, char)

/** Signs and quotes within a word belong to it: `O'Brien`, `rock-and-roll`. */
function endOfWord(text: string, start: number): number {
  let at = start
  while (at < text.length && !/[\s(),]/.test(text[at] as string)) at++
  return at
}

function wordToken(word: string, at: number): Token {
  if (Object.hasOwn(named, word))
    return { kind: 'operator', operator: named[word as keyof typeof named], written: word, at }
  return { kind: 'term', quote: null, text: word, at }
}
