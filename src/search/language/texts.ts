/** Texts with wildcards, which a backslash escapes. */

export function escaped(text: string): string {
  return text.replace(/[\\*?]/g, '\\$&')
}

export function hasWildcards(text: string): boolean {
  return withoutEscapes(text).some((each) => each === '*' || each === '?')
}

/** The literal text, without escapes; null: it has wildcards. */
export function literalOf(text: string): string | null {
  return hasWildcards(text)
    ? null
    : withoutEscapes(text)
        .map((each) => each.at(-1))
        .join('')
}

/** Characters, each escaped one together with its backslash. A backslash at the end is a literal one. */
function withoutEscapes(text: string): readonly string[] {
  return text.match(/\\[\s\S]|[\s\S]/g) ?? []
}
