import type { Cause } from '../platform/cause.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import { pollHorizon } from './store.ts'

/** An entry of the log for rules that react to it. */
export interface FollowedEvent {
  readonly id: number
  readonly type: string
  readonly basetype: string | null
  readonly systemObjectId: number | null
  readonly objectVersion: number | null
  readonly info: Record<string, unknown> | null
  /** The rules that have caused it; null: none. */
  readonly cause: Cause | null
}

/**
 * Entries of the given types after `from`, ascending, none skipped. `upTo` is the position to continue from: everything up to it
 * has been read. Entries that start nothing are left out.
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
    `select id, type, basetype, system_object_id as "systemObjectId", object_version as "objectVersion", info, cause
       from event where id > $1 and id <= $2 and type = any($3) and not inert order by id limit $4`,
    [from, horizon, types, limit],
    'event_follow',
  )
  return { events: rows, upTo: rows.length < limit ? horizon : (rows.at(-1)?.id ?? horizon) }
}

/**
 * The rules that have caused the current state of the objects, for later automatic work on them: the cause of the last logged save.
 * Objects that a user has saved directly are left out.
 */
export async function causesOfObjects(
  db: Queryable,
  systemObjectIds: readonly number[],
): Promise<ReadonlyMap<number, Cause>> {
  const { rows } = await db.query<{ id: number; cause: Cause | null }>(
    `select distinct on (system_object_id) system_object_id as id, cause from event
      where system_object_id = any($1::bigint[]) and type in ('OBJECT_INSERT', 'OBJECT_UPDATE', 'OBJECT_DELETE')
      order by system_object_id, event.id desc`,
    [systemObjectIds],
    'event_causes',
  )
  return new Map(rows.flatMap(({ id, cause }) => (cause ? [[id, cause] as const] : [])))
}
