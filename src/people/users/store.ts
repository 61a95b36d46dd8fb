import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import { secondsText } from '../../platform/postgres/moments.ts'
import type { StoredGrant } from '../../rights/service.ts'
import type { StoredUser, SystemRights, UserType } from '../model.ts'
import { type Readers, userReadable, userReaders } from '../readable.ts'
import { recordStore } from '../record-store.ts'

/** A user to write, in the spelling of the table. */
export interface UserRow {
  id: number
  version: number
  type: UserType
  login: string | null
  login_key: string | null
  email: string | null
  email_key: string | null
  reference: string | null
  generated_displayname: string
  profile: Record<string, unknown>
  picture_id: number | null
  database_languages: readonly string[]
  login_disabled: boolean
  login_valid_from: string | null
  login_valid_to: string | null
  require_password_change: boolean
  confirm_email: boolean
  confirm_email_sent_at: Date | null
  email_confirmed_at: Date | null
  welcome_email: boolean
  welcome_email_sent_at: Date | null
  /** Null keeps the stored one. */
  password_hash: string | null
  system_rights: SystemRights
  acl: readonly StoredGrant[]
  owner_user: number | null
  owner_group: number | null
}

const recordset = `jsonb_to_recordset($1) as n (id bigint, version int, type text, login text, login_key text,
  email text, email_key text, reference text, generated_displayname text, profile jsonb, picture_id bigint,
  database_languages text[],
  login_disabled boolean, login_valid_from date, login_valid_to date, require_password_change boolean,
  confirm_email boolean, confirm_email_sent_at timestamptz, email_confirmed_at timestamptz, welcome_email boolean,
  welcome_email_sent_at timestamptz, password_hash text, system_rights jsonb, acl jsonb, owner_user bigint,
  owner_group bigint)`

const columns = `t.id, t.version, t.type, t.login, t.email, t.reference,
  t.generated_displayname as "generatedDisplayname", t.profile, t.picture_id as "pictureId",
  t.database_languages as "databaseLanguages",
  t.login_disabled as "loginDisabled", t.login_valid_from::text as "loginValidFrom",
  t.login_valid_to::text as "loginValidTo", t.require_password_change as "requirePasswordChange",
  t.confirm_email as "confirmEmail", t.confirm_email_sent_at as "confirmEmailSentAt",
  t.email_confirmed_at as "emailConfirmedAt", t.welcome_email as "welcomeEmail",
  t.welcome_email_sent_at as "welcomeEmailSentAt",
  t.terms_version as "termsVersion", t.terms_accepted_at as "termsAcceptedAt",
  t.system_rights as "systemRights", t.acl,
  jsonb_build_object('userId', t.owner_user, 'groupId', t.owner_group) as owner,
  t.created_at as "createdAt", t.updated_at as "updatedAt", t.archived_at as "archivedAt",
  t.last_seen_at as "lastSeenAt",
  (select coalesce(jsonb_agg(ug.group_id order by ug.group_id), '[]') from user_group ug
   where ug.user_id = t.id) as "groupIds",
  (select coalesce(jsonb_object_agg(ug.group_id, jsonb_build_object('type', ug.automatic,
     'timestamp', ${secondsText('ug.automatic_at')})), '{}')
   from user_group ug where ug.user_id = t.id and ug.automatic is not null) as "automaticGroups"`

export const {
  lock: lockUsers,
  find: findUsers,
  newIds: newUserIds,
  remove: deleteUser,
} = recordStore<StoredUser>('user', columns)

export interface UserFilter {
  limit: number
  offset: number
  types: readonly string[] | null
  /** Types that are listed only on request. */
  hiddenTypes: readonly string[]
  groupIds: readonly number[] | null
  changedSince: Date | null
  archivedSince: Date | null
  /** No archived users, not even among those that were changed. */
  withoutArchived: boolean
  /** Only users that this user may read; null: all users. */
  reader: { userId: number; principals: readonly string[] } | null
}

/** A page of users by id. Archived ones are listed only where the filter asks for changes or for them. */
export async function listUsers(db: Queryable, filter: UserFilter): Promise<StoredUser[]> {
  const { rows } = await db.query<StoredUser>(
    `select ${columns} from "user" t
     where (t.type = any($1) or ($1::text[] is null and t.type <> all($2)))
       and ($3::bigint[] is null
         or exists (select from user_group ug where ug.user_id = t.id and ug.group_id = any($3))
         or exists (select from "group" g where g.id = any($3) and t.type = any(g.member_types)))
       and ($4::timestamptz is null or t.updated_at >= $4)
       and case when $5::timestamptz is not null then t.archived_at >= $5
             else t.archived_at is null or ($4::timestamptz is not null and not $11) end
       and ($6 or ${userReadable('$7', '$8')})
     order by t.id limit $9 offset $10`,
    [
      filter.types,
      filter.hiddenTypes,
      filter.groupIds,
      filter.changedSince,
      filter.archivedSince,
      filter.reader === null,
      filter.reader?.principals ?? [],
      filter.reader?.userId ?? 0,
      filter.limit,
      filter.offset,
      filter.withoutArchived,
    ],
  )
  return rows
}

