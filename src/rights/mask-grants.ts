/** The masks that go with the read right of a caller as conditions: agrees with `maskIds` for every object. */
import type { Compiled, EntryList } from './compile.ts'
import { containerGrants } from './container-grants.ts'
import { masksOf, typeFits } from './grants.ts'
import type { MaskGrant } from './model.ts'

type Condition = Omit<MaskGrant, 'poolIds'>

/** What the grants of containers give; root needs none. */
export function maskGrants(compiled: Compiled, objecttypeId: number): MaskGrant[] {
  return containerGrants(compiled, objecttypeId, conditionsOf)
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
