/** Maximum number of passkeys of one user: more than the devices of a person. */
export const mostPasskeys = 20

const longestName = 100

/** A name in its stored form; empty when no characters are left. */
export function shownName(typed: string): string {
  return [...typed.replaceAll(/\p{Cc}/gu, ' ').trim()].slice(0, longestName).join('')
}