/** The users that the reader may read. */
export async function readableUsers(
  db: Queryable,
  ids: readonly number[],
  reader: { userId: number; principals: readonly string[] },
): Promise<Set<number>> {
  const { rows } = await db.query<{ id: number }>(
    `select t.id from "user" t where t.id = any($1) and ${userReadable('$2', '$3')}`,
    [ids, reader.principals, reader.userId],
  )
  return new Set(rows.map((row) => row.id))
}

/** The readers of each existing user. */
export async function readersOfUsers(db: Queryable, ids: readonly number[]): Promise<Readers[]> {
  const { rows } = await db.query<Readers>(
    `select t.id, ${userReaders} as readers from "user" t where t.id = any($1)`,
    [ids],
  )
  return rows
}

export async function insertUsers(tx: Tx, users: readonly UserRow[]): Promise<void> {
  if (users.length === 0) return
  await tx.query(
    `insert into "user" (id, version, type, login, login_key, email, email_key, reference, generated_displayname,
       profile, picture_id, database_languages, login_disabled, login_valid_from, login_valid_to, require_password_change,
       confirm_email, confirm_email_sent_at, email_confirmed_at, welcome_email, welcome_email_sent_at,
       password_hash, system_rights, acl, owner_user, owner_group)
     select n.* from ${recordset}`,
    [JSON.stringify(users)],
  )
}

export async function updateUsers(tx: Tx, users: readonly UserRow[]): Promise<void> {
  if (users.length === 0) return
  await tx.query(
    `update "user" u set version = n.version, type = n.type, login = n.login, login_key = n.login_key,
       email = n.email, email_key = n.email_key, reference = n.reference,
       generated_displayname = n.generated_displayname, profile = n.profile,
       picture_id = n.picture_id,
       database_languages = n.database_languages, login_disabled = n.login_disabled,
       login_valid_from = n.login_valid_from, login_valid_to = n.login_valid_to,
       require_password_change = n.require_password_change, confirm_email = n.confirm_email,
       confirm_email_sent_at = n.confirm_email_sent_at, email_confirmed_at = n.email_confirmed_at,
       welcome_email = n.welcome_email, welcome_email_sent_at = n.welcome_email_sent_at,
       password_hash = coalesce(n.password_hash, u.password_hash),
       account_uuid = case when n.type = 'email' and n.email_key is not distinct from u.email_key then u.account_uuid end,
       system_rights = n.system_rights, acl = n.acl,
       owner_user = n.owner_user, owner_group = n.owner_group, updated_at = now()
     from ${recordset} where u.id = n.id`,
    [JSON.stringify(users)],
  )
}

/** Makes the groups of each user exactly these. */
export async function setGroups(tx: Tx, users: readonly { id: number; groupIds: readonly number[] }[]): Promise<void> {
  if (users.length === 0) return
  const pairs = JSON.stringify(
    users.flatMap(({ id, groupIds }) => groupIds.map((group_id) => ({ user_id: id, group_id }))),
  )
  await tx.query(
    `delete from user_group ug where ug.user_id = any($2)
       and not exists (select from jsonb_to_recordset($1) as n (user_id bigint, group_id bigint)
         where n.user_id = ug.user_id and n.group_id = ug.group_id)`,
    [pairs, users.map((user) => user.id)],
  )
  await tx.query(
    `insert into user_group (user_id, group_id)
     select user_id, group_id from jsonb_to_recordset($1) as n (user_id bigint, group_id bigint)
     on conflict do nothing`,
    [pairs],
  )
}

/** Archives a user or takes it back, and increments its version. */
export async function setArchived(tx: Tx, id: number, archived: boolean): Promise<void> {
  await tx.query(
    `update "user" set archived_at = case when $2 then now() end, version = version + 1, updated_at = now()
     where id = $1`,
    [id, archived],
  )
}

/** Names are locked by one of this number of locks, so that a large batch does not hold more of them. */
const nameLocks = 256

