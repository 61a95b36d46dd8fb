/** Stored runs: their next step, and their progress. */
import type { ObjectVersion } from '../objects/service.ts'
import type { Queryable, Tx } from '../platform/postgres/db.ts'
import type { ExportState } from './model.ts'

export interface Run {
  readonly id: number
  readonly exportId: number
  readonly step: string
  readonly position: number
  readonly total: number
  readonly warnings: readonly string[]
  readonly warningCount: number
  /** Number of files, without those hidden by a plugin. */
  readonly fileCount: number
  readonly facts: RunFacts
  readonly createdAt: Date
  /** The attempt that works on it. */
  readonly holder: string | null
}

/** Data that the steps of a run pass to each other. */
export interface RunFacts {
  /** Number of rendered objects; lower than listed where some were deleted meanwhile. */
  readonly rendered?: number
  /** Incremental: the starting point for the next run. */
  readonly followed?: { readonly basis: string; readonly until: number }
  /** Incremental: number of objects that are no longer found. */
  readonly gone?: number
}

const columns = `r.id, r.export_id as "exportId", r.step, r.position, r.total, r.warnings, r.warning_count as "warningCount",
  r.file_count as "fileCount", r.facts, r.created_at as "createdAt", r.holder`
/** Most warnings that are kept with their texts; others are only counted. */
const mostWarnings = 100

export async function findRuns(from: Queryable, ids: readonly number[]): Promise<Run[]> {
  const { rows } = await from.query<Run>(
    `select ${columns} from export_run r where r.id = any($1::bigint[])`,
    [ids],
    'export-runs',
  )
  return rows
}

/** Makes new runs of exports, and gives up the former ones. Answers the ids of the new runs. */
export async function beginRuns(tx: Tx, exportIds: readonly number[]): Promise<number[]> {
  const { rows } = await tx.query<{ id: number }>(
    `with former as (
       update export_run set export_id = null where export_id = any($1::bigint[])
     ), made as (
       insert into export_run (export_id) select unnest($1::bigint[]) returning id, export_id
     )
     update export set run_id = made.id, state = 'pending' from made where export.id = made.export_id returning made.id`,
    [exportIds],
    'export-runs-begin',
  )
  return rows.map(({ id }) => id)
}

/** Locks the run until the end of the transaction, if its export still has this run and is in that state; null otherwise. */
export async function lockRun(tx: Tx, id: number, state: ExportState): Promise<Run | null> {
  const { rows } = await tx.query<Run>(
    `select ${columns} from export e join export_run r on r.id = e.run_id where r.id = $1 and e.state = $2 for update`,
    [id, state],
    'export-run-lock',
  )
  return rows[0] ?? null
}

/** Gives a locked run to an attempt; writes of another attempt are refused from now on. */
export async function holdRun(tx: Tx, id: number, holder: string): Promise<void> {
  await tx.query('update export_run set holder = $2 where id = $1', [id, holder], 'export-run-hold')
}

/** Only one process at a time begins or ends a run of a user. To be locked after the run. */
export async function lockRunsOf(tx: Tx, userId: number): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('export runs', $1))`, [userId], 'export-runs-of-lock')
}

export interface ExportOfRun {
  readonly id: number
  readonly version: number
  readonly userId: number
  readonly state: ExportState
}

/** The export with this latest run. */
export async function exportOfRun(from: Queryable, runId: number): Promise<ExportOfRun | null> {
  const { rows } = await from.query<ExportOfRun>(
    'select id, version, user_id as "userId", state from export where run_id = $1',
    [runId],
    'export-of-run',
  )
  return rows[0] ?? null
}

export async function countProcessing(tx: Tx, userId: number): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::int as count from export where user_id = $1 and state = 'processing'`,
    [userId],
    'export-runs-processing',
  )
  return rows[0]?.count ?? 0
}

/** Waiting runs of a user, the oldest first. */
export async function pendingRuns(tx: Tx, userId: number, most: number): Promise<number[]> {
  const { rows } = await tx.query<{ id: number }>(
    `select run_id as id from export where user_id = $1 and state = 'pending' and run_id is not null order by run_id limit $2`,
    [userId, most],
    'export-runs-pending',
  )
  return rows.map(({ id }) => id)
}

/** Runs in progress or waiting that have no job; `jobKey`: the prefix of the keys of their jobs. */
export async function abandonedRuns(from: Queryable, jobKey: string): Promise<number[]> {
  const { rows } = await from.query<{ id: number }>(
    `select e.run_id as id from export e where e.state in ('pending', 'processing') and e.run_id is not null
       and not exists (select from graphile_worker.jobs j where j.key = $1 || e.run_id)
     order by e.run_id limit 10000`,
    [jobKey],
    'export-runs-abandoned',
  )
  return rows.map(({ id }) => id)
}

/** Starts a run, and clears the log of the last run's plugins; answers the time. */
export async function setProcessing(tx: Tx, id: number): Promise<Date> {
  const { rows } = await tx.query<{ at: Date }>(
    `update export set state = 'processing', last_run_at = now(), plugin_log = '{}' where id = $1 returning last_run_at as at`,
    [id],
    'export-processing',
  )
  return rows[0]?.at as Date
}

