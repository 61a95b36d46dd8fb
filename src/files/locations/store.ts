import { AppError } from '../../platform/errors.ts'
import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'
import { LockedSecret, type SealedTexts, type Secret } from '../../platform/secrets/sealed-texts.ts'
import { masked } from '../../platform/secrets/secrets.ts'
import type { Sha256 } from '../blobs/blob-store.ts'
import type { Location, LocationDraft } from './model.ts'

/** The purpose that sealed secrets are bound to. */
const about = 'secret key of a location'

const columns = `id, created_at as "createdAt", name, kind, prefix, config, allow_purge as "allowPurge",
  read_only as "readOnly"`

/** All locations; each with its secret, as far as a key here opens it. */
export async function readLocations(from: Queryable, texts: SealedTexts): Promise<Location[]> {
  const { rows } = await from.query<Location>(
    `select ${columns} from file_location where kind <> 'remote' order by id`,
    [],
    'locations',
  )
  return Promise.all(rows.map((row) => withSecret(row, texts)))
}

/** Locks a location against changes until the transaction ends; null when there is none. */
export async function lockLocation(tx: Tx, id: number, texts: SealedTexts): Promise<Location | null> {
  const { rows } = await tx.query<Location>(
    `select ${columns} from file_location where id = $1 and kind <> 'remote' for update`,
    [id],
  )
  return rows[0] ? withSecret(rows[0], texts) : null
}

async function withSecret(location: Location, texts: SealedTexts): Promise<Location> {
  if (location.kind !== 's3') return location
  const secretkey = (await texts.open(location.config.secretkey, about)) as Secret
  return { ...location, config: { ...location.config, secretkey } }
}

/**
 * Seals all unsealed secrets with the present key, in one transaction. Answers how many secrets none of the keys here can
 * open.
 */
export function resealLocations(db: Db, texts: SealedTexts): Promise<number> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<{ id: number; stored: unknown }>(
      `select id, config -> 'secretkey' as stored from file_location
       where kind = 's3' and config -> 'secretkey' <> '""' order by id for update`,
    )
    let locked = 0
    const renewed: { id: number; secretkey: object }[] = []
    for (const { id, stored } of rows) {
      const secret = (await texts.open(stored, about)) as Secret
      if (secret instanceof LockedSecret) locked++
      else if (!(await texts.isPresent(stored)))
        renewed.push({ id, secretkey: await texts.seal(secret, about, masked) })
    }
    if (renewed.length > 0) {
      await tx.query(
        `update file_location l set config = jsonb_set(l.config, '{secretkey}', n.secretkey)
         from jsonb_to_recordset($1) as n (id bigint, secretkey jsonb) where l.id = n.id`,
        [JSON.stringify(renewed)],
      )
    }
    return locked
  })
}

/** Whether the location with this name can be written to; locks it until the transaction ends. */
export async function isWritable(tx: Tx, name: string): Promise<boolean> {
  const { rows } = await tx.query(
    `select from file_location where name = $1 and not read_only and kind <> 'remote' for share`,
    [name],
  )
  return rows.length === 1
}

/** @throws {AppError} `DatabaseUniqueKeyViolation` when another has the name. */
export async function insertLocation(tx: Tx, draft: LocationDraft, texts: SealedTexts): Promise<number> {
  const { rows } = await tx.query<{ id: number }>(
    `insert into file_location (name, kind, prefix, config, allow_purge, read_only)
     values ($1, $2, $3, $4, $5, $6) on conflict (name) do nothing returning id`,
    await valuesOf(draft, texts),
  )
  if (!rows[0]) throw nameTaken(draft.name)
  return rows[0].id
}

/** @throws {AppError} `DatabaseUniqueKeyViolation` when another has the name. */
export async function updateLocation(tx: Tx, id: number, draft: LocationDraft, texts: SealedTexts): Promise<void> {
  const { rows } = await tx.query('select from file_location where name = $1 and id <> $2', [draft.name, id])
  if (rows.length > 0) throw nameTaken(draft.name)
  await tx.query(
    `update file_location set name = $1, kind = $2, prefix = $3, config = $4, allow_purge = $5, read_only = $6
     where id = $7`,
    [...(await valuesOf(draft, texts)), id],
  )
}

export async function deleteLocation(tx: Tx, id: number): Promise<void> {
  await tx.query('delete from file_location where id = $1', [id])
}

/** Some of the contents of a location; empty when it has none. */
/** Whether the location stores the archive of a backup. */
export async function hasBackups(tx: Queryable, id: number): Promise<boolean> {
  const { rows } = await tx.query('select from backup where location_id = $1 limit 1', [id])
  return rows.length > 0
}

export async function someBlobs(tx: Queryable, id: number, most: number): Promise<Sha256[]> {
  const { rows } = await tx.query<{ sha256: Sha256 }>(
    `select encode(sha256, 'hex') as sha256 from file_blob where location_id = $1 limit $2`,
    [id, most],
  )
  return rows.map((row) => row.sha256)
}

async function valuesOf(draft: LocationDraft, texts: SealedTexts): Promise<unknown[]> {
  const config: Record<string, unknown> = { ...draft.config }
  if (draft.kind === 's3' && draft.config.secretkey !== '') {
    config.secretkey = await texts.seal(draft.config.secretkey, about, masked)
  }
  return [draft.name, draft.kind, draft.prefix, JSON.stringify(config), draft.allowPurge, draft.readOnly]
}

function nameTaken(name: string): AppError {
  return new AppError(
    'DatabaseUniqueKeyViolation',
    { name: 'name', value: name },
    { message: `Another location has the name ${name}.` },
  )
}
