/** Passkeys of one user: devices that one has, and some more. */
export const mostPasskeys = 20

const longestName = 100

/** A name in its stored form; empty when no characters are left. */
export function shownName(typed: string): string {
  return [...typed.replaceAll(/\p{Cc}/gu, ' ').trim()].slice(0, longestName).join('')
}
