import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import type { Sha256 } from '../blobs/blob-store.ts'
import type { Fixity, Verifiable } from '../fixity/verify.ts'

/** The contents of a location that move: all, originals, or renditions (with kept results of work). */
export const movable = ['all', 'originals', 'versions'] as const
export type Movable = (typeof movable)[number]

/** A run that moves contents from one location to another. */
export interface Move {
  readonly id: number
  readonly startedAt: Date
  readonly finishedAt: Date | null
  readonly fromId: number
  readonly toId: number
  readonly contents: Movable
  readonly status: 'running' | 'done' | 'stopped' | 'failed'
  readonly error: string | null
  readonly total: number
  readonly totalSize: number
  readonly moved: number
  readonly movedSize: number
  readonly failed: number
  /** Contents up to this hash have been processed. */
  readonly upTo: Sha256
}

export type NewMove = Pick<Move, 'fromId' | 'toId' | 'contents'>

const columns = `id, started_at as "startedAt", finished_at as "finishedAt", from_id as "fromId", to_id as "toId", contents,
  status, error, total, total_size as "totalSize", moved, moved_size as "movedSize", failed, encode(up_to, 'hex') as "upTo"`

/** Whether a version (`v`) is to be moved. */
const moves = (contents: string): string =>
  `(${contents} = 'all' or (v.name = 'original') = (${contents} = 'originals'))`

/** Contents of a version of a file, or kept results of work: these count as renditions. */
const used = (contents: string): string =>
  `(exists (select from file_version v where v.location_id = b.location_id and v.sha256 = b.sha256 and ${moves(contents)})
    or ${contents} <> 'originals'
      and exists (select from kept_content k where k.location_id = b.location_id and k.sha256 = b.sha256))`

/** Begins a run; null when one is in progress. */
export async function insertMove(tx: Tx, userId: number, { fromId, toId, contents }: NewMove): Promise<Move | null> {
  const { rows } = await tx.query<Move>(
    `insert into file_move (user_id, from_id, to_id, contents, total, total_size)
     select $1, $2::bigint, $3, $4::text, count(*), coalesce(sum(size), 0) from file_blob b
     where location_id = $2::bigint and ${used('$4::text')}
     on conflict (status) where status = 'running' do nothing
     returning ${columns}`,
    [userId, fromId, toId, contents],
  )
  return rows[0] ?? null
}

/** The latest runs, newest first. */
export async function readMoves(from: Queryable, most: number): Promise<Move[]> {
  const { rows } = await from.query<Move>(`select ${columns} from file_move order by id desc limit $1`, [most])
  return rows
}

/** The run, if it is in progress. */
export async function findRunning(from: Queryable, id: number): Promise<Move | null> {
  const { rows } = await from.query<Move>(
    `select ${columns} from file_move where id = $1 and status = 'running'`,
    [id],
    'find-file-move',
  )
  return rows[0] ?? null
}

export async function isKnown(from: Queryable, id: number): Promise<boolean> {
  const { rows } = await from.query('select from file_move where id = $1', [id])
  return rows.length === 1
}

/** Locks the run. False when it has moved on or is over: another process works on it, or it was stopped. */
export async function lockRunning(tx: Tx, { id, upTo }: Move): Promise<boolean> {
  const { rows } = await tx.query(
    `select from file_move where id = $1 and status = 'running' and up_to = decode($2, 'hex') for update`,
    [id, upTo],
    'lock-file-move',
  )
  return rows.length === 1
}

/** Ends a run in progress; false when it is not in progress. */
export async function endMove(
  from: Queryable,
  id: number,
  status: Exclude<Move['status'], 'running'>,
  error: string | null,
): Promise<boolean> {
  const { rowCount } = await from.query(
    `update file_move set status = $2, error = $3, finished_at = now() where id = $1 and status = 'running'`,
    [id, status, error],
  )
  return rowCount === 1
}

