/** The right of a caller to read, and what comes with it, as conditions on objects. */
import { type Compiled, type Entry, givenBy } from './compile.ts'
import { all, any, covers, everything, inPools, withoutPool } from './expression.ts'
import { fileRights } from './file-grants.ts'
import { contactPrincipal, masksOf, typeFits } from './grants.ts'
import type { DeleteCondition, FileGrant, InContainers, MaskGrant, ReadExpression } from './model.ts'

/** The objects that the caller may read: agrees with `may('read')` for every object. */
export const readable = (compiled: Compiled): ReadExpression => permitted(compiled, 'read')

/** The objects that the caller may delete: agrees with `may('delete')`. */
export const deletable = (compiled: Compiled): DeleteCondition => ({
  right: 'delete',
  when: permitted(compiled, 'delete'),
})

/** Owners have both rights by themselves. */
function permitted(compiled: Compiled, right: 'read' | 'delete'): ReadExpression {
  const { caller, owned, classes, objecttypes } = compiled
  if (caller.root) return everything
  const byCondition = Map.groupBy(classes, (each) => JSON.stringify(givenBy(each, right, owned)))
  const inAPool = [...byCondition.values()].map((equal) => {
    const [first] = equal as [(typeof equal)[number]]
    return all([inPools(equal.flatMap(({ pools }) => pools)), givenBy(first, right, owned)])
  })
  const inNone = [...objecttypes].map(([id, list]) =>
    all([{ is: 'types', ids: [id] }, withoutPool, givenBy(list.class, right, owned)]),
  )
  return any([owned, { is: 'granted', who: principals(compiled), masks: 'any' }, ...inAPool, ...inNone])
}

/** Whom grants on objects name when they are for the caller. */
export function principals({ caller, pools }: Compiled): string[] {
  const contacts = [...pools.values()].filter((pool) => pool.callerIsContact).map((pool) => contactPrincipal(pool.id))
  return [`u${caller.userId}`, ...caller.groupIds.map((id) => `g${id}`), ...contacts]
}

/** The masks that go with reading objects of a type: agrees with `maskIds` for every object. Root needs none. */
export function maskGrants(compiled: Compiled, objecttypeId: number): MaskGrant[] {
  return inContainers(compiled, objecttypeId, (entries) => {
    // Owners may use any mask anyway.
    const found = entries
      .filter(({ rights, ownerOnly }) => rights.read && !ownerOnly && typeFits(rights.read, objecttypeId))
      .map(({ rights, when }) => ({ when, masks: masksOf(rights, 'read', objecttypeId) }))
    const distinct = distinctOf(found)
    // Where one grant gives all masks, those that hold only where it does add nothing.
    return distinct.filter(
      (each) => !distinct.some((other) => other !== each && other.masks === null && covers(other.when, each.when)),
    )
  })
}

/** The files of objects of a type that may be shown or downloaded: agrees with `itemsOn`. Root needs none. */
export function fileGrants(compiled: Compiled, objecttypeId: number): FileGrant[] {
  return inContainers(compiled, objecttypeId, (entries) =>
    distinctOf(
      entries.flatMap(({ rights, when, ownerOnly }) =>
        fileRights.flatMap((right): Omit<FileGrant, 'poolIds'>[] => {
          const item = rights[right]
          // Owners may see their files anyway.
          if (ownerOnly || !item || !typeFits(item, objecttypeId)) return []
          const { column_ids: columnIds = null, classes = null, versions = null } = item
          return [{ when, columnIds, classes, versions }]
        }),
      ),
    ),
  )
}

const distinctOf = <T>(list: readonly T[]): T[] => [
  ...new Map(list.map((each) => [JSON.stringify(each), each])).values(),
]

/** What `read` finds in the grants of containers, with where it holds; equal ones once. */
function inContainers<G extends InContainers>(
  { caller, classes, objecttypes, unions }: Compiled,
  objecttypeId: number,
  read: (entries: readonly Entry[]) => readonly Omit<G, 'poolIds'>[],
): G[] {
  if (caller.root) return []
  const found = new Map<string, { given: Omit<G, 'poolIds'>; pools: (readonly number[])[] }>()
  for (const { entries, pools } of classes) {
    for (const given of read(entries)) {
      const key = JSON.stringify(given)
      const known = found.get(key)
      if (known) known.pools.push(pools)
      else found.set(key, { given, pools: [pools] })
    }
  }
  const own = read(objecttypes.get(objecttypeId)?.entries ?? [])
  return [
    ...[...found.values()].map(({ given, pools }) => ({ ...given, poolIds: unions.of(pools) })),
    ...own.map((given) => ({ ...given, poolIds: 'none' as const })),
  ] as G[]
}
