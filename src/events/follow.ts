import type { Queryable } from '../platform/db.ts'
import { pollHorizon } from './store.ts'

/** An entry of the log for those who act on it. */
export interface FollowedEvent {
  readonly id: number
  readonly type: string
  readonly basetype: string | null
  readonly systemObjectId: number | null
  readonly objectVersion: number | null
  readonly info: Record<string, unknown> | null
}

/**
 * Entries of the given types after `from`, ascending, none skipped. `upTo` is where to go on: everything up to it has
 * been looked at.
 */
export async function followEvents(
  db: Queryable,
  from: number,
  types: readonly string[],
  limit: number,
): Promise<{ events: FollowedEvent[]; upTo: number }> {
  const horizon = await pollHorizon(db)
  if (horizon <= from) return { events: [], upTo: from }
  const { rows } = await db.query<FollowedEvent>(
    `select id, type, basetype, system_object_id as "systemObjectId", object_version as "objectVersion", info
       from event where id > $1 and id <= $2 and type = any($3) order by id limit $4`,
    [from, horizon, types, limit],
    'event_follow',
  )
  return { events: rows, upTo: rows.length < limit ? horizon : (rows.at(-1)?.id ?? horizon) }
}
