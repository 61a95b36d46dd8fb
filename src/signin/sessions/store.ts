import type { SystemRights, UserType } from '../../people/model.ts'
import { subject } from '../../people/service.ts'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'

/** The data of a token, as one row. */
export interface SessionRow {
  sessionId: string
  clientId: string
  scopes: string[]
  method: string
  authenticatedAt: Date
  tokenExpiresAt: Date
  /** sha256 of the browser id that must come with the token; null: any. */
  browserHash: Buffer | null
  /** `last_used_at` is some minutes old, and must be updated. */
  notSeenLately: boolean
  userId: number
  type: UserType
  login: string | null
  displayname: string
  reference: string | null
  systemRights: SystemRights
  databaseLanguages: string[]
  archived: boolean
  loginDisabled: boolean
  loginValidFrom: string | null
  loginValidTo: string | null
  requirePasswordChange: boolean
  /** The user has to confirm the address first. */
  emailUnconfirmed: boolean
  /** For the user of a link: its share is over, or has not begun. */
  shareEnded: boolean
  groups: MembershipRow[]
}

export interface MembershipRow {
  id: number
  systemRights: SystemRights
  networks: string[]
  exclude: boolean
}

/** Groups of the user `u`: those to which it was added, and those that contain all users of its type. */
const memberships = `coalesce((
  select jsonb_agg(jsonb_build_object('id', g.id, 'systemRights', g.system_rights, 'networks', g.ip_subnet_filter,
    'exclude', g.ip_subnet_filter_exclude) order by g.id)
  from "group" g
  where u.type = any(g.member_types)
    or exists (select from user_group ug where ug.user_id = u.id and ug.group_id = g.id)), '[]')`

const userColumns = `u.id as "userId", u.type, u.login, u.generated_displayname as displayname, u.reference,
  u.system_rights as "systemRights", u.database_languages as "databaseLanguages",
  u.archived_at is not null as archived, u.login_disabled as "loginDisabled",
  u.login_valid_from::text as "loginValidFrom", u.login_valid_to::text as "loginValidTo",
  u.require_password_change and u.type = any('{native,native_self_register,system}') as "requirePasswordChange",
  u.confirm_email and u.email_confirmed_at is null as "emailUnconfirmed",
  u.type = 'collection' and not collection_share_open(u.id) as "shareEnded", ${memberships} as groups`

const sessionColumns = `s.id as "sessionId", s.client_id as "clientId", t.scopes, s.method,
  s.authenticated_at as "authenticatedAt", t.expires_at as "tokenExpiresAt", s.browser_hash as "browserHash",
  s.last_used_at < now() - interval '5 minutes' as "notSeenLately", ${userColumns}`
const validTokens = `oauth_token t join oauth_session s on s.id = t.session_id join "user" u on u.id = s.user_id
  where t.kind = 'a' and t.expires_at > now() and s.revoked_at is null`

/** The session of an access token; `null` when it is unknown, expired or revoked. */
export async function findByAccessToken(db: Queryable, hash: Buffer): Promise<SessionRow | null> {
  const { rows } = await db.query<SessionRow>(
    `select ${sessionColumns} from ${validTokens} and t.hash = $1`,
    [hash],
    'session_by_token',
  )
  return rows[0] ?? null
}

/** The same for several tokens. */
export async function findByAccessTokens(
  db: Queryable,
  hashes: readonly Buffer[],
): Promise<(SessionRow & { hash: Buffer })[]> {
  const { rows } = await db.query<SessionRow & { hash: Buffer }>(
    `select t.hash, ${sessionColumns} from ${validTokens} and t.hash = any($1)`,
    [hashes],
    'sessions_by_tokens',
  )
  return rows
}

export type UserAccessRow = Omit<
  SessionRow,
  | 'sessionId'
  | 'clientId'
  | 'scopes'
  | 'method'
  | 'authenticatedAt'
  | 'tokenExpiresAt'
  | 'browserHash'
  | 'notSeenLately'
>

/** Rights and groups of users that act without a token: jobs, deep links, plugins. */
export async function findAccess(db: Queryable, userIds: readonly number[]): Promise<UserAccessRow[]> {
  const { rows } = await db.query<UserAccessRow>(
    `select ${userColumns} from "user" u where u.id = any($1)`,
    [userIds],
    'user_access',
  )
  return rows
}

