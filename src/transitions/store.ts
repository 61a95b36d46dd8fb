import type { Queryable } from '../platform/db.ts'
import type { Transition, TransitionSettings } from './model.ts'

/** The instance's own transitions, in the order in which they are considered. */
export async function loadTransitions(db: Queryable): Promise<Transition[]> {
  const { rows } = await db.query<{ id: number; version: number; settings: TransitionSettings }>(
    'select id, version, settings from transition order by position, id',
  )
  return rows.map(({ id, version, settings }) => ({ ...settings, id, version }))
}

/** Only one save of the list at a time; readers go on. */
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

/** The key that signs confirmations. */
export async function readSecret(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ secret: string }>('select secret from transition_secret')
  const secret = rows[0]?.secret
  if (!secret) throw new Error('the table transition_secret is empty')
  return secret
}
