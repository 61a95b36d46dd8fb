/** Positions of words in an original text, for marking the matches of a search. */
import { escapeMarkup } from '../../platform/values/markup.ts'
import { fold, wordsOfFolded } from './analyze.ts'

/** A text, and for each of its folded characters the position in the original. */
export interface FoldedText {
  readonly text: string
  /** Beginning and end in the original, by UTF-16 unit of the folded text. */
  readonly starts: readonly number[]
  readonly ends: readonly number[]
}

/** Folds character by character, so that the origin of each is known; combining marks belong to the character before. */
export function foldedText(original: string): FoldedText {
  let text = ''
  const starts: number[] = []
  const ends: number[] = []
  let at = 0
  for (const char of original) {
    const folded = fold(char)
    for (let unit = 0; unit < folded.length; unit++) {
      starts.push(at)
      ends.push(at + char.length)
    }
    if (folded === '' && ends.length > 0) ends[ends.length - 1] = at + char.length
    text += folded
    at += char.length
  }
  return { text, starts, ends }
}

/** A range of the original: [start, end). */
export type Span = readonly [start: number, end: number]

/** The range of the original from which some folded characters come. */
export function spanOf({ starts, ends }: FoldedText, from: number, length: number): Span {
  return [starts[from] as number, ends[from + length - 1] as number]
}

/** The words of a text, each with its position in the folded text. */
export function wordsIn({ text }: FoldedText): readonly { readonly at: number; readonly word: string }[] {
  return wordsOfFolded(text)
}

/**
 * The text as HTML with these spans in a tag. The spans are in ascending order. A span that two words share is marked once: `½` has
 * two words.
 */
export function marked(text: string, spans: readonly Span[], tag: string): string {
  let at = 0
  let html = ''
  for (const [from, to] of spans) {
    if (to <= at) continue
    const start = Math.max(at, from)
    html += `${escapeMarkup(text.slice(at, start))}<${tag}>${escapeMarkup(text.slice(start, to))}</${tag}>`
    at = to
  }
  return html + escapeMarkup(text.slice(at))
}