export interface NewSession {
  id: string
  userId: number
  clientId: string
  scopes: readonly string[]
  method: string
  remoteAddr: string
  userAgent: string | null
  browserHash: Buffer | null
  /** The second factor that was proved. */
  twoFactor: string | null
}

export interface NewTokens {
  accessHash: Buffer
  /** The scopes of the access token: a refresh may narrow them. */
  scopes: readonly string[]
  accessSeconds: number
  refreshHash: Buffer | null
  refreshSeconds: number
}

const insertTokens = `insert into oauth_token (hash, kind, session_id, scopes, expires_at)
  select hash, kind::"char", $1, case kind when 'a' then $2::text[] else $3::text[] end, now() + make_interval(secs => seconds)
  from unnest($4::bytea[], $5::text[], $6::float8[]) as t (hash, kind, seconds)`

/** Stores a session with its first tokens. */
export async function insertSession(tx: Tx, session: NewSession, tokens: NewTokens): Promise<void> {
  await tx.query(
    `insert into oauth_session (id, user_id, client_id, scopes, method, remote_addr, user_agent, browser_hash, two_factor, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, now() + make_interval(secs => $10))`,
    [
      session.id,
      session.userId,
      session.clientId,
      session.scopes,
      session.method,
      session.remoteAddr,
      session.userAgent,
      session.browserHash,
      session.twoFactor,
      lifetime(tokens),
    ],
    'session_insert',
  )
  await tx.query(insertTokens, tokenValues(session.id, session.scopes, tokens), 'token_insert')
}

/** Adds tokens to a session; removes its expired ones. */
export async function addTokens(
  tx: Tx,
  session: { id: string; scopes: readonly string[] },
  tokens: NewTokens,
): Promise<void> {
  await Promise.all([
    tx.query(insertTokens, tokenValues(session.id, session.scopes, tokens), 'token_insert'),
    tx.query(
      `update oauth_session set expires_at = greatest(expires_at, now() + make_interval(secs => $2)) where id = $1`,
      [session.id, lifetime(tokens)],
      'session_extend',
    ),
    tx.query('delete from oauth_token where session_id = $1 and expires_at <= now()', [session.id], 'token_expire'),
  ])
}

function lifetime(tokens: NewTokens): number {
  return Math.max(tokens.accessSeconds, tokens.refreshHash ? tokens.refreshSeconds : 0)
}

function tokenValues(sessionId: string, sessionScopes: readonly string[], tokens: NewTokens): unknown[] {
  const { accessHash, refreshHash, accessSeconds, refreshSeconds, scopes } = tokens
  const refresh = refreshHash ? { hashes: [refreshHash], kinds: ['r'], seconds: [refreshSeconds] } : null
  return [
    sessionId,
    scopes,
    sessionScopes,
    [accessHash, ...(refresh?.hashes ?? [])],
    ['a', ...(refresh?.kinds ?? [])],
    [accessSeconds, ...(refresh?.seconds ?? [])],
  ]
}

export interface RotatedToken {
  sessionId: string
  userId: number
  scopes: string[]
  method: string
  /** The seed of its successor, together with the token itself. */
  seed: Buffer
}

/**
 * Uses up a refresh token. Checking and marking are one statement, so of two clients that send the same token only one gets a row.
 */
export async function useRefreshToken(
  tx: Tx,
  hash: Buffer,
  seed: Buffer,
  { clientId, browserHashes }: { clientId: string; browserHashes: readonly Buffer[] },
): Promise<RotatedToken | null> {
  const { rows } = await tx.query<RotatedToken>(
    `update oauth_token t set used_at = now(), successor_seed = $4 from oauth_session s
     where t.hash = $1 and t.kind = 'r' and t.used_at is null and t.expires_at > now()
       and s.id = t.session_id and s.revoked_at is null and s.client_id = $2
       and (s.browser_hash is null or s.browser_hash = any($3::bytea[]))
     returning s.id as "sessionId", s.user_id as "userId", s.scopes, s.method, t.successor_seed as seed`,
    [hash, clientId, browserHashes, seed],
    'refresh_use',
  )
  return rows[0] ?? null
}

/**
 * A refresh token that was used within these seconds, with the successor that was returned then. A use in the future (the clock was
 * set back) does not count: for that long a second use would not be noticed.
 */
