/** The read right of a caller as conditions for the search: agrees with `may('read')` for every object. */
import { type Compiled, type EntryList, hasRight } from './compile.ts'
import { contactPrincipal } from './grants.ts'
import type { SearchFilter, SearchGrant, TagFilter } from './model.ts'

export function searchFilter(compiled: Compiled): SearchFilter {
  const { caller } = compiled
  if (caller.root) return { all: true }
  const owner = { userId: caller.userId, groupIds: caller.groupIds }
  const anywhere = { objecttypeIds: null, poolIds: null, tags: null }
  const grants: SearchGrant[] = [{ ...anywhere, owner, reachesPrivate: true }]
  const byCondition = new Map<string, { grant: SearchGrant; poolIds: number[] }>()
  for (const pool of compiled.pools.values()) {
    if (!pool.holdsObjects) continue
    for (const condition of readConditions(pool.list)) {
      const key = JSON.stringify(condition)
      const known = byCondition.get(key)
      if (known) known.poolIds.push(pool.id)
      else byCondition.set(key, { grant: condition, poolIds: [pool.id] })
    }
  }
  for (const { grant, poolIds } of byCondition.values()) grants.push({ ...grant, poolIds })
  for (const [id, list] of compiled.objecttypes) {
    for (const condition of readConditions(list)) {
      if (condition.objecttypeIds?.includes(id) === false) continue
      grants.push({ ...condition, objecttypeIds: [id], poolIds: 'none' })
    }
  }
  return { all: false, grants, principals: principals(compiled) }
}

/** What the read grants of a container ask of an object; where one asks nothing, the others add nothing. */
function readConditions(list: EntryList): SearchGrant[] {
  const conditions: SearchGrant[] = []
  if (hasRight(list.always, 'read')) conditions.push(condition(null, null, hasRight(list.alwaysSticky, 'read')))
  for (const entry of list.entries) {
    const read = entry.rights.read
    const covered = entry.sticky ? hasRight(list.alwaysSticky, 'read') : hasRight(list.always, 'read')
    // Ownership alone already gives the read right.
    if (!read || covered || entry.ownerOnly) continue
    conditions.push(condition(read.objecttype_ids ?? null, entry.tags, entry.sticky))
  }
  return [...new Map(conditions.map((each) => [JSON.stringify(each), each])).values()]
}

function condition(objecttypeIds: SearchGrant['objecttypeIds'], tags: TagFilter | null, sticky: boolean): SearchGrant {
  return { objecttypeIds, poolIds: null, tags, reachesPrivate: sticky }
}

function principals({ caller, pools }: Compiled): string[] {
  const contacts = [...pools.values()].filter((pool) => pool.callerIsContact).map((pool) => contactPrincipal(pool.id))
  return [`u${caller.userId}`, ...caller.groupIds.map((id) => `g${id}`), ...contacts]
}
