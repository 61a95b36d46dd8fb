import type { UserType } from '../../people/model.ts'
import type { ShownFactors } from '../../people/service.ts'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import type { RecordedMethod } from './methods.ts'

/** The factors that a user can prove, and the groups that require one. */
export interface FactorRow {
  readonly type: UserType
  readonly login: string | null
  readonly email: string | null
  readonly totp: boolean
  readonly passkeys: number
  readonly recoveryCodes: number
  /** Groups of the user that require a second factor, for any network of the request. */
  readonly requiringGroups: readonly number[]
}

export async function findFactors(db: Queryable, userId: number): Promise<FactorRow | null> {
  const { rows } = await db.query<FactorRow>(
    `select u.type, u.login, u.email, f.totp_secret is not null as totp,
       (select count(*)::int from passkey p where p.user_id = u.id) as passkeys,
       coalesce(cardinality(f.recovery_hashes), 0) as "recoveryCodes",
       coalesce((select jsonb_agg(g.id) from "group" g where g.two_fa_required and (u.type = any(g.member_types)
         or exists (select from user_group ug where ug.user_id = u.id and ug.group_id = g.id))), '[]')
         as "requiringGroups"
     from "user" u left join user_factor f on f.user_id = u.id where u.id = $1`,
    [userId],
    'user_factors',
  )
  return rows[0] ?? null
}

export interface LockedFactors {
  readonly totpSecret: Buffer | null
  readonly totpLastStep: number
  readonly recoveryCodes: number
}

/**
 * Attempts of one user are checked one after the other, so that failures are counted exactly, however many requests come at once.
 */
export async function lockFactors(tx: Tx, userId: number): Promise<LockedFactors> {
  await tx.query(
    'insert into user_factor (user_id) values ($1) on conflict (user_id) do nothing',
    [userId],
    'user_factor_add',
  )
  const { rows } = await tx.query<LockedFactors>(
    `select totp_secret as "totpSecret", totp_last_step as "totpLastStep", cardinality(recovery_hashes) as "recoveryCodes"
     from user_factor where user_id = $1 for update`,
    [userId],
    'user_factor_lock',
  )
  return rows[0] ?? { totpSecret: null, totpLastStep: 0, recoveryCodes: 0 }
}

/** Records that a code of this time step was used. The row is locked. */
export async function useStep(tx: Tx, userId: number, step: number): Promise<void> {
  await tx.query('update user_factor set totp_last_step = $2 where user_id = $1', [userId, step], 'user_factor_step')
}

/** Uses up a recovery code. False: it is none of the remaining ones. */
export async function useRecoveryCode(tx: Tx, userId: number, hash: Buffer): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update user_factor set recovery_hashes = array_remove(recovery_hashes, $2)
     where user_id = $1 and $2 = any(recovery_hashes)`,
    [userId, hash],
    'user_factor_recover',
  )
  return rowCount === 1
}

export async function setRecoveryCodes(tx: Tx, userId: number, hashes: readonly Buffer[]): Promise<void> {
  await tx.query('update user_factor set recovery_hashes = $2 where user_id = $1', [userId, hashes])
}

/** @param secret sealed */
export async function setTotp(tx: Tx, userId: number, secret: Buffer, step: number): Promise<void> {
  await tx.query(
    'update user_factor set totp_secret = $2, totp_last_step = $3, totp_enrolled_at = now() where user_id = $1',
    [userId, secret, step],
  )
}

export async function setLastMethod(tx: Tx, userId: number, method: RecordedMethod): Promise<void> {
  await tx.query('update user_factor set last_method = $2 where user_id = $1', [userId, method], 'user_factor_method')
}

/** Removes authenticator apps and recovery codes. The last time step is kept, so that no code works a second time. */
export async function removeTotp(tx: Tx, userIds: readonly number[]): Promise<void> {
  await tx.query(
    `update user_factor set totp_secret = null, totp_enrolled_at = null, recovery_hashes = '{}'
     where user_id = any($1)`,
    [userIds],
  )
}

/** The same, but keeps the recovery codes. */
export async function removeTotpAlone(tx: Tx, userId: number): Promise<void> {
  await tx.query('update user_factor set totp_secret = null, totp_enrolled_at = null where user_id = $1', [userId])
}

/** Secrets of apps, of all users, that are not sealed with the current key; locked until the transaction ends. */
export async function lockOtherwiseSealed(tx: Tx, prefix: Buffer): Promise<{ userId: number; secret: Buffer }[]> {
  const { rows } = await tx.query<{ userId: number; secret: Buffer }>(
    `select user_id as "userId", totp_secret as secret from user_factor
     where totp_secret is not null and substring(totp_secret for octet_length($1::bytea)) <> $1
     order by user_id for update`,
    [prefix],
  )
  return rows
}

export async function hasTotp(db: Queryable): Promise<boolean> {
  const { rows } = await db.query('select from user_factor where totp_secret is not null limit 1')
  return rows.length > 0
}

export async function replaceSecrets(tx: Tx, userIds: readonly number[], secrets: readonly Buffer[]): Promise<void> {
  await tx.query(
    `update user_factor f set totp_secret = n.secret from unnest($1::bigint[], $2::bytea[]) as n (user_id, secret)
     where f.user_id = n.user_id`,
    [userIds, secrets],
  )
}

/** Recovery codes replace another factor: they are removed for users without any other. */
export async function removeLoneRecoveryCodes(tx: Tx, userIds: readonly number[]): Promise<void> {
  await tx.query(
    `update user_factor f set recovery_hashes = '{}' where user_id = any($1) and totp_secret is null
       and not exists (select from passkey p where p.user_id = f.user_id)`,
    [userIds],
  )
}

export async function findShown(db: Queryable, userIds: readonly number[]): Promise<ShownFactors[]> {
  const { rows } = await db.query<ShownFactors>(
    `select user_id as "userId", totp_secret is not null as totp, last_method as "lastMethod",
       exists (select from passkey p where p.user_id = f.user_id) as passkey
     from user_factor f where user_id = any($1)`,
    [userIds],
    'user_factors_shown',
  )
  return rows
}

/** Marks the record of a user as changed. Returns its new version, and the name for events. */
export async function touchUser(tx: Tx, userId: number) {
  const { rows } = await tx.query<{
    version: number
    login: string | null
    displayname: string
    reference: string | null
  }>(
    `update "user" set version = version + 1, updated_at = now() where id = $1
     returning version, login, generated_displayname as displayname, reference`,
    [userId],
  )
  return rows[0] ?? null
}