export async function findJustUsed(
  tx: Tx,
  hash: Buffer,
  { clientId, browserHashes }: { clientId: string; browserHashes: readonly Buffer[] },
  seconds: number,
): Promise<RotatedToken | null> {
  const { rows } = await tx.query<RotatedToken>(
    `select s.id as "sessionId", s.user_id as "userId", s.scopes, s.method, t.successor_seed as seed
     from oauth_token t join oauth_session s on s.id = t.session_id
     where t.hash = $1 and t.kind = 'r' and t.expires_at > now()
       and t.used_at between now() - make_interval(secs => $4) and now() + make_interval(secs => $4)
       and t.successor_seed is not null and s.revoked_at is null and s.client_id = $2
       and (s.browser_hash is null or s.browser_hash = any($3::bytea[]))`,
    [hash, clientId, browserHashes, seconds],
    'refresh_just_used',
  )
  return rows[0] ?? null
}

/** Whether a token exists and has not expired. */
export async function hasToken(tx: Tx, hash: Buffer): Promise<boolean> {
  const { rowCount } = await tx.query(
    'select from oauth_token where hash = $1 and expires_at > now()',
    [hash],
    'token_exists',
  )
  return rowCount === 1
}

export interface FoundSession {
  sessionId: string
  userId: number
  clientId: string
  method: string
  bound: boolean
}

/** The columns of a FoundSession, from `oauth_session` s. */
const foundSession = `s.id as "sessionId", s.user_id as "userId", s.client_id as "clientId", s.method,
  s.browser_hash is not null as bound`

export interface FoundToken extends FoundSession {
  kind: 'a' | 'r'
  userType: UserType
  /** Null: it is not a used refresh token. */
  usedSecondsAgo: number | null
}

/** A token of either kind that is not revoked yet, expired or not. */
export async function findToken(db: Queryable, hash: Buffer): Promise<FoundToken | null> {
  const { rows } = await db.query<FoundToken>(
    `select ${foundSession}, t.kind::text as kind, u.type as "userType",
       abs(extract(epoch from now() - t.used_at))::float8 as "usedSecondsAgo"
     from oauth_token t join oauth_session s on s.id = t.session_id join "user" u on u.id = s.user_id
     where t.hash = $1 and s.revoked_at is null`,
    [hash],
    'token_session',
  )
  return rows[0] ?? null
}

/** A session that has not been ended yet. */
export async function findSession(db: Queryable, id: string): Promise<FoundSession | null> {
  const { rows } = await db.query<FoundSession>(
    `select ${foundSession} from oauth_session s where s.id = $1 and s.revoked_at is null`,
    [id],
    'session_open',
  )
  return rows[0] ?? null
}

/** Ends sessions; returns those that were still open. */
export async function revokeSessions(tx: Tx, sessionIds: readonly string[]): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>(
    'update oauth_session set revoked_at = now() where id = any($1) and revoked_at is null returning id',
    [sessionIds],
  )
  return rows.map((row) => row.id)
}

/** Ends those of these sessions that are still open. */
export async function revokeByIds(tx: Tx, ids: readonly string[]): Promise<FoundSession[]> {
  const { rows } = await tx.query<FoundSession>(
    `update oauth_session s set revoked_at = now()
     where id = any($1) and revoked_at is null and expires_at > now() returning ${foundSession}`,
    [ids],
    'sessions_end',
  )
  return rows
}

/** Ends all sessions of a user but one. */
export async function revokeOthers(tx: Tx, userId: number, keptId: string): Promise<FoundSession[]> {
  const { rows } = await tx.query<FoundSession>(
    `update oauth_session s set revoked_at = now()
     where user_id = $1 and id <> $2 and revoked_at is null and expires_at > now() returning ${foundSession}`,
    [userId, keptId],
    'sessions_end_others',
  )
  return rows
}

/** Ends the sessions that are bound to one of these browsers. */
export async function revokeOfBrowsers(tx: Tx, browserHashes: readonly Buffer[]): Promise<FoundSession[]> {
  const { rows } = await tx.query<FoundSession>(
    `update oauth_session s set revoked_at = now()
     where browser_hash = any($1::bytea[]) and revoked_at is null and expires_at > now() returning ${foundSession}`,
    [browserHashes],
    'sessions_end_browser',
  )
  return rows
}

export async function touch(db: Queryable, id: string): Promise<void> {
  await db.query('update oauth_session set last_used_at = now() where id = $1', [id], 'session_touch')
}

