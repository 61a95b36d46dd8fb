import { normalized } from '../../platform/values/text.ts'
/**
 * Text analysis: how texts are compared in a search. Documents and requests go through the same functions, so a word is found in
 * each of its spellings: `Bär`, `BÄR` and `bar` are one word.
 *
 * A *word* is a run of letters, digits and `& % § $ €` of a text, folded. A *token* is a whole value of a `string`
 * column, folded but never split.
 */

/** Longer words and tokens are cut here (UTF-16 units): PostgreSQL's lexemes are short, and so are words. */
export const longestWord = 200

const wordsOfAscii = /[a-z0-9&%$]+/g
const wordsOfAny = /[\p{L}\p{Nd}\p{M}&%§$€\u2f00-\u2fdf\u{10000}-\u{10ffff}]+/gu
const isAscii = /^[\x00-\x7f]*$/

/** Marks that only vary a letter. Vowel signs of other scripts are letters in their own right and are kept. */
const marks =
  /(?:[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f]|\u0670|[\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f])+/g

/** Letters that Unicode does not decompose, although readers treat them as variants. */
const special: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
  ŧ: 't',
  ı: 'i',
  ĸ: 'k',
  ŋ: 'n',
  ſ: 's',
  ς: 'σ',
}
const specials = new RegExp(`[${Object.keys(special).join('')}]`, 'g')

/** One form for all spellings: without compatibility forms, case and diacritics. */
export function fold(text: string): string {
  if (isAscii.test(text)) return text.toLowerCase()
  const folded = normalized(text, 'NFKD')
    .toLowerCase()
    .replace(marks, '')
    .replace(specials, (letter) => special[letter] ?? letter)
  return normalized(folded, 'NFC')
}

/** The words of a text in order, repetitions included. */
export function words(text: string): readonly string[] {
  const folded = fold(text)
  const found = folded.match(isAscii.test(folded) ? wordsOfAscii : wordsOfAny) ?? []
  for (let i = 0; i < found.length; i++) {
    const word = found[i] as string
    if (word.length > longestWord) found[i] = cut(word)
  }
  return found
}

/** The words of a folded text with their positions. */
export function wordsOfFolded(folded: string): { readonly at: number; readonly word: string }[] {
  return Array.from(folded.matchAll(wordsOfAny), ({ 0: word, index }) => ({ at: index, word }))
}

/** A whole value as one token, without surrounding white space. */
export function token(text: string): string {
  const folded = fold(text.trim())
  return folded.length > longestWord ? cut(folded) : folded
}

function cut(text: string): string {
  // Does not cut through a surrogate pair.
  return text
    .slice(0, longestWord)
    .toWellFormed()
    .replace(/\ufffd$/, '')
}

/** A word or token with wildcards: literal text between them, folded. */
export interface Pattern {
  readonly parts: readonly PatternPart[]
}

/** `*` any characters, `?` exactly one. */
export type PatternPart = { readonly wildcard: '*' | '?' } | { readonly literal: string }

/**
 * Reads `*` and `?` as wildcards; a backslash escapes the next character. Split into words like a text, or kept whole for a token.
 */
export function patterns(text: string, as: 'words' | 'token'): Pattern[] {
  const result: Pattern[] = []
  let parts: PatternPart[] = []
  let literal = ''
  const endLiteral = (): void => {
    if (literal !== '') parts.push({ literal })
    literal = ''
  }
  const endWord = (): void => {
    endLiteral()
    if (parts.length > 0) result.push({ parts })
    parts = []
  }
  for (const piece of pieces(as === 'token' ? text.trim() : text)) {
    if (typeof piece !== 'string') {
      endLiteral()
      const last = parts.at(-1)
      if (!(piece.wildcard === '*' && last && 'wildcard' in last && last.wildcard === '*')) parts.push(piece)
      continue
    }
    const folded = fold(piece)
    if (as === 'token') {
      literal += folded
      continue
    }
    let end = 0
    for (const match of folded.matchAll(wordsOfAny)) {
      if (match.index > end) endWord()
      literal += match[0]
      end = match.index + match[0].length
    }
    if (end < folded.length) endWord()
  }
  endWord()
  return result
}

function pieces(text: string): (string | { wildcard: '*' | '?' })[] {
  const result: (string | { wildcard: '*' | '?' })[] = []
  let literal = ''
  for (let i = 0; i < text.length; i++) {
    const char = text[i] as string
    if (char === '\\' && i + 1 < text.length) {
      i++
      literal += text[i]
    } else if (char === '*' || char === '?') {
      if (literal !== '') result.push(literal)
      literal = ''
      result.push({ wildcard: char })
    } else literal += char
  }
  if (literal !== '') result.push(literal)
  return result
}