/**
 * Waits for other transactions that are just assigning any of these names. Rows of one statement are written in no certain order,
 * so without this lock two batches with the same names could each wait for the other.
 */
export async function lockNames(tx: Tx, names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  await tx.query(
    `select pg_advisory_xact_lock(hashtext('user_name'), l.number) from (
       select distinct abs(hashtext(n.name) % $2) as number from unnest($1::text[]) as n (name) order by 1 offset 0) l`,
    [names, nameLocks],
  )
}

/** The names and addresses of a user. */
export interface Identity {
  login: string | null
  loginKey: string | null
  email: string | null
  emailKey: string | null
  profile: Readonly<Record<string, unknown>>
  pictureId: number | null
  displayname: string
}

export async function setIdentity(tx: Tx, id: number, identity: Identity): Promise<void> {
  const { login, loginKey, email, emailKey, profile, displayname, pictureId } = identity
  await tx.query(
    `update "user" set login = $2, login_key = $3, email = $4, email_key = $5, profile = $6,
       generated_displayname = $7, picture_id = $8 where id = $1`,
    [id, login, loginKey, email, emailKey, profile, displayname, pictureId],
  )
}

/** The user with this login, or else this email, in the form of `identityKey`; null when there is none. */
export async function findByLoginOrEmail(db: Queryable, key: string): Promise<number | null> {
  const { rows } = await db.query<{ id: number }>(
    'select id from "user" where login_key = $1 or email_key = $1 order by (login_key = $1) desc nulls last limit 1',
    [key],
  )
  return rows[0]?.id ?? null
}

export async function findPasswordHash(db: Queryable, id: number): Promise<string | null> {
  const { rows } = await db.query<{ hash: string | null }>('select password_hash as hash from "user" where id = $1', [
    id,
  ])
  return rows[0]?.hash ?? null
}

/** Sets a password that the user chose. */
export async function setPassword(tx: Tx, id: number, hash: string): Promise<void> {
  await tx.query(
    `update "user" set password_hash = $2, require_password_change = false, version = version + 1, updated_at = now()
     where id = $1`,
    [id, hash],
  )
}

/** Records that mail to the user's address arrives. */
export async function confirmEmail(tx: Tx, id: number): Promise<void> {
  await tx.query(
    `update "user" set email_confirmed_at = now(), version = version + 1, updated_at = now()
     where id = $1 and email is not null`,
    [id],
  )
}

/** Records that a user has accepted terms. */
export async function acceptTerms(
  tx: Tx,
  id: number,
  { version, acceptedAt }: { version: string; acceptedAt: string },
): Promise<void> {
  await tx.query('update "user" set terms_version = $2, terms_accepted_at = $3 where id = $1', [
    id,
    version,
    acceptedAt,
  ])
}

/** The users who have no password yet. */
export async function lackPassword(db: Queryable, ids: readonly number[]): Promise<ReadonlySet<number>> {
  const { rows } = await db.query<{ id: number }>(
    'select id from "user" where id = any($1) and password_hash is null',
    [ids],
  )
  return new Set(rows.map((row) => row.id))
}

/** A group as users show it, with the data for rules on memberships. */
export interface GroupSummary {
  id: number
  version: number
  type: string
  name: string | null
  reference: string | null
  displayname: Record<string, string>
  memberTypes: string[]
  systemRights: SystemRights
}

/** The groups of these ids, and all that take members by their type. */
export async function findGroupSummaries(db: Queryable, ids: readonly number[]): Promise<GroupSummary[]> {
  const { rows } = await db.query<GroupSummary>(
    `select id, version, type, name, reference, displayname, member_types as "memberTypes",
       system_rights as "systemRights"
     from "group" where id = any($1) or member_types <> '{}' order by id`,
    [ids],
    'group_summaries',
  )
  return rows
}

/** Users of the types who have not been seen since then, longest absent first. Never system users. */
export async function idleUsers(
  db: Queryable,
  before: Date,
  types: readonly string[],
  most: number,
): Promise<number[]> {
  const { rows } = await db.query<{ id: number }>(
    `select id from "user" where archived_at is null and type = any($2) and coalesce(last_seen_at, created_at) < $1
     order by coalesce(last_seen_at, created_at), id limit $3`,
    [before, types, most],
  )
  return rows.map(({ id }) => id)
}

/** Users who have been in the archive since before then. */
export async function archivedUsers(db: Queryable, before: Date, most: number): Promise<number[]> {
  const { rows } = await db.query<{ id: number }>(
    `select id from "user" where archived_at < $1 and type <> 'system' order by archived_at, id limit $2`,
    [before, most],
  )
  return rows.map(({ id }) => id)
}
