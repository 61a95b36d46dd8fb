/** The principals who may see or download files of an object by grants on the object itself. */
import { boundaries, grantsInForce, poolFits, typeFits } from './grants.ts'
import type { Guarded, RightItem } from './model.ts'

export const fileRights = ['asset_show', 'asset_download'] as const

/** A principal who may see or download files of an object by a grant on it, and the limits of the right. */
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
