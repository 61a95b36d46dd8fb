/** Progress and findings of the check of the index: one row for all processes. */
import type { Queryable } from '../../platform/postgres/db.ts'

export interface Drift {
  /** Objects without document. */
  readonly missing: readonly number[]
  /** Documents of objects that no longer exist. */
  readonly surplus: readonly number[]
  /** Documents that differ from the document that would be built of their object now. */
  readonly different: readonly number[]
}

export interface CheckRound {
  readonly beganAt: Date
  /** null: the round has not ended. */
  readonly endedAt: Date | null
  readonly checked: number
  readonly missing: number
  readonly surplus: number
  readonly different: number
}

export interface CheckState extends CheckRound {
  /** The complete round before the current one. */
  readonly last:
    | (Omit<CheckRound, 'beganAt' | 'endedAt'> & { readonly began_at: string; readonly ended_at: string })
    | null
}

/**
 * Starts a step, unless another one started a moment ago; starts a new round when the last one ended long ago. null: it is too
 * early.
 */
export async function claimStep(
  db: Queryable,
  { pause, every }: { readonly pause: number; readonly every: number },
): Promise<number | null> {
  const fresh = (column: string): string => `${column} = case when ended_at is null then ${column} else 0 end`
  const { rows } = await db.query<{ position: number }>(
    `update search_check set stepped_at = clock_timestamp(), ${['position', 'checked', 'missing', 'surplus', 'different'].map(fresh).join(', ')},
       last = case when ended_at is null then last else ${roundSql} end,
       began_at = case when ended_at is null then began_at else clock_timestamp() end, ended_at = null
     where stepped_at <= clock_timestamp() - make_interval(secs => $1::float8)
       and (ended_at is null or ended_at <= clock_timestamp() - make_interval(secs => $2::float8))
     returning position`,
    [pause, every],
    'index-check-claim',
  )
  return rows[0]?.position ?? null
}

const roundSql = `jsonb_build_object('began_at', began_at, 'ended_at', ended_at, 'checked', checked, 'missing', missing,
  'surplus', surplus, 'different', different)`

/** Starts another round with the next step. */
export async function beginRound(db: Queryable): Promise<void> {
  await db.query(
    `update search_check set last = case when ended_at is null then last else ${roundSql} end, position = 0, checked = 0,
       missing = 0, surplus = 0, different = 0, began_at = clock_timestamp(), ended_at = null, stepped_at = '-infinity'`,
  )
}

/** `upto`: the last object of the step; null: there are no more. */
export async function noteStep(db: Queryable, upto: number | null, checked: number, drift: Drift): Promise<void> {
  const { missing, surplus, different } = drift
  await db.query(
    `update search_check set position = coalesce($1, position), checked = checked + $2, missing = missing + $3,
       surplus = surplus + $4, different = different + $5,
       ended_at = case when $1::bigint is null then clock_timestamp() end`,
    [upto, checked, missing.length, surplus.length, different.length],
    'index-check-step',
  )
}

export async function readState(db: Queryable): Promise<CheckState> {
  const { rows } = await db.query<CheckState>(
    `select began_at as "beganAt", ended_at as "endedAt", checked, missing, surplus, different, last from search_check`,
  )
  return rows[0] as CheckState
}

export async function nextObjects(db: Queryable, after: number, limit: number): Promise<readonly number[]> {
  const { rows } = await db.query<{ id: number }>(
    'select system_object_id as id from object where system_object_id > $1 order by 1 limit $2',
    [after, limit],
    'index-check-objects',
  )
  return rows.map(({ id }) => id)
}

/** The objects among the given ones that cannot be indexed: they have no document. */
export async function readFailing(db: Queryable, ids: readonly number[]): Promise<ReadonlySet<number>> {
  const { rows } = await db.query<{ id: number }>(
    'select id from search_failure where id = any($1::bigint[])',
    [ids],
    'index-check-failing',
  )
  return new Set(rows.map(({ id }) => id))
}

/** Whether an object was saved and is not indexed yet: other documents may show data of it. */
export async function anyWaiting(db: Queryable): Promise<boolean> {
  const { rowCount } = await db.query(
    '(select from index_queue limit 1) union all (select from index_spread limit 1)',
    [],
    'index-check-waiting',
  )
  return rowCount > 0
}
