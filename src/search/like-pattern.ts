/** Converts a pattern with `*` and `?`, escaped by a backslash, to a pattern of `like`. */
export function likeOf(pattern: string): string {
  return pattern.replace(/\\[\s\S]|[\s\S]/g, (piece) => {
    if (piece === '*') return '%'
    if (piece === '?') return '_'
    const char = piece.length > 1 ? piece.slice(1) : piece
    return /[\\%_]/.test(char) ? `\\${char}` : char
  })
}
