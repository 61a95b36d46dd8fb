/** Texts with wildcards, which a backslash takes the meaning from. */

export function escaped(text: string): string {
  return text.replace(/[\\*?]/g, '\\$&')
}

export function hasWildcards(text: string): boolean {
  return withoutEscapes(text).some((each) => each === '*' || each === '?')
}

/** The text that stands for nothing but itself; null: it has wildcards. */
export function literalOf(text: string): string | null {
  return hasWildcards(text)
    ? null
    : withoutEscapes(text)
        .map((each) => each.at(-1))
        .join('')
}

/** Characters, those behind a backslash together with it. A backslash at the end stands for itself. */
function withoutEscapes(text: string): readonly string[] {
  return text.match(/\\[\s\S]|[\s\S]/g) ?? []
}
