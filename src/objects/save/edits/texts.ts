import type { ReplaceText } from './model.ts'

type Replacing = Pick<ReplaceText, 'search' | 'text' | 'wholeWords' | 'matchCase'>

/**
 * The positions of the searched text, from the left, without overlaps; null: there are more than `most` possible positions. The
 * searched text is not used as a pattern.
 */
export function placesOf(text: string, { search, wholeWords, matchCase }: Replacing, most: number): number[] | null {
  const [within, sought] = matchCase ? [text, search] : [folded(text), folded(search)]
  const places: number[] = []
  let from = 0
  for (let looked = 0; ; looked++) {
    const at = within.indexOf(sought, from)
    if (at === -1) return places
    if (looked === most) return null
    const whole = !wholeWords || (isEdge(text, at) && isEdge(text, at + sought.length))
    if (whole) places.push(at)
    from = at + (whole ? sought.length : 1)
  }
}

/** The text with the searched text replaced at these positions. */
export function replacedAt(text: string, places: readonly number[], { search, text: by }: Replacing): string {
  const parts: string[] = []
  let from = 0
  for (const at of places) {
    parts.push(text.slice(from, at), by)
    from = at + search.length
  }
  return [...parts, text.slice(from)].join('')
}

/**
 * Lower case, with the same length as the text, so that positions agree: one letter becomes two in lower case, and the small sigma
 * has two forms.
 */
function folded(text: string): string {
  return text.replaceAll('\u0130', 'i').toLowerCase().replaceAll('\u03c2', '\u03c3')
}

const wordCharacter = /[\p{L}\p{N}\p{M}_]/u

/** Whether the position is a word boundary. */
function isEdge(text: string, at: number): boolean {
  if (at <= 0 || at >= text.length) return true
  return !(wordCharacter.test(before(text, at)) && wordCharacter.test(String.fromCodePoint(text.codePointAt(at) ?? 0)))
}

/** The character before the position. */
function before(text: string, at: number): string {
  const unit = text.charCodeAt(at - 1)
  return unit >= 0xdc00 && unit <= 0xdfff ? text.slice(at - 2, at) : text.slice(at - 1, at)
}
