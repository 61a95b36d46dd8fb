/** Objects for which the grants of a collection give more than a user may pass on. */
import type { Caller, Compiled, Contents } from '../compile.ts'
import { toEntry } from '../compile.ts'
import { all, any, isNothing, not } from '../expression.ts'
import type { ReadExpression, StoredGrant } from '../model.ts'
import { sharedRights, whereSaid } from './compile.ts'
import { passedOn } from './pass-on.ts'

/** The own and inherited grants of a collection, and the user who passes their rights on. */
export interface Given {
  readonly id: number
  readonly grants: readonly StoredGrant[]
  readonly holder: Caller
}

/** A condition on objects for which too much is given, and the collections to search. */
export interface Beyond {
  readonly when: ReadExpression
  readonly ids: readonly number[]
}

/** Equal conditions are combined; a collection can be in several. Grants that ended or were switched off are ignored. */
export function beyondOf(
  given: readonly Given[],
  at: number,
  contents: Contents,
  compiledOf: (holder: Caller) => Compiled,
): Beyond[] {
  const found = new Map<string, { readonly when: ReadExpression; readonly ids: number[] }>()
  for (const { id, grants, holder } of given) {
    const ways = grants
      .filter((grant) => grant.active !== false && (grant.to === undefined || Date.parse(grant.to) > at))
      .map((grant) => ({ ...toEntry(grant, { kind: 'collection', id }, contents), ownerOnly: false }))
      .flatMap((entry) => {
        const rights = Object.keys(entry.rights).filter((name) => sharedRights.has(name))
        const owner = compiledOf(holder)
        return rights.map((name) => all([whereSaid(entry, name), not(passedOn(owner, entry.rights, name))]))
      })
    const when = any(ways)
    if (isNothing(when)) continue
    const key = JSON.stringify(when)
    const known = found.get(key) ?? { when, ids: [] }
    known.ids.push(id)
    found.set(key, known)
  }
  return [...found.values()]
}
