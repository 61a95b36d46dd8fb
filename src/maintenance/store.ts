import type { Queryable, Tx } from '../platform/postgres/db.ts'

export interface StoredBackup {
  readonly id: number
  readonly createdAt: Date
  readonly finishedAt: Date | null
  readonly userId: number | null
  readonly status: 'running' | 'done' | 'error'
  readonly format: string
  readonly includeEvents: boolean
  readonly scheduled: boolean
  readonly locationId: number | null
  readonly sha256: string | null
  readonly size: number | null
  readonly log: readonly { readonly at: string; readonly msg: string }[]
}

const columns = `id, created_at as "createdAt", finished_at as "finishedAt", user_id as "userId", status, format,
  include_events as "includeEvents", scheduled, location_id as "locationId", encode(sha256, 'hex') as sha256, size, log`

export type NewBackup = Pick<StoredBackup, 'userId' | 'format' | 'includeEvents' | 'scheduled'>

/** Begins a backup; null while another one is in progress. */
export async function insertBackup(tx: Tx, backup: NewBackup): Promise<StoredBackup | null> {
  const { rows } = await tx.query<StoredBackup>(
    `insert into backup (user_id, format, include_events, scheduled) values ($1, $2, $3, $4)
     on conflict (status) where status = 'running' do nothing returning ${columns}`,
    [backup.userId, backup.format, backup.includeEvents, backup.scheduled],
  )
  return rows[0] ?? null
}

/** False when a backup was already begun for that time of the schedule, or for a later one; else the caller makes this one. */
export async function takeMoment(tx: Tx, moment: Date): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into backup_schedule as s (moment) values ($1)
     on conflict (single) do update set moment = excluded.moment where s.moment < excluded.moment`,
    [moment],
  )
  return rowCount === 1
}

/** All scheduled backups, without their logs. */
export async function scheduledBackups(tx: Tx): Promise<Pick<StoredBackup, 'id' | 'createdAt' | 'status'>[]> {
  const { rows } = await tx.query<Pick<StoredBackup, 'id' | 'createdAt' | 'status'>>(
    'select id, created_at as "createdAt", status from backup where scheduled order by id',
  )
  return rows
}

/** Removes those of the backups that are not in progress. */
export async function removeBackups(
  tx: Tx,
  ids: readonly number[],
): Promise<Pick<StoredBackup, 'id' | 'createdAt' | 'sha256' | 'locationId'>[]> {
  const { rows } = await tx.query<Pick<StoredBackup, 'id' | 'createdAt' | 'sha256' | 'locationId'>>(
    `delete from backup where id = any($1::bigint[]) and status <> 'running'
     returning id, created_at as "createdAt", encode(sha256, 'hex') as sha256, location_id as "locationId"`,
    [ids],
  )
  return rows.sort((a, b) => a.id - b.id)
}

/** A backup as lists show it. */
export type BackupHead = Pick<StoredBackup, 'id' | 'createdAt' | 'status' | 'size' | 'format'>

/** Newest first, without their logs. */
export async function listHeads(db: Queryable): Promise<BackupHead[]> {
  const { rows } = await db.query<BackupHead>(
    'select id, created_at as "createdAt", status, size, format from backup order by id desc limit 1000',
  )
  return rows
}

/** Newest first. */
export async function listBackups(db: Queryable): Promise<StoredBackup[]> {
  const { rows } = await db.query<StoredBackup>(`select ${columns} from backup order by id desc limit 1000`)
  return rows
}

export async function findBackup(db: Queryable, id: number): Promise<StoredBackup | null> {
  const { rows } = await db.query<StoredBackup>(`select ${columns} from backup where id = $1`, [id])
  return rows[0] ?? null
}

/** Adds a line to the log of a backup in progress; the last lines are kept. */
export async function noteLine(db: Queryable, id: number, msg: string): Promise<void> {
  await db.query(
    `update backup set log = (case when jsonb_array_length(log) < 1000 then log else log - 0 end)
       || jsonb_build_array(jsonb_build_object('at', clock_timestamp(), 'msg', $2::text))
     where id = $1 and status = 'running'`,
    [id, msg],
  )
}

/** Writes down where the archive of a backup that is being made is about to lie. @throws {Error} when it is not being made any more */
export async function noteContent(
  db: Queryable,
  id: number,
  { locationId, sha256 }: { readonly locationId: number; readonly sha256: string },
): Promise<void> {
  const { rowCount } = await db.query(
    `update backup set location_id = $2, sha256 = decode($3, 'hex') where id = $1 and status = 'running'`,
    [id, locationId, sha256],
  )
  if (rowCount !== 1) throw new Error(`backup ${id} is not being made any more`)
}

export interface BackupEnd {
  readonly status: 'done' | 'error'
  readonly place: { readonly locationId: number; readonly sha256: string; readonly size: number | null } | null
}

/** False when it had already ended. */
export async function endBackup(tx: Tx, id: number, { status, place }: BackupEnd): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update backup set status = $2, finished_at = clock_timestamp(), location_id = $3, sha256 = decode($4, 'hex'), size = $5
     where id = $1 and status = 'running'`,
    [id, status, place?.locationId ?? null, place?.sha256 ?? null, place?.size ?? null],
  )
  return rowCount === 1
}

/** Removes a backup that is not in progress; null: there is none. */
export async function removeBackup(tx: Tx, id: number): Promise<StoredBackup | null> {
  const { rows } = await tx.query<StoredBackup>(
    `delete from backup where id = $1 and status <> 'running' returning ${columns}`,
    [id],
  )
  return rows[0] ?? null
}
