import type { Queryable, Tx } from '../platform/postgres/db.ts'

export interface StoredBackup {
  readonly id: number
  readonly createdAt: Date
  readonly finishedAt: Date | null
  readonly userId: number | null
  readonly status: 'running' | 'done' | 'error'
  readonly format: string
  readonly includeEvents: boolean
  readonly locationId: number | null
  readonly sha256: string | null
  readonly size: number | null
  readonly log: readonly { readonly at: string; readonly msg: string }[]
}

const columns = `id, created_at as "createdAt", finished_at as "finishedAt", user_id as "userId", status, format,
  include_events as "includeEvents", location_id as "locationId", encode(sha256, 'hex') as sha256, size, log`

/** Begins one; null while another one is being made. */
export async function insertBackup(
  tx: Tx,
  backup: Pick<StoredBackup, 'userId' | 'format' | 'includeEvents'>,
): Promise<StoredBackup | null> {
  const { rows } = await tx.query<StoredBackup>(
    `insert into backup (user_id, format, include_events) values ($1, $2, $3)
     on conflict (status) where status = 'running' do nothing returning ${columns}`,
    [backup.userId, backup.format, backup.includeEvents],
  )
  return rows[0] ?? null
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

/** Takes a line into the log of a backup that is being made; the last ones are kept. */
export async function noteLine(db: Queryable, id: number, msg: string): Promise<void> {
  await db.query(
    `update backup set log = (case when jsonb_array_length(log) < 1000 then log else log - 0 end)
       || jsonb_build_array(jsonb_build_object('at', clock_timestamp(), 'msg', $2::text))
     where id = $1 and status = 'running'`,
    [id, msg],
  )
}

export interface BackupEnd {
  readonly status: 'done' | 'error'
  readonly place: { readonly locationId: number; readonly sha256: string; readonly size: number } | null
}

/** False when it has ended before. */
export async function endBackup(tx: Tx, id: number, { status, place }: BackupEnd): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update backup set status = $2, finished_at = clock_timestamp(), location_id = $3, sha256 = decode($4, 'hex'), size = $5
     where id = $1 and status = 'running'`,
    [id, status, place?.locationId ?? null, place?.sha256 ?? null, place?.size ?? null],
  )
  return rowCount === 1
}

/** One that is not being made; null: there is none. */
export async function removeBackup(tx: Tx, id: number): Promise<StoredBackup | null> {
  const { rows } = await tx.query<StoredBackup>(
    `delete from backup where id = $1 and status <> 'running' returning ${columns}`,
    [id],
  )
  return rows[0] ?? null
}
