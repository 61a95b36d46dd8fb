import type { Queryable, Tx } from '../platform/postgres/db.ts'
import type { LogLine, StoredTask, TaskDraft, TaskState, TaskStatus } from './model.ts'

const columns = `id, version, user_id as "userId", module, params, timeout_sec as "timeoutSec", description,
  next_run_at as "nextRunAt", frontend_prefs as "frontendPrefs", recipients, schedules, state, status,
  status_percent as "statusPercent", status_msg as "statusMsg", run_started_at as "runStartedAt",
  run_canceled_at as "runCanceledAt", run_finished_at as "runFinishedAt", run, worker, (select u.version from "user" u where u.id = user_id) as "userVersion", created_at as "createdAt",
  updated_at as "updatedAt"`

const valuesOf = (draft: TaskDraft): unknown[] => [
  draft.module,
  JSON.stringify(draft.params),
  draft.timeoutSec,
  draft.description,
  draft.nextRunAt,
  JSON.stringify(draft.frontendPrefs),
  JSON.stringify(draft.recipients),
  JSON.stringify(draft.schedules),
]

export async function insertTask(tx: Tx, userId: number, draft: TaskDraft): Promise<StoredTask> {
  const { rows } = await tx.query<StoredTask>(
    `insert into task (user_id, module, params, timeout_sec, description, next_run_at, frontend_prefs, recipients, schedules)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning ${columns}`,
    [userId, ...valuesOf(draft)],
  )
  return rows[0] as StoredTask
}

export async function updateTask(tx: Tx, id: number, draft: TaskDraft): Promise<StoredTask> {
  const { rows } = await tx.query<StoredTask>(
    `update task set module = $2, params = $3, timeout_sec = $4, description = $5, next_run_at = $6, frontend_prefs = $7,
       recipients = $8, schedules = $9, version = version + 1, updated_at = now()
     where id = $1 returning ${columns}`,
    [id, ...valuesOf(draft)],
  )
  return rows[0] as StoredTask
}

export async function deleteTask(tx: Tx, id: number): Promise<void> {
  await tx.query('delete from task where id = $1', [id])
}

/** Number of tasks of a user; no other transaction can add one for the user until this one ends. */
export async function countForAdding(tx: Tx, userId: number): Promise<number> {
  await tx.query(`select pg_advisory_xact_lock(hashtext('task'), hashint8($1))`, [userId])
  const { rows } = await tx.query<{ count: number }>('select count(*) from task where user_id = $1', [userId])
  return rows[0]?.count ?? 0
}

