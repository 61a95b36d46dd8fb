import type { Queryable, Tx } from '../../../platform/postgres/db.ts'

export interface Passkey {
  readonly id: string
  readonly userId: number
  readonly name: string
  readonly backedUp: boolean
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
}

/** The data for checking its signatures. */
export interface PasskeyKey {
  readonly id: string
  readonly userId: number
  readonly credentialId: Buffer
  readonly publicKey: Buffer
  readonly signCount: number
  readonly transports: readonly string[]
  /** Its identifier for the user. */
  readonly handle: Buffer | null
}

export interface NewPasskey {
  readonly userId: number
  readonly credentialId: Buffer
  readonly publicKey: Buffer
  readonly signCount: number
  readonly transports: readonly string[]
  readonly backedUp: boolean
  readonly name: string
}

export interface Challenge {
  readonly hash: Buffer
  readonly browserHash: Buffer
  /** Null: the passkey in the answer identifies the user. */
  readonly userId: number | null
  readonly purpose: 'setup' | 'proof'
}

export async function insertChallenge(db: Queryable, challenge: Challenge, seconds: number): Promise<void> {
  const { hash, browserHash, userId, purpose } = challenge
  await db.query(
    `insert into passkey_challenge (hash, browser_hash, user_id, purpose, expires_at)
     values ($1, $2, $3, $4, now() + make_interval(secs => $5))`,
    [hash, browserHash, userId, purpose, seconds],
    'passkey_challenge_insert',
  )
  await db.query(
    `delete from passkey_challenge where hash in
       (select hash from passkey_challenge where expires_at < now() limit 10 for update skip locked)`,
    [],
    'passkey_challenge_clean',
  )
}

/** Uses up a challenge: of two answers to one challenge, only one gets true. */
export async function takeChallenge(tx: Tx, { hash, browserHash, userId, purpose }: Challenge): Promise<boolean> {
  const { rowCount } = await tx.query(
    `delete from passkey_challenge where hash = $1 and browser_hash = $2 and user_id is not distinct from $3
       and purpose = $4 and expires_at > now()`,
    [hash, browserHash, userId, purpose],
    'passkey_challenge_take',
  )
  return rowCount === 1
}

/** The identifier of a user for passkeys; created at the first call. */
export async function handleOf(db: Queryable, userId: number, fresh: Buffer): Promise<Buffer> {
  const { rows } = await db.query<{ handle: Buffer }>(
    `insert into user_factor as f (user_id, passkey_handle) values ($1, $2)
     on conflict (user_id) do update set passkey_handle = coalesce(f.passkey_handle, excluded.passkey_handle)
     returning passkey_handle as handle`,
    [userId, fresh],
    'passkey_handle',
  )
  return rows[0]?.handle ?? fresh
}

const keyColumns = `p.id, p.user_id as "userId", p.credential_id as "credentialId", p.public_key as "publicKey",
  p.sign_count::float8 as "signCount", p.transports, f.passkey_handle as handle`

export async function findKeys(db: Queryable, userId: number): Promise<PasskeyKey[]> {
  const { rows } = await db.query<PasskeyKey>(
    `select ${keyColumns} from passkey p left join user_factor f on f.user_id = p.user_id where p.user_id = $1`,
    [userId],
    'passkeys_of_user',
  )
  return rows
}

/** The passkey with this id of its device, locked until the transaction ends. */
export async function lockKey(tx: Tx, credentialId: Buffer): Promise<PasskeyKey | null> {
  const { rows } = await tx.query<PasskeyKey>(
    `select ${keyColumns} from passkey p left join user_factor f on f.user_id = p.user_id
     where p.credential_id = $1 for update of p`,
    [credentialId],
    'passkey_lock',
  )
  return rows[0] ?? null
}

export async function markUsed(tx: Tx, id: string, used: { signCount: number; backedUp: boolean }): Promise<void> {
  await tx.query(
    'update passkey set sign_count = $2, backed_up = $3, last_used_at = now() where id = $1',
    [id, used.signCount, used.backedUp],
    'passkey_used',
  )
}

/** False: a user already has it. */
export async function insertPasskey(tx: Tx, passkey: NewPasskey): Promise<boolean> {
  const { userId, credentialId, publicKey, signCount, transports, name, backedUp } = passkey
  const { rowCount } = await tx.query(
    `insert into passkey (user_id, credential_id, public_key, sign_count, transports, name, backed_up)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict (credential_id) do nothing`,
    [userId, credentialId, publicKey, signCount, transports, name, backedUp],
    'passkey_insert',
  )
  return rowCount === 1
}

/** Oldest first. */
export async function listPasskeys(db: Queryable, userId: number): Promise<Passkey[]> {
  const { rows } = await db.query<Passkey>(
    `select id, user_id as "userId", name, backed_up as "backedUp", created_at as "createdAt",
       last_used_at as "lastUsedAt"
     from passkey where user_id = $1 order by created_at, id`,
    [userId],
    'passkeys_list',
  )
  return rows
}

/** False: this user has no such passkey. */
export async function renamePasskey(tx: Tx, userId: number, id: string, name: string): Promise<boolean> {
  const { rowCount } = await tx.query('update passkey set name = $3 where id = $1 and user_id = $2', [id, userId, name])
  return rowCount === 1
}

/** The owner of the passkey. */
export async function ownerOfPasskey(db: Queryable, id: string): Promise<number | null> {
  const { rows } = await db.query<{ userId: number }>(
    'select user_id as "userId" from passkey where id = $1',
    [id],
    'passkey_owner',
  )
  return rows[0]?.userId ?? null
}

/** False: this user has no such passkey. */
export async function removePasskey(tx: Tx, userId: number, id: string): Promise<boolean> {
  const { rowCount } = await tx.query('delete from passkey where id = $1 and user_id = $2', [id, userId])
  return rowCount === 1
}

export async function removePasskeysOf(tx: Tx, userIds: readonly number[]): Promise<void> {
  await tx.query('delete from passkey where user_id = any($1)', [userIds])
}
