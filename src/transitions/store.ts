import type { Queryable } from '../platform/postgres/db.ts'
import type { Transition, TransitionSettings } from './model.ts'

/** The instance's own transitions, in the order of their evaluation. */
export async function loadTransitions(db: Queryable): Promise<Transition[]> {
  const { rows } = await db.query<{
    id: number
    version: number
    settings: TransitionSettings & Pick<Transition, 'setBy'>
  }>('select id, version, settings from transition order by position, id')
  return rows.map(({ id, version, settings }) => ({ ...settings, id, version }))
}

/** Allows only one save of the list at a time; readers go on. */
export async function lockTransitions(tx: Queryable): Promise<void> {
  await tx.query('lock table transition in share row exclusive mode')
}

export async function drawTransitionIds(tx: Queryable, count: number): Promise<number[]> {
  if (count === 0) return []
  const { rows } = await tx.query<{ id: number }>(
    `select nextval('transition_id_seq')::int as id from generate_series(1, $1)`,
    [count],
  )
  return rows.map((row) => row.id)
}

/** Makes the table hold exactly this list, in this order. */
export async function replaceTransitions(tx: Queryable, transitions: readonly Transition[]): Promise<void> {
  await tx.query('delete from transition where id <> all($1)', [transitions.map((transition) => transition.id)])
  const rows = transitions.map(({ id, version, ...settings }, position) => ({ id, version, position, settings }))
  await tx.query(
    `insert into transition (id, version, position, settings)
     select id, version, position, settings
       from jsonb_to_recordset($1) as t (id int, version int, position int, settings jsonb)
     on conflict (id) do update
       set version = excluded.version, position = excluded.position, settings = excluded.settings`,
    [JSON.stringify(rows)],
  )
}

/** Starts to follow the event log from its current end, unless it is being followed. */
export async function startFollowing(tx: Queryable): Promise<void> {
  await tx.query(
    `update transition_event_cursor set active = true, last_id = (select coalesce(max(id), 0) from event)
      where not active`,
  )
}

export async function stopFollowing(db: Queryable): Promise<void> {
  await db.query('update transition_event_cursor set active = false where active')
}

/** The position in the event log; null when another process is following it, or the log is not followed. */
export async function lockCursor(tx: Queryable): Promise<number | null> {
  const { rows } = await tx.query<{ id: number }>(
    'select last_id as id from transition_event_cursor where active for update skip locked',
  )
  return rows[0]?.id ?? null
}

export async function moveCursor(tx: Queryable, lastId: number): Promise<void> {
  await tx.query('update transition_event_cursor set last_id = $1', [lastId])
}
