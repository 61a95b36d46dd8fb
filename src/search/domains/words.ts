/** SQL conditions on the words of a text. */
import type { Bind } from './model.ts'

/** More words than these are not looked for one by one. */
const mostPatterns = 8
/** Words are cut here (`record_words`). */
const longestWord = 600

/** The words of a request. */
export interface Sought {
  /** As they were sent. */
  readonly text: string
  /** The parameter with them. */
  readonly parameter: string
}

/** Whether the text has all the words. */
export function hasWords(value: string, { text, parameter }: Sought, bind: Bind): string {
  const words = `record_words(${parameter}::text)`
  const plain = plainWords(text)
  const different = plain && [...new Set(plain)]
  if (different === null || different.length > mostPatterns) return `record_has_words(${value}, ${words})`
  return quickly(
    value,
    different.map((word) => sequence(word)),
    `record_words(value) @> ${words}`,
    bind,
  )
}

/** Whether the text has the words in sequence. */
export function hasPhrase(value: string, { text, parameter }: Sought, bind: Bind): string {
  const slowly = (of: string) => `strpos(record_text(${of}), record_text(${parameter}::text)) > 0`
  const plain = plainWords(text)
  if (plain === null) return slowly(value)
  return quickly(value, [sequence(plain)], slowly('value'), bind)
}

/**
 * To fold a text and to divide it into words takes some ten microseconds. A text of ASCII needs neither: words are between letters
 * that are in no word, and case is all that varies. `slowly` is the condition on other texts, named `value`.
 */
function quickly(value: string, patterns: readonly string[], slowly: string, bind: Bind): string {
  const found = patterns.map((pattern) => `value collate "C" ~* ${bind(pattern)}::text`).join(' and ')
  return `(select case when octet_length(value) = length(value) then ${found} else ${slowly} end
    from (select ${value} as value offset 0) plain)`
}

const separator = '[^a-zA-Z0-9&%$]'

/** A regular expression: the words of a list one behind the other, or a single one, as whole words. */
function sequence(words: string | readonly string[]): string {
  const escaped = [words].flat().map((word) => word.replaceAll('$', '\\$'))
  return `(^|${separator})${escaped.join(`${separator}+`)}($|${separator})`
}

/** The words of a text in order; null: there is none, or other spellings have to be known. */
function plainWords(text: string): readonly string[] | null {
  if (!/^[\x00-\x7f]*$/.test(text)) return null
  const words = text.toLowerCase().match(/[a-z0-9&%$]+/g) ?? []
  return words.length === 0 || words.some(({ length }) => length >= longestWord) ? null : words
}