export async function noteProblem(from: Queryable, id: number, error: string): Promise<void> {
  await from.query(`update file_move set error = $2 where id = $1 and status = 'running'`, [id, error])
}

/** The next contents, in the order of their hashes; none: the pass is over. */
export async function nextContents(from: Queryable, { id }: Pick<Move, 'id'>, most: number): Promise<Verifiable[]> {
  const { rows } = await from.query<Verifiable>(
    `select encode(b.sha256, 'hex') as sha256, b.size
     from file_move m join file_blob b on b.location_id = m.from_id and b.sha256 > m.up_to
     where m.id = $1 and ${used('m.contents')} and not (b.fixity <> 'ok' and b.verified_at >= m.started_at)
     order by b.sha256 limit $2`,
    [id, most],
    'next-to-move',
  )
  return rows
}

/** Begins another pass through all contents; false when the last pass has moved nothing. */
export async function nextPass(from: Queryable, { id, upTo }: Move): Promise<boolean> {
  const { rowCount } = await from.query(
    `update file_move set up_to = '', pass_moved = 0
     where id = $1 and status = 'running' and up_to = decode($2, 'hex') and pass_moved > 0`,
    [id, upTo],
  )
  return rowCount === 1
}

/** A content that is stored at both places, and the file to name in the log. */
export interface Switched {
  readonly sha256: Sha256
  readonly fileId: number
}

/**
 * Lets files, and rows that keep results, refer to the contents at the target. The old copies stay for a while: downloads
 * in progress, and a backup that was begun before, still find them.
 */
export async function switchContents(
  tx: Tx,
  { id, fromId, toId, contents }: Move,
  there: readonly Verifiable[],
): Promise<Switched[]> {
  const { rows } = await tx.query<Switched>(
    `with moved as materialized (select decode(h, 'hex') as sha256, s as size from unnest($4::text[], $5::bigint[]) as x(h, s)),
     versions as (
       update file_version v set location_id = $2 from moved m
       where v.location_id = $1 and v.sha256 = m.sha256 and ${moves('$3::text')} returning v.sha256, v.file_id
     ), kept as (
       update kept_content k set location_id = $2 from moved m
       where k.location_id = $1 and k.sha256 = m.sha256 and $3::text <> 'originals'
     ), touched as (
       update file_blob b set touched_at = now() from moved m where b.location_id = $1 and b.sha256 = m.sha256
     ), counted as (
       update file_move set moved = moved + n, pass_moved = pass_moved + n, moved_size = moved_size + bytes, error = null
       from (select count(*) as n, coalesce(sum(size), 0) as bytes from moved) x where id = $6
     )
     select encode(sha256, 'hex') as sha256, min(file_id)::bigint as "fileId" from versions group by sha256`,
    [fromId, toId, contents, there.map(({ sha256 }) => sha256), there.map(({ size }) => size), id],
    'switch-contents',
  )
  return rows
}

/** A damaged content stays at the old location, as when its fixity is checked. */
export async function noteHarmed(
  tx: Tx,
  { id, fromId }: Move,
  harmed: readonly { readonly sha256: Sha256; readonly fixity: Fixity }[],
): Promise<void> {
  if (harmed.length === 0) return
  await tx.query(
    `with wrong as (
       update file_blob b set verified_at = now(), fixity = f from unnest($2::text[], $3::text[]) as x(h, f)
       where b.location_id = $1 and b.sha256 = decode(h, 'hex') returning 1
     )
     update file_move set failed = failed + (select count(*) from wrong) where id = $4`,
    [fromId, harmed.map(({ sha256 }) => sha256), harmed.map(({ fixity }) => fixity), id],
  )
}

/** Notes that contents up to this hash have been processed. */
export async function noteProgress(tx: Tx, id: number, upTo: Sha256): Promise<void> {
  await tx.query(`update file_move set up_to = decode($2, 'hex') where id = $1`, [id, upTo])
}
