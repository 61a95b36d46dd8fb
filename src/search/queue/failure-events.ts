import { causesOfObjects } from '../../events/service.ts'
import type { Cause } from '../../platform/cause.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { indexName } from './reindex.ts'

/** Events about documents that could not be built; `cause`: the rules that caused the current state of the objects. */
export async function failureEvents(
  from: Queryable,
  type: 'OBJECT_INDEX_ERROR' | 'OBJECT_INDEX_REQUEUE',
  failed: readonly { id: number; error: string }[],
) {
  const causes = await causesOfObjects(
    from,
    failed.map(({ id }) => id),
  )
  return failed.map(({ id, error }) => ({ type, ...ofDocument(id, error, causes.get(id)) }))
}

function ofDocument(id: number, error: string, cause?: Cause) {
  return {
    actor: null,
    ...(cause ? { cause } : {}),
    systemObjectId: id,
    info: { IndexName: indexName, DocID: `${id}`, Error: error },
  }
}
