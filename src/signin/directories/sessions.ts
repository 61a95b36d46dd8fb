import { randomUUID } from 'node:crypto'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'

/** A sign-in by another server, kept to sign out there. */
export interface DirectorySession {
  readonly kind: 'openid' | 'saml'
  readonly provider: string
  readonly userId: number
  readonly subject: string
  readonly details: Readonly<Record<string, string>>
}

const days = 31

/** Keeps it until its code is used, and then for as long as the session. */
export async function keepDirectorySession(db: Queryable, session: DirectorySession): Promise<string> {
  const id = randomUUID()
  const { kind, provider, userId, subject, details } = session
  await db.query(
    `insert into directory_session (id, kind, provider, user_id, subject, details, expires_at)
     values ($1, $2, $3, $4, $5, $6, now() + make_interval(days => $7))`,
    [id, kind, provider, userId, subject, JSON.stringify(details), days],
    'directory_session_insert',
  )
  await db.query(
    `delete from directory_session where id in
       (select id from directory_session where expires_at < now() limit 10 for update skip locked)`,
    [],
    'directory_session_clean',
  )
  return id
}

/** A session was opened for it. */
export async function adoptDirectorySession(db: Queryable, id: string, sessionId: string): Promise<void> {
  await db.query(
    'update directory_session set session_id = $2 where id = $1',
    [id, sessionId],
    'directory_session_adopt',
  )
}

/** The latest open one in a browser; null: none. */
export async function directorySessionOf(
  db: Queryable,
  browserHashes: readonly Buffer[],
): Promise<DirectorySession | null> {
  if (browserHashes.length === 0) return null
  const { rows } = await db.query<DirectorySession>(
    `select d.kind, d.provider, d.user_id as "userId", d.subject, d.details
     from oauth_session s join directory_session d on d.session_id = s.id
     where s.browser_hash = any($1::bytea[]) and s.revoked_at is null
     order by s.authenticated_at desc, s.id limit 1`,
    [browserHashes],
    'directory_session_browser',
  )
  return rows[0] ?? null
}

/**
 * A provider signs a person out: deletes their sign-ins by it, so that their codes become invalid, and returns the sessions that
 * were opened for them. `indexes`: only these sign-ins; empty: all.
 */
export async function takeDirectorySessions(
  tx: Tx,
  { provider, subject, indexes }: { provider: string; subject: string; indexes: readonly string[] },
): Promise<string[]> {
  const { rows } = await tx.query<{ sessionId: string | null }>(
    `delete from directory_session where kind = 'saml' and provider = $1 and subject = $2
       and (details ->> 'index' = any($3) or cardinality($3::text[]) = 0) returning session_id as "sessionId"`,
    [provider, subject, indexes],
    'directory_session_take',
  )
  return rows.flatMap(({ sessionId }) => sessionId ?? [])
}
