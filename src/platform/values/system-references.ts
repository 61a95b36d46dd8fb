import { composed } from './text.ts'

/**
 * References of the users and groups that the service creates itself: users have `system:root`, groups `:all`. Clients of this
 * interface write either kind with and without the word `system` before the colon (decisions.md, 32), so `:root` and `system::all`
 * name the same two. Other references are left as they are.
 */
export function storedReference(kind: 'user' | 'group', given: string): string {
  const reference = composed(given)
  if (kind === 'group') return reference.startsWith('system::') ? reference.slice('system:'.length) : reference
  return /^:[^:]/.test(reference) ? `system${reference}` : reference
}
