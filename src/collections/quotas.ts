/** How many collections, and entries in their lists, may belong to one user. */
import { quotaExceeded } from '../platform/limits/callers.ts'
import type { Tx } from '../platform/postgres/db.ts'
import * as store from './store.ts'

export interface CollectionQuotas {
  readonly collections: number
  readonly entries: number
}

/** Seconds. Nothing becomes free by itself. */
const comeBackAfter = 3600

/**
 * Asked behind a change that gave them more.
 * @throws {AppError} `QuotaExceeded` 429
 */
export async function assertWithinQuotas(
  tx: Tx,
  { collections, entries }: CollectionQuotas,
  ownerIds: readonly number[],
): Promise<void> {
  if (ownerIds.length === 0) return
  for (const owned of await store.ownedBy(tx, [...new Set(ownerIds)])) {
    if (owned.collections > collections) throw quotaExceeded('svc.quotas.collections', collections, comeBackAfter)
    if (owned.entries > entries) throw quotaExceeded('svc.quotas.collectionEntries', entries, comeBackAfter)
  }
}