/** The access token stays valid for only a minute. False: it has already expired. */
export async function replaceAccessToken(tx: Tx, hash: Buffer, sessionId: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update oauth_token t set expires_at = least(t.expires_at, now() + interval '1 minute') from oauth_session s
     where t.hash = $1 and t.session_id = $2 and t.expires_at > now() and s.id = t.session_id and s.revoked_at is null`,
    [hash, sessionId],
    'access_replace',
  )
  return rowCount === 1
}

/** The client of a refresh token whose session is bound to a browser. */
export async function findBoundRefresh(db: Queryable, hash: Buffer): Promise<string | null> {
  const { rows } = await db.query<{ clientId: string }>(
    `select s.client_id as "clientId" from oauth_token t join oauth_session s on s.id = t.session_id
     where t.hash = $1 and t.kind = 'r' and s.browser_hash is not null`,
    [hash],
    'refresh_bound',
  )
  return rows[0]?.clientId ?? null
}

export interface InspectedToken {
  kind: 'a' | 'r'
  scopes: string[]
  clientId: string
  issuedAt: Date
  expiresAt: Date
  user: {
    subject: string
    archived: boolean
    loginDisabled: boolean
    loginValidFrom: string | null
    loginValidTo: string | null
    emailUnconfirmed: boolean
  }
}

/** A valid token, with its user. */
export async function inspectToken(db: Queryable, hash: Buffer): Promise<InspectedToken | null> {
  const { rows } = await db.query<InspectedToken>(
    `select t.kind::text as kind, t.scopes, s.client_id as "clientId", t.issued_at as "issuedAt",
       t.expires_at as "expiresAt",
       jsonb_build_object('subject', ${subject}, 'archived', u.archived_at is not null,
         'loginDisabled', u.login_disabled, 'loginValidFrom', u.login_valid_from, 'loginValidTo', u.login_valid_to,
         'emailUnconfirmed', u.confirm_email and u.email_confirmed_at is null,
         'shareEnded', u.type = 'collection' and not collection_share_open(u.id)) as user
     from oauth_token t join oauth_session s on s.id = t.session_id join "user" u on u.id = s.user_id
     where t.hash = $1 and t.expires_at > now() and t.used_at is null and s.revoked_at is null`,
    [hash],
    'token_inspect',
  )
  return rows[0] ?? null
}

/** Ends all sessions of users; returns the users with an open session. */
export async function revokeOfUsers(tx: Tx, userIds: readonly number[]): Promise<Set<number>> {
  const { rows } = await tx.query<{ user_id: number }>(
    `update oauth_session set revoked_at = now()
     where user_id = any($1) and revoked_at is null and expires_at > now() returning user_id`,
    [userIds],
  )
  return new Set(rows.map((row) => row.user_id))
}

/** Removes some sessions that have ended: each sign-in removes more than it adds. */
export async function removeEnded(tx: Tx): Promise<void> {
  await tx.query(
    `delete from oauth_session where id in
       (select id from oauth_session where expires_at < now() limit 10 for update skip locked)`,
  )
}

/**
 * Keeps `most` sessions of a user, this one among them: removes those that have ended, then those that were not used for the
 * longest time. It never waits: sessions that another sign-in is removing at this moment are left to it. Returns the removed
 * sessions that were open.
 */
export async function removeOldest(tx: Tx, userId: number, keptId: string, most: number): Promise<FoundSession[]> {
  const { rows } = await tx.query<FoundSession & { open: boolean }>(
    `with old as (
       select id from oauth_session where user_id = $1 and id <> $2 and method <> 'plugin'
       order by revoked_at is null desc, last_used_at desc, id offset $3 limit 20
     ), free as (select s.id from oauth_session s join old using (id) for update of s skip locked)
     delete from oauth_session s where id in (select id from free)
     returning ${foundSession}, s.revoked_at is null and s.expires_at > now() as open`,
    [userId, keptId, most - 1],
    'sessions_remove_oldest',
  )
  return rows.filter(({ open }) => open)
}

export async function noteLastSeen(tx: Tx, userId: number): Promise<void> {
  await tx.query(
    `update "user" set last_seen_at = now()
     where id = $1 and (last_seen_at is null or last_seen_at < now() - interval '1 minute')`,
    [userId],
    'user_seen',
  )
}
