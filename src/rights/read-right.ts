/** The right of a caller to read, with its masks and files, as conditions on objects. */
import { type Caller, type Compiled, type Entry, type GrantClass, givenBy } from './compile.ts'
import {
  all,
  any,
  covers,
  everything,
  forType,
  inPools,
  isEverything,
  nothing,
  ofOpen,
  withoutPool,
} from './expression.ts'
import { fileRights } from './file-grants.ts'
import { contactPrincipal, masksOf, typeFits } from './grants.ts'
import type {
  DeleteCondition,
  FileGrant,
  InContainers,
  MaskGrant,
  ReadExpression,
  ReadType,
  RightItem,
} from './model.ts'
import { givenByEntry, givenByShares, type Shares } from './shares/compile.ts'

/** The rights of the caller beside the grants of containers and objects. */
export interface ThroughCollections {
  readonly shares: Shares
  /** The rights of the owner of a collection by grants of containers. */
  readonly ownerOf: (owner: Caller) => Compiled
}

/** The objects that the caller may read: agrees with `may('read')` for every object. */
export const readable = (compiled: Compiled, through: ThroughCollections): ReadExpression =>
  permitted(compiled, through, 'read')

/**
 * Whether container grants alone give the right to read every object of a type, in each pool that there is. Owners, grants on objects
 * and shared collections concern some objects only.
 */
export function readsAll({ caller, classes, objecttypes, owned }: Compiled, type: ReadType): boolean {
  if (caller.root) return true
  const containers = type.poolLink ? classes : [objecttypes.get(type.id)?.class]
  const givesAll = (container: GrantClass | undefined): boolean => {
    const condition = container ? forType(givenBy(container, 'read', owned), type.id) : nothing
    return isEverything(type.aclTable ? condition : ofOpen(condition))
  }
  return containers.length > 0 && containers.every(givesAll)
}

/** The objects that the caller may delete: agrees with `may('delete')`. */
export const deletable = (compiled: Compiled, through: ThroughCollections): DeleteCondition => ({
  right: 'delete',
  when: permitted(compiled, through, 'delete'),
})

/** Owners have both rights without grants. */
function permitted(
  compiled: Compiled,
  { shares, ownerOf }: ThroughCollections,
  right: 'read' | 'delete',
): ReadExpression {
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
  const shared = givenByShares(shares, right, ownerOf)
  const own: ReadExpression = { is: 'granted', who: principals(compiled), masks: 'any' }
  return any([owned, own, ...inAPool, ...inNone, ...(shared ? [shared] : [])])
}

/** The principals of the caller in grants on objects. */
export function principals({ caller, pools }: Compiled): string[] {
  const contacts = [...pools.values()].filter((pool) => pool.callerIsContact).map((pool) => contactPrincipal(pool.id))
  return [`u${caller.userId}`, ...caller.groupIds.map((id) => `g${id}`), ...contacts]
}

/** The masks for reading objects of a type: agrees with `maskIds` for every object. Root needs none. */
export function maskGrants(compiled: Compiled, through: ThroughCollections, objecttypeId: number): MaskGrant[] {
  const contained = inContainers<MaskGrant>(compiled, objecttypeId, (entries) => {
    // Owners may use any mask anyway.
    const found = entries
      .filter(({ rights, ownerOnly }) => rights.read && !ownerOnly && typeFits(rights.read, objecttypeId))
      .map(({ rights, when }) => ({ when, masks: masksOf(rights, 'read', objecttypeId) }))
    const distinct = distinctOf(found)
    // If one grant gives all masks, grants that hold only under a narrower condition add nothing.
    return distinct.filter(
      (each) => !distinct.some((other) => other !== each && other.masks === null && covers(other.when, each.when)),
    )
  })
  const shared = inShares(through, objecttypeId, ['read'], ({ rights }) => ({
    masks: masksOf(rights, 'read', objecttypeId),
  }))
  return [...contained, ...shared]
}

/** The items that grants of collections give for some rights, with their conditions. Equal ones are combined. */
function inShares<T extends object>(
  { shares: { shares, member }, ownerOf }: ThroughCollections,
  objecttypeId: number,
  rights: readonly string[],
  read: (entry: Entry, item: RightItem) => T,
): (InContainers & T)[] {
  const found = new Map<string, { readonly given: T; readonly ways: ReadExpression[] }>()
  for (const share of shares) {
    const owner = ownerOf(share.owner)
    for (const entry of share.entries) {
      for (const right of rights) {
        const item = entry.rights[right]
        const when = givenByEntry(entry, right, owner)
        if (!item || !when || !typeFits(item, objecttypeId)) continue
        const given = read(entry, item)
        const key = JSON.stringify(given)
        const known = found.get(key) ?? { given, ways: [] }
        known.ways.push(all([share.member, when]))
        found.set(key, known)
      }
    }
  }
  return [...found.values()].map(({ given, ways }) => ({ ...given, poolIds: 'any', when: all([member, any(ways)]) }))
}

/** The files of objects of a type that may be shown or downloaded: agrees with `itemsOn`. Root needs none. */
export function fileGrants(compiled: Compiled, through: ThroughCollections, objecttypeId: number): FileGrant[] {
  const contained = inContainers<FileGrant>(compiled, objecttypeId, (entries) =>
    distinctOf(
      entries.flatMap(({ rights, when, ownerOnly }) =>
        fileRights.flatMap((right): Omit<FileGrant, 'poolIds'>[] => {
          const item = rights[right]
          // Owners may see their files anyway.
          if (ownerOnly || !item || !typeFits(item, objecttypeId)) return []
          return [{ when, ...filesOf(item) }]
        }),
      ),
    ),
  )
  return [...contained, ...inShares(through, objecttypeId, fileRights, (_, item) => filesOf(item))]
}

function filesOf(item: RightItem): Omit<FileGrant, 'poolIds' | 'when'> {
  const { column_ids: columnIds = null, classes = null, versions = null } = item
  return { columnIds, classes, versions }
}

const distinctOf = <T>(list: readonly T[]): T[] => [
  ...new Map(list.map((each) => [JSON.stringify(each), each])).values(),
]

/** The results of `read` for the grants of containers, with the pools where they apply. Equal ones are combined. */
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
