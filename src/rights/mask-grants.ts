/** The masks that go with the read right of a caller as conditions: agrees with `maskIds` for every object. */
import type { Compiled, EntryList } from './compile.ts'
import { masksOf, typeFits } from './grants.ts'
import type { MaskGrant } from './model.ts'

type Condition = Omit<MaskGrant, 'poolIds'>

/** What the grants of containers give; root needs none. */
export function maskGrants({ caller, pools, objecttypes }: Compiled, objecttypeId: number): MaskGrant[] {
  if (caller.root) return []
  // Pools that hand down the same grants share one list.
  const known = new Map<EntryList, Condition[]>()
  const byCondition = new Map<string, { condition: Condition; poolIds: number[] }>()
  for (const pool of pools.values()) {
    if (!pool.holdsObjects) continue
    const conditions = known.get(pool.list) ?? conditionsOf(pool.list, objecttypeId)
    known.set(pool.list, conditions)
    for (const condition of conditions) {
      const key = JSON.stringify(condition)
      const shared = byCondition.get(key)
      if (shared) shared.poolIds.push(pool.id)
      else byCondition.set(key, { condition, poolIds: [pool.id] })
    }
  }
  const grants: MaskGrant[] = [...byCondition.values()].map(({ condition, poolIds }) => ({ ...condition, poolIds }))
  const own = objecttypes.get(objecttypeId)
  if (own) for (const condition of conditionsOf(own, objecttypeId)) grants.push({ ...condition, poolIds: 'none' })
  return grants
}

function conditionsOf(list: EntryList, objecttypeId: number): Condition[] {
  const found = new Map<string, Condition>()
  for (const { rights, tags, ownerOnly, sticky } of list.entries) {
    // Owners may use any mask anyway.
    if (!rights.read || ownerOnly || !typeFits(rights.read, objecttypeId)) continue
    const condition = { tags, masks: masksOf(rights, 'read', objecttypeId), reachesPrivate: sticky }
    found.set(JSON.stringify(condition), condition)
  }
  const conditions = [...found.values()]
  // Where one grant asks nothing and limits nothing, the others add nothing, but for those that reach further.
  const whole = conditions.filter(({ tags, masks }) => !tags && masks === null)
  const widest = whole.find(({ reachesPrivate }) => reachesPrivate) ?? whole[0]
  if (!widest) return conditions
  return [widest, ...conditions.filter(({ reachesPrivate }) => reachesPrivate && !widest.reachesPrivate)]
}
