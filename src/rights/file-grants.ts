/** The rights to files that grants on containers give, as conditions for the search: agrees with `itemsOn`. */
import type { Compiled, Entry, EntryList } from './compile.ts'
import { containerGrants } from './container-grants.ts'
import { boundaries, inForce, poolFits, searchPrincipal, tagsFit, typeFits } from './grants.ts'
import type { FileGrant, Guarded, RightItem } from './model.ts'

type Condition = Omit<FileGrant, 'poolIds'>

const fileRights = ['asset_show', 'asset_download'] as const

/** What the grants of containers give; root needs none. */
export function fileGrants(compiled: Compiled, objecttypeId: number): FileGrant[] {
  return containerGrants(compiled, objecttypeId, conditionsOf)
}

function conditionsOf({ entries }: EntryList, objecttypeId: number): Condition[] {
  const found = new Map<string, Condition>()
  for (const entry of entries) {
    for (const condition of conditionsOfEntry(entry, objecttypeId)) found.set(JSON.stringify(condition), condition)
  }
  return [...found.values()]
}

function conditionsOfEntry({ rights, tags, ownerOnly, sticky }: Entry, objecttypeId: number): Condition[] {
  // Owners may see their files anyway.
  if (ownerOnly) return []
  return fileRights.flatMap((right) => {
    const item = rights[right]
    if (!item || !typeFits(item, objecttypeId)) return []
    const { column_ids: columnIds = null, classes = null, versions = null } = item
    return [{ tags, columnIds, classes, versions, reachesPrivate: sticky }]
  })
}

/** Who a grant on an object itself lets show or download files of it, and which. */
export interface FilePrincipal {
  readonly who: string
  readonly item: RightItem
}

/** The same for the index, with the moment up to which it holds (see `readPrincipals`). */
export function filePrincipals(
  object: Guarded,
  at: number,
): { principals: FilePrincipal[]; validUntil: number | null } {
  const grants = object.acl ?? []
  const principals = grants.flatMap((grant): FilePrincipal[] => {
    if (!inForce(grant, at) || !tagsFit(grant.tagfilter, object.tags)) return []
    const who = searchPrincipal(grant, object)
    if (who === null) return []
    return fileRights.flatMap((right) => {
      const item = grant.rights[right]
      return item && typeFits(item, object.objecttypeId) && poolFits(item, object.poolId) ? [{ who, item }] : []
    })
  })
  return { principals, validUntil: boundaries(grants).find((moment) => moment > at) ?? null }
}
