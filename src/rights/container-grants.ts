/** Grants of pools and object types as conditions for the search, those that are equal once. */
import type { Compiled, EntryList } from './compile.ts'

/** Where a condition holds: in these pools, or in none. */
export type InContainers<C> = C & { readonly poolIds: readonly number[] | 'none' }

/** What the grants of containers give on objects of a type; root needs none. `conditionsOf` reads those of one container. */
export function containerGrants<C extends object>(
  { caller, pools, objecttypes }: Compiled,
  objecttypeId: number,
  conditionsOf: (list: EntryList, objecttypeId: number) => readonly C[],
): InContainers<C>[] {
  if (caller.root) return []
  // Pools that hand down the same grants share one list.
  const known = new Map<EntryList, readonly C[]>()
  const byCondition = new Map<string, { condition: C; poolIds: number[] }>()
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
  const own = objecttypes.get(objecttypeId)
  const without = own ? conditionsOf(own, objecttypeId) : []
  return [
    ...[...byCondition.values()].map(({ condition, poolIds }) => ({ ...condition, poolIds })),
    ...without.map((condition) => ({ ...condition, poolIds: 'none' as const })),
  ]
}
