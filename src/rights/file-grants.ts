/** Whom grants on an object itself let show or download files of it. */
import { boundaries, grantsInForce, poolFits, typeFits } from './grants.ts'
import type { Guarded, RightItem } from './model.ts'

export const fileRights = ['asset_show', 'asset_download'] as const

/** Who a grant on an object itself lets show or download files of it, and which. */
export interface FilePrincipal {
  readonly who: string
  readonly item: RightItem
}

/** For the index, with the moment up to which it holds (see `readPrincipals`). */
export function filePrincipals(
  object: Guarded,
  at: number,
): { principals: FilePrincipal[]; validUntil: number | null } {
  const principals = [...grantsInForce(object, at)].flatMap(({ who, grant }): FilePrincipal[] => {
    return fileRights.flatMap((right) => {
      const item = grant.rights[right]
      return item && typeFits(item, object.objecttypeId) && poolFits(item, object.poolId) ? [{ who, item }] : []
    })
  })
  return { principals, validUntil: boundaries(object.acl ?? []).find((moment) => moment > at) ?? null }
}
