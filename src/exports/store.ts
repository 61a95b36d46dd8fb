import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { type ExportFilter, filterSql } from './filter.ts'
import type { ExportState, StoredExport } from './model.ts'

const columns = `e.id, e.version, e.user_id as "userId", e.name, e.type, e.state, e.body, e.schedules, e.transports,
  e.created_at as "createdAt", e.updated_at as "updatedAt", e.last_run_at as "lastRunAt",
  e.last_relevant_run_at as "lastRelevantRunAt", e.last_relevant_count as "lastRelevantCount",
  e.next_run_at as "nextRunAt", e.plugin_log as "pluginLog", e.followed, e.run_id as "runId"`

export async function findExports(from: Queryable, ids: readonly number[]): Promise<StoredExport[]> {
  const { rows } = await from.query<StoredExport>(
    `select ${columns} from export e where e.id = any($1::bigint[]) order by e.id`,
    [ids],
    'exports-by-id',
  )
  return rows
}

export async function lockExport(tx: Tx, id: number): Promise<StoredExport | null> {
  const { rows } = await tx.query<StoredExport>(
    `select ${columns} from export e where e.id = $1 for update`,
    [id],
    'export-lock',
  )
  return rows[0] ?? null
}

/** A page of the exports of a user, newest first, and how many there are in all. */
export async function pageOfExports(
  from: Queryable,
  userId: number,
  { filter, limit, offset }: { readonly filter: ExportFilter | null; readonly limit: number; readonly offset: number },
): Promise<{ readonly count: number; readonly exports: StoredExport[] }> {
  const parameters: unknown[] = [userId]
  const condition = `e.user_id = $1 and ${filterSql(filter, parameters)}`
  const [counted, page] = await Promise.all([
    from.query<{ count: number }>(`select count(*)::int as count from export e where ${condition}`, parameters),
    from.query<StoredExport>(
      `select ${columns} from export e where ${condition} order by e.id desc
       limit $${parameters.length + 1} offset $${parameters.length + 2}`,
      [...parameters, limit, offset],
    ),
  ])
  return { count: counted.rows[0]?.count ?? 0, exports: page.rows }
}

/** Saves of exports of one user take turns: so the quota and the unique names hold. Locked before the row. */
export async function lockExportsOf(tx: Tx, userId: number): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('exports', $1))`, [userId], 'exports-lock')
}

export async function countOfUser(tx: Tx, userId: number): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    'select count(*)::int as count from export where user_id = $1',
    [userId],
    'exports-count',
  )
  return rows[0]?.count ?? 0
}

export type ExportDraft = Pick<StoredExport, 'userId' | 'name' | 'type' | 'body' | 'schedules' | 'nextRunAt'>

/** Null: the user already has an export of that name. */
export async function insertExport(tx: Tx, draft: ExportDraft): Promise<number | null> {
  const { rows } = await tx.query<{ id: number }>(
    `insert into export (user_id, name, type, body, schedules, next_run_at) values ($1, $2, $3, $4, $5, $6)
     on conflict on constraint export_name_key do nothing returning id`,
    valuesOf(draft),
    'export-insert',
  )
  return rows[0]?.id ?? null
}

export async function isNameTaken(tx: Tx, id: number, { userId, name }: ExportDraft): Promise<boolean> {
  const { rows } = await tx.query(
    'select from export where user_id = $1 and name = $2 and id <> $3',
    [userId, name, id],
    'export-name',
  )
  return rows.length > 0
}

/** Stores the next version, which has not run yet. Results of the last run stay until the next one begins. */
export async function updateExport(tx: Tx, id: number, draft: ExportDraft): Promise<void> {
  await tx.query(
    `update export set user_id = $1, name = $2, type = $3, body = $4, schedules = $5, next_run_at = $6, state = 'new',
       version = version + 1, updated_at = now(), followed = null
     where id = $7`,
    [...valuesOf(draft), id],
    'export-update',
  )
}

function valuesOf({ userId, name, type, body, schedules, nextRunAt }: ExportDraft): unknown[] {
  return [userId, name, type, JSON.stringify(body), JSON.stringify(schedules), nextRunAt]
}

export async function setTransports(tx: Tx, id: number, transports: StoredExport['transports']): Promise<void> {
  await tx.query(
    'update export set transports = $2 where id = $1',
    [id, JSON.stringify(transports)],
    'export-transports',
  )
}

export async function deleteExport(tx: Tx, id: number): Promise<void> {
  await tx.query('delete from export where id = $1', [id], 'export-delete')
}

export async function setStates(tx: Tx, ids: readonly number[], state: ExportState): Promise<void> {
  if (ids.length === 0) return
  await tx.query('update export set state = $2 where id = any($1::bigint[])', [ids, state], 'export-states')
}

export interface DueExport {
  readonly id: number
  readonly userId: number
  readonly schedules: StoredExport['schedules']
}

/** Locks due exports; other processes at the same time get different ones. */
export async function lockDue(tx: Tx, at: Date, most: number): Promise<DueExport[]> {
  const { rows } = await tx.query<DueExport>(
    `select e.id, e.user_id as "userId", e.schedules from export e where e.next_run_at <= $1
     order by e.next_run_at, e.id limit $2 for update skip locked`,
    [at, most],
    'exports-due',
  )
  return rows
}

export async function setNextRuns(tx: Tx, next: readonly { readonly id: number; readonly at: Date | null }[]) {
  await tx.query(
    `update export e set next_run_at = x.at from unnest($1::bigint[], $2::timestamptz[]) as x(id, at) where e.id = x.id`,
    [next.map(({ id }) => id), next.map(({ at }) => at)],
    'exports-next-runs',
  )
}

/** Removes downloads that have not been changed or run since. */
export async function removeExpired(
  tx: Tx,
  before: Date,
  most: number,
): Promise<Pick<StoredExport, 'id' | 'version' | 'state'>[]> {
  const { rows } = await tx.query<Pick<StoredExport, 'id' | 'version' | 'state'>>(
    `delete from export where id in (
       select id from export where type = 'download' and state not in ('pending', 'processing')
         and greatest(updated_at, last_run_at) < $1 and next_run_at is null
       order by id limit $2 for update skip locked
     ) returning id, version, state`,
    [before, most],
    'exports-expired',
  )
  return rows
}
