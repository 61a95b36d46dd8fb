import { causesOfObjects } from '../../events/service.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { savedPriority } from './batch.ts'
import { indexName } from './reindex.ts'

/** Events about saved objects whose current state searches now find, for clients that wait for that. One statement for all. */
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