export async function setFinished(
  tx: Tx,
  id: number,
  {
    state,
    changed,
    followed,
  }: { readonly state: ExportState; readonly changed: number; readonly followed: object | null },
): Promise<void> {
  await tx.query(
    `with over as (
       update export_run r set finished_at = now() from export e where e.id = $1 and r.id = e.run_id
     )
     update export set state = $2, last_relevant_count = $3, followed = coalesce($4::jsonb, followed),
       last_relevant_run_at = case when $3::int > 0 then last_run_at else last_relevant_run_at end
     where id = $1`,
    [id, state, changed, followed === null ? null : JSON.stringify(followed)],
    'export-finished',
  )
}

export async function setFailed(tx: Tx, id: number, pluginLog: readonly string[]): Promise<void> {
  await tx.query(
    `with over as (
       update export_run r set finished_at = now() from export e where e.id = $1 and r.id = e.run_id
     )
     update export set state = 'failed', plugin_log = $2 where id = $1`,
    [id, pluginLog],
    'export-failed',
  )
}

export async function setPluginLog(tx: Tx, id: number, lines: readonly string[]): Promise<void> {
  await tx.query('update export set plugin_log = $2 where id = $1', [id, lines], 'export-plugin-log')
}

export async function advance(
  tx: Tx,
  id: number,
  {
    step,
    position,
    total,
    facts,
  }: { readonly step: string; readonly position: number; readonly total?: number; readonly facts?: RunFacts },
): Promise<void> {
  await tx.query(
    `update export_run set step = $2, position = $3, total = coalesce($4::int, total), facts = facts || coalesce($5::jsonb, '{}')
     where id = $1`,
    [id, step, position, total ?? null, facts === undefined ? null : JSON.stringify(facts)],
    'export-run-advance',
  )
}

export async function warn(tx: Tx, id: number, texts: readonly string[]): Promise<void> {
  if (texts.length === 0) return
  await tx.query(
    `update export_run set warning_count = warning_count + $3,
       warnings = (warnings || $2::text[])[1:${mostWarnings}] where id = $1`,
    [id, texts.slice(0, mostWarnings).map((text) => text.slice(0, 1000)), texts.length],
    'export-run-warn',
  )
}

export async function addObjects(
  tx: Tx,
  runId: number,
  from: number,
  ids: readonly number[],
  gone: ReadonlySet<number> = new Set(),
): Promise<void> {
  await tx.query(
    `insert into export_object (run_id, position, system_object_id, version)
     select $1, $2 + x.n, x.id, case when x.gone then null else coalesce(o.version, 0) end
     from unnest($3::bigint[], $4::boolean[]) with ordinality as x(id, gone, n)
     left join object o on o.system_object_id = x.id
     on conflict do nothing`,
    [runId, from, ids, ids.map((id) => gone.has(id))],
    'export-objects-add',
  )
}

export async function countObjects(from: Queryable, runId: number): Promise<number> {
  const { rows } = await from.query<{ count: number }>(
    'select count(*)::int as count from export_object where run_id = $1',
    [runId],
    'export-objects-count',
  )
  return rows[0]?.count ?? 0
}

export async function forgetObjects(tx: Tx, runId: number): Promise<void> {
  await tx.query('delete from export_object where run_id = $1', [runId], 'export-objects-forget')
}

export interface ListedObject {
  readonly position: number
  readonly id: number
  /** Null: the object is no longer found. */
  readonly version: number | null
}

/** Listed objects after a position, in their order. */
export async function listedObjects(
  from: Queryable,
  runId: number,
  after: number,
  most: number,
): Promise<ListedObject[]> {
  const { rows } = await from.query<ListedObject>(
    `select position, system_object_id as id, version from export_object
     where run_id = $1 and position > $2 order by position limit $3`,
    [runId, after, most],
    'export-objects',
  )
  return rows
}

/** All listed objects in their order, so many at a time. */
export async function* walkObjects(
  from: Queryable,
  runId: number,
  atATime: number,
): AsyncGenerator<readonly ListedObject[]> {
  for (let after = 0; ; ) {
    const listed = await listedObjects(from, runId, after, atATime)
    const last = listed.at(-1)
    if (!last) return
    yield listed
    after = last.position
  }
}

/** The objects that are still found, in their versions. */
export const foundOf = (listed: readonly ListedObject[]): readonly ObjectVersion[] =>
  listed.flatMap(({ id, version }) => (version === null ? [] : [{ systemObjectId: id, version }]))

/** Runs without an export: the export was deleted, or has run again since. */
export async function givenUp(from: Queryable, most: number): Promise<number[]> {
  const { rows } = await from.query<{ id: number }>(
    'select id from export_run where export_id is null order by id limit $1',
    [most],
    'export-runs-given-up',
  )
  return rows.map(({ id }) => id)
}

/** Removes a part of a run's data; false when nothing is left. */
export async function removePart(tx: Tx, runId: number, most: number): Promise<boolean> {
  const { rows } = await tx.query<{ n: number }>(
    `with files as (
       delete from export_file where id in (select id from export_file where run_id = $1 limit $2) returning content_id
     ), contents as (
       delete from kept_content where id in (select content_id from files) returning location_id, sha256
     ), unused as (
       update file_blob b set touched_at = now() from contents c where b.location_id = c.location_id and b.sha256 = c.sha256
     ), objects as (
       delete from export_object where run_id = $1 and position in (
         select position from export_object where run_id = $1 limit $2) returning 1
     )
     select (select count(*) from files) + (select count(*) from objects) as n`,
    [runId, most],
    'export-run-remove-part',
  )
  if ((rows[0]?.n ?? 0) > 0) return true
  await tx.query('delete from export_run where id = $1', [runId], 'export-run-remove')
  return false
}
