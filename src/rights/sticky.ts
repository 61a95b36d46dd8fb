/** Sticky grants: which callers may clear them, and which grants a save by others keeps. */

import { type Caller, isCaller } from './compile.ts'
import { inForce } from './grants.ts'
import type { StoredGrant } from './model.ts'

/**
 * The list to store. Sticky grants that the caller may not clear stay unchanged in their old place, even if the sent list omits or
 * changes them.
 */
export function keepSticky(
  caller: Caller,
  previous: readonly StoredGrant[],
  sent: readonly StoredGrant[],
  at: number,
): StoredGrant[] {
  const kept = new Map(
    previous
      .filter((grant) => grant.sticky && !mayClear(caller, grant, previous, at))
      .map((grant) => [grant.id, grant]),
  )
  const next = sent.map((grant) => kept.get(grant.id) ?? grant)
  const present = new Set(next.map((grant) => grant.id))
  for (const [index, grant] of previous.entries()) {
    if (kept.has(grant.id) && !present.has(grant.id)) next.splice(Math.min(index, next.length), 0, grant)
  }
  return next
}

/**
 * Whether the caller may clear the grant: root may, and a caller whom another sticky grant gives the same rights, each as
 * `_grantable`.
 */
function mayClear(caller: Caller, grant: StoredGrant, all: readonly StoredGrant[], at: number): boolean {
  if (caller.root) return true
  return all.some(
    (other) =>
      other !== grant &&
      other.sticky === true &&
      inForce(other, at) &&
      other.who !== 'owner' &&
      other.who !== 'contact' &&
      isCaller(caller, other.who) &&
      Object.keys(grant.rights).every((name) => other.rights[name]?._grantable === true),
  )
}
