/** The most collections, and entries in their lists, that one user may own. */
import { quotaExceeded } from '../platform/limits/callers.ts'
import type { Tx } from '../platform/postgres/db.ts'
import * as store from './store.ts'

export interface CollectionQuotas {
  readonly collections: number
  readonly entries: number
}

/** Seconds. No quota becomes free by waiting. */
const comeBackAfter = 3600

/**
 * Checked after a change that added some.
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
