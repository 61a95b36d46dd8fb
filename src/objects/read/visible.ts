import type { Model, Table } from '../../datamodel/model.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { CallerRights, SearchFilter } from '../../rights/service.ts'
import { headsWhere } from '../stored/load.ts'
import type { Head } from '../stored/rows.ts'

const smallestChunk = 1000
const largestChunk = 5000

/**
 * System object ids of one page of a type's objects in the order of their `_id`, of those only that `visible` lets
 * pass; the trash is left out. Root needs one statement. For others the database leaves out what cannot be readable,
 * the rest is checked in memory chunk by chunk, so `limit` and `offset` count readable objects.
 */
export async function visiblePage(
  q: Queryable,
  model: Model,
  caller: CallerRights,
  table: Table,
  { limit, offset }: { readonly limit: number; readonly offset: number },
  visible: (head: Head) => boolean,
): Promise<number[]> {
  if (caller.root) return wholePage(q, table, limit, offset)
  const prefilter = prefilterOf(caller.searchFilter(), table.id)
  const page: number[] = []
  let skip = offset
  let after = 0
  let chunk = Math.min(largestChunk, Math.max(smallestChunk, limit + offset))
  for (;;) {
    const candidates = await candidatesAfter(q, model, table, after, chunk, prefilter, caller)
    for (const candidate of candidates) {
      if (!visible(candidate)) continue
      if (skip > 0) skip -= 1
      else if (page.push(candidate.systemObjectId) === limit) return page
    }
    const last = candidates.at(-1)
    if (!last || candidates.length < chunk) return page
    after = last.id
    chunk = largestChunk
  }
}

async function wholePage(q: Queryable, table: Table, limit: number, offset: number): Promise<number[]> {
  const { rows } = await q.query<{ id: number }>(
    `select system_object_id as id from object where objecttype = $1 and deleted_at is null
     order by objecttype, object.id limit $2 offset $3`,
    [table.id, limit, offset],
    'object-page',
  )
  return rows.map((row) => row.id)
}

interface Prefilter {
  readonly anywhere: boolean
  readonly poolIds: readonly number[]
  readonly withoutPool: boolean
}

/** Where readable objects can lie at all; ownership and own grants of objects are asked besides. */
function prefilterOf(filter: SearchFilter, objecttypeId: number): Prefilter {
  if (filter.all) return { anywhere: true, poolIds: [], withoutPool: true }
  const grants = filter.grants.filter(
    (grant) => !grant.owner && (grant.objecttypeIds === null || grant.objecttypeIds.includes(objecttypeId)),
  )
  return {
    anywhere: grants.some((grant) => grant.poolIds === null),
    withoutPool: grants.some((grant) => grant.poolIds === 'none'),
    poolIds: grants.flatMap((grant) => (Array.isArray(grant.poolIds) ? grant.poolIds : [])),
  }
}

async function candidatesAfter(
  q: Queryable,
  model: Model,
  table: Table,
  after: number,
  limit: number,
  { anywhere, poolIds, withoutPool }: Prefilter,
  caller: CallerRights,
): Promise<Head[]> {
  return headsWhere(
    q,
    model,
    `o.objecttype = $1 and o.id > $2 and o.deleted_at is null
       and ($4 or o.pool_id = any($5::bigint[]) or ($6 and o.pool_id is null) or o.owner_user = $7
         or o.owner_group = any($8::bigint[]) or o.acl is not null)
     order by o.objecttype, o.id limit $3`,
    [table.id, after, limit, anywhere, poolIds, withoutPool, caller.userId, caller.groupIds],
    'object-candidates',
  )
}
