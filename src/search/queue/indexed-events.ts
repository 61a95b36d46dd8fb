import { causesOfObjects } from '../../events/service.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { savedPriority } from './batch.ts'
import { indexName } from './reindex.ts'

/** Saved objects that searches find as they are by now: for clients that wait for that. One statement for all of them. */
export async function indexedEvents(from: Queryable, systemObjectIds: readonly number[]) {
  const causes = await causesOfObjects(from, systemObjectIds)
  return systemObjectIds.map((systemObjectId) => {
    const cause = causes.get(systemObjectId)
    return {
      type: 'OBJECT_INDEX' as const,
      actor: null,
      ...(cause ? { cause } : {}),
      systemObjectId,
      pollable: true as const,
      info: { Priority: savedPriority, IndexName: indexName },
    }
  })
}
