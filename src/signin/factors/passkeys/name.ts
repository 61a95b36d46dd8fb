/** Passkeys of one user: devices that one has, and some more. */
export const mostPasskeys = 20

const longestName = 100

/** A name as it is kept; empty when nothing is left of it. */
export function shownName(typed: string): string {
  return [...typed.replaceAll(/\p{Cc}/gu, ' ').trim()].slice(0, longestName).join('')
}