/** A page of the tasks of a user, or of all (null), by id, and their total number. */
export async function listTasks(
  db: Queryable,
  userId: number | null,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<{ tasks: StoredTask[]; count: number }> {
  const [page, all] = await Promise.all([
    db.query<StoredTask>(
      `select ${columns} from task where $1::bigint is null or user_id = $1 order by id limit $2 offset $3`,
      [userId, limit, offset],
    ),
    db.query<{ count: number }>('select count(*) from task where $1::bigint is null or user_id = $1', [userId]),
  ])
  return { tasks: page.rows, count: all.rows[0]?.count ?? 0 }
}

export async function findTask(db: Queryable, id: number): Promise<StoredTask | null> {
  const { rows } = await db.query<StoredTask>(`select ${columns} from task where id = $1`, [id])
  return rows[0] ?? null
}

export async function lockTask(tx: Tx, id: number): Promise<StoredTask | null> {
  const { rows } = await tx.query<StoredTask>(`select ${columns} from task where id = $1 for update`, [id])
  return rows[0] ?? null
}

/** Owners of the tasks, of those given, that exist. */
export async function ownersOf(db: Queryable, ids: readonly number[]): Promise<{ id: number; userId: number }[]> {
  const { rows } = await db.query<{ id: number; userId: number }>(
    'select id, user_id as "userId" from task where id = any($1::bigint[])',
    [ids],
  )
  return rows
}

/** Tasks that are running, and tasks that are planned for some time. */
export async function findPlanned(db: Queryable): Promise<{ id: number; at: Date | null }[]> {
  const { rows } = await db.query<{ id: number; at: Date | null }>(
    `select id, case when status <> 'running' then next_run_at end as at from task
     where status = 'running' or next_run_at is not null order by id`,
  )
  return rows
}

/** Begins a run with an empty log. */
export async function beginRun(tx: Tx, id: number, state: TaskState): Promise<StoredTask> {
  await tx.query('delete from task_log where task_id = $1', [id])
  const { rows } = await tx.query<StoredTask>(
    `update task set status = 'running', run = run + 1, run_started_at = clock_timestamp(), run_canceled_at = null,
       run_finished_at = null, status_percent = null, status_msg = '', next_run_at = null, log_lines = 0, state = $2,
       worker = gen_random_uuid()
     where id = $1 returning ${columns}`,
    [id, JSON.stringify(state)],
  )
  return rows[0] as StoredTask
}

export interface RunKey {
  readonly id: number
  readonly run: number
  readonly worker: string | null
}

/** Takes over a run: a process that worked on it before finds that its run has ended. */
export async function takeRun(tx: Tx, id: number): Promise<StoredTask> {
  const { rows } = await tx.query<StoredTask>(
    `update task set worker = gen_random_uuid() where id = $1 returning ${columns}`,
    [id],
  )
  return rows[0] as StoredTask
}

export async function isRunning(db: Queryable, { id, run, worker }: RunKey): Promise<boolean> {
  const { rows } = await db.query(
    `select from task where id = $1 and run = $2 and status = 'running' and worker = $3`,
    [id, run, worker],
    'task-is-running',
  )
  return rows.length === 1
}

/** Maximum number of lines in the log of a run. */
export const longestLog = 10_000

/** Stores the progress of a run, and its log; false when the run has ended. */
export async function noteProgress(
  db: Queryable,
  { id, run, worker }: RunKey,
  progress: { readonly state: TaskState; readonly percent: number | null; readonly lines: readonly LogLine[] },
): Promise<boolean> {
  const { rows } = await db.query<{ count: number }>(
    `with lines as (
       select level, msg, row_number() over () - 1 as n from jsonb_to_recordset($5::jsonb) as x(level text, msg text)
     ), mine as (
       update task set state = $3, status_percent = $4, log_lines = log_lines + (select count(*) from lines)
       where id = $1 and run = $2 and status = 'running' and worker = $6 returning log_lines
     ), logged as (
       insert into task_log (task_id, idx, level, msg, status_percent)
       select $1, m.log_lines - (select count(*) from lines) + l.n, l.level, l.msg, $4
       from mine m cross join lines l where m.log_lines - (select count(*) from lines) + l.n < ${longestLog}
     )
     select count(*) from mine`,
    [id, run, JSON.stringify(progress.state), progress.percent, JSON.stringify(progress.lines), worker],
    'task-progress',
  )
  return rows[0]?.count === 1
}

/** Adds a line to the log of a run that has ended. */
export async function addLine(tx: Tx, { id, statusPercent }: StoredTask, { level, msg }: LogLine): Promise<void> {
  await tx.query(
    `with mine as (update task set log_lines = log_lines + 1 where id = $1 and log_lines < ${longestLog} returning log_lines)
     insert into task_log (task_id, idx, level, msg, status_percent) select $1, log_lines - 1, $2, $3, $4 from mine`,
    [id, level, msg, statusPercent],
    'task-line',
  )
}

/** Counts objects that a run has just changed, in the transaction of the change; false when the run has ended. */
export async function noteChanged(tx: Tx, { id, run, worker }: RunKey, changed: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update task set state = state || jsonb_build_object('changed', coalesce((state->>'changed')::bigint, 0) + $3::bigint)
     where id = $1 and run = $2 and status = 'running' and worker = $4`,
    [id, run, changed, worker],
    'task-changed',
  )
  return rowCount === 1
}

export interface RunEnd {
  readonly status: Extract<TaskStatus, 'done' | 'canceled' | 'error'>
  readonly msg: string
  readonly nextRunAt: Date | null
  readonly state: TaskState
}

/** Ends a run; null when it had already ended. */
export async function endRun(tx: Tx, { id, run, worker }: RunKey, end: RunEnd): Promise<StoredTask | null> {
  const { rows } = await tx.query<StoredTask>(
    `update task set status = $3, status_msg = $4, next_run_at = $5, state = $6, run_finished_at = clock_timestamp(),
       run_canceled_at = case when $3 = 'canceled' then clock_timestamp() end,
       status_percent = case when $3 = 'done' then 100 else status_percent end
     where id = $1 and run = $2 and status = 'running' and worker = $7 returning ${columns}`,
    [id, run, end.status, end.msg, end.nextRunAt, JSON.stringify(end.state), worker],
  )
  return rows[0] ?? null
}

export interface LogEntry {
  readonly idx: number
  readonly at: Date
  readonly level: LogLine['level']
  readonly msg: string
  readonly percent: number | null
}

export async function readLog(
  db: Queryable,
  id: number,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<LogEntry[]> {
  const { rows } = await db.query<LogEntry>(
    `select idx, at, level, msg, status_percent as percent from task_log where task_id = $1 order by idx
     limit $2 offset $3`,
    [id, limit, offset],
  )
  return rows
}

export async function highestObject(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ id: number | null }>('select max(system_object_id) as id from object')
  return rows[0]?.id ?? 0
}
