import type { Queryable, Tx } from '../../platform/db.ts'
import { AppError } from '../../platform/errors.ts'
import type { Sha256 } from '../blobs/blob-store.ts'
import type { Location, LocationDraft } from './model.ts'

const columns = `id, created_at as "createdAt", name, kind, prefix, config, allow_purge as "allowPurge",
  read_only as "readOnly"`

export async function readLocations(from: Queryable): Promise<Location[]> {
  const { rows } = await from.query<Location>(
    `select ${columns} from file_location where kind <> 'remote' order by id`,
    [],
    'locations',
  )
  return rows
}

/** Locks it against changes until the transaction ends; null when there is none. */
export async function lockLocation(tx: Tx, id: number): Promise<Location | null> {
  const { rows } = await tx.query<Location>(
    `select ${columns} from file_location where id = $1 and kind <> 'remote' for update`,
    [id],
  )
  return rows[0] ?? null
}

/** Whether something can be stored at the location of this name; it stays so until the transaction ends. */
export async function isWritable(tx: Tx, name: string): Promise<boolean> {
  const { rows } = await tx.query(
    `select from file_location where name = $1 and not read_only and kind <> 'remote' for share`,
    [name],
  )
  return rows.length === 1
}

/** @throws {AppError} `DatabaseUniqueKeyViolation` when another has the name. */
export async function insertLocation(tx: Tx, draft: LocationDraft): Promise<number> {
  const { rows } = await tx.query<{ id: number }>(
    `insert into file_location (name, kind, prefix, config, allow_purge, read_only)
     values ($1, $2, $3, $4, $5, $6) on conflict (name) do nothing returning id`,
    valuesOf(draft),
  )
  if (!rows[0]) throw nameTaken(draft.name)
  return rows[0].id
}

/** @throws {AppError} `DatabaseUniqueKeyViolation` when another has the name. */
export async function updateLocation(tx: Tx, id: number, draft: LocationDraft): Promise<void> {
  const { rows } = await tx.query('select from file_location where name = $1 and id <> $2', [draft.name, id])
  if (rows.length > 0) throw nameTaken(draft.name)
  await tx.query(
    `update file_location set name = $1, kind = $2, prefix = $3, config = $4, allow_purge = $5, read_only = $6
     where id = $7`,
    [...valuesOf(draft), id],
  )
}

export async function deleteLocation(tx: Tx, id: number): Promise<void> {
  await tx.query('delete from file_location where id = $1', [id])
}

/** Some of the contents of a location; none: there are none. */
export async function someBlobs(tx: Queryable, id: number, most: number): Promise<Sha256[]> {
  const { rows } = await tx.query<{ sha256: Sha256 }>(
    `select encode(sha256, 'hex') as sha256 from file_blob where location_id = $1 limit $2`,
    [id, most],
  )
  return rows.map((row) => row.sha256)
}

function valuesOf(draft: LocationDraft): unknown[] {
  return [draft.name, draft.kind, draft.prefix, JSON.stringify(draft.config), draft.allowPurge, draft.readOnly]
}

function nameTaken(name: string): AppError {
  return new AppError(
    'DatabaseUniqueKeyViolation',
    { name: 'name', value: name },
    { message: `Another location has the name ${name}.` },
  )
}
