/**
 * The rights that a user may pass on by the grants of a collection: rights on own objects, and rights that a grant of a pool or an
 * object type gives as `_grantable`, with at least the same parameters. Rights by grants on objects and on other collections cannot
 * be passed on.
 */
import { ownerRights } from '../catalogue.ts'
import type { Compiled, Entry } from '../compile.ts'
import { coversFiles } from '../dominance.ts'
import { all, any, everything, inPools, not, widest, withoutPool } from '../expression.ts'
import { masksOf } from '../grants.ts'
import type { ReadExpression, RightItem } from '../model.ts'

type Items = Readonly<Record<string, RightItem>>

const known = new WeakMap<Compiled, Map<string, ReadExpression>>()

/** The objects on which the owner may pass on a right of a grant, with all parameters of the grant. */
export function passedOn(owner: Compiled, rights: Items, right: string): ReadExpression {
  if (owner.caller.root) return everything
  const ofOwner = known.get(owner) ?? new Map<string, ReadExpression>()
  known.set(owner, ofOwner)
  const key = JSON.stringify([right, rights[right], rights.mask?.mask_ids])
  const found = ofOwner.get(key) ?? where(owner, rights, right)
  ofOwner.set(key, found)
  return found
}

function where(owner: Compiled, rights: Items, right: string): ReadExpression {
  const ways = (entries: readonly Entry[]): ReadExpression =>
    widest(entries.flatMap((entry) => wayOf(entry, owner, rights, right)))
  const byCondition = Map.groupBy(owner.classes, ({ entries }) => JSON.stringify(ways(entries)))
  const inAPool = [...byCondition.values()].map((equal) => {
    const [first] = equal as [(typeof equal)[number]]
    return all([inPools(equal.flatMap(({ pools }) => pools)), ways(first.entries)])
  })
  const inNone = [...owner.objecttypes].map(([id, { entries }]) =>
    all<ReadExpression>([{ is: 'types', ids: [id] }, withoutPool, ways(entries)]),
  )
  return any([...(ownerRights.has(right) ? [owner.owned] : []), ...inAPool, ...inNone])
}

/** The objects on which a grant allows its holder to pass the right on. */
function wayOf(held: Entry, { owned }: Compiled, rights: Items, right: string): ReadExpression[] {
  const [item, wanted] = [held.rights[right], rights[right]]
  if (!item?._grantable || !wanted || !coversFiles(item, wanted)) return []
  const types = item.objecttype_ids
  const others = typesWithOtherMasks(held.rights, rights, right)
  return [
    all<ReadExpression>([
      ...(types ? [{ is: 'types', ids: types } as const] : []),
      ...(others.length > 0 ? [not<ReadExpression>({ is: 'types', ids: others })] : []),
      held.when,
      ...(held.ownerOnly ? [owned] : []),
    ]),
  ]
}

/** Object types for which the grant gives masks that its giver does not hold. */
function typesWithOtherMasks(held: Items, rights: Items, right: string): number[] {
  const limited = [held[right], held.mask].flatMap((item) => Object.keys(item?.mask_ids ?? {}))
  return [...new Set(limited)].map(Number).filter((type) => {
    const [own, given] = [masksOf(held, right, type), masksOf(rights, right, type)]
    return own !== null && !given?.every((mask) => own.includes(mask))
  })
}
