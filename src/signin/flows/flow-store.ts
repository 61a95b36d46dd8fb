import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import type { Login, NewLogin } from './login.ts'

type Row = Omit<Login, 'id'>

const columns = `client_id as "clientId", redirect_uri as "redirectUri", redirect_uri_given as "redirectUriGiven", state,
  scopes, code_challenge as "codeChallenge", keep_login as "keepLogin", bound_browser_hash as "boundBrowserHash",
  browser_hash as "browserHash", user_id as "userId", method, login, remote_addr as "remoteAddr",
  user_agent as "userAgent", steps_done as "stepsDone", notes, failures, created_at as "createdAt"`

export async function insertFlow(db: Queryable, idHash: Buffer, login: NewLogin, seconds: number): Promise<void> {
  await db.query(
    `insert into login_flow (id_hash, browser_hash, client_id, redirect_uri, redirect_uri_given, state, scopes,
       code_challenge, keep_login, bound_browser_hash, user_id, method, login, remote_addr, user_agent, notes, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, now() + make_interval(secs => $17))`,
    [
      idHash,
      login.browserHash,
      login.clientId,
      login.redirectUri,
      login.redirectUriGiven,
      login.state,
      login.scopes,
      login.codeChallenge,
      login.keepLogin,
      login.boundBrowserHash,
      login.userId,
      login.method,
      login.login,
      login.remoteAddr,
      login.userAgent,
      JSON.stringify(login.notes),
      seconds,
    ],
    'login_flow_insert',
  )
  await db.query(
    `delete from login_flow where id_hash in
       (select id_hash from login_flow where expires_at < now() limit 10 for update skip locked)`,
    [],
    'login_flow_clean',
  )
}

/** A sign-in in progress of this browser; null when there is none, or when it has expired. */
export async function findFlow(db: Queryable, idHash: Buffer, browserHash: Buffer): Promise<Row | null> {
  const { rows } = await db.query<Row>(
    `select ${columns} from login_flow where id_hash = $1 and browser_hash = $2 and expires_at > now()`,
    [idHash, browserHash],
    'login_flow',
  )
  return rows[0] ?? null
}

export async function findFlowOfAnyBrowser(db: Queryable, idHash: Buffer): Promise<Row | null> {
  const { rows } = await db.query<Row>(
    `select ${columns} from login_flow where id_hash = $1 and expires_at > now()`,
    [idHash],
    'login_flow_message',
  )
  return rows[0] ?? null
}

export async function lockFlow(tx: Tx, idHash: Buffer): Promise<boolean> {
  const { rowCount } = await tx.query(
    'select from login_flow where id_hash = $1 and expires_at > now() for update',
    [idHash],
    'login_flow_lock',
  )
  return rowCount === 1
}

/** Sets the user of a sign-in for which nothing was proved yet. */
export async function proveFlow(
  db: Queryable,
  idHash: Buffer,
  proof: { userId: number; method: string; login: string | null },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update login_flow set user_id = $2, method = $3, login = $4
     where id_hash = $1 and user_id is null and expires_at > now()`,
    [idHash, proof.userId, proof.method, proof.login],
    'login_flow_prove',
  )
  return rowCount === 1
}

/** Marks a step as passed and stores the codes for the way back. */
export async function passStep(
  db: Queryable,
  idHash: Buffer,
  passed: { step: string; codeHash: Buffer; secretHash: Buffer; seconds: number },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update login_flow set steps_done = array_append(array_remove(steps_done, $2), $2), failures = 0,
       action_code_hash = $3, action_secret_hash = $4, action_expires_at = now() + make_interval(secs => $5)
     where id_hash = $1 and user_id is not null and expires_at > now()`,
    [idHash, passed.step, passed.codeHash, passed.secretHash, passed.seconds],
    'login_flow_pass',
  )
  return rowCount === 1
}

/**
 * Uses up the way back from a page, and gives the sign-in another id: pages that are still open become invalid. Checking and using
 * are one statement: of two requests with the same pair one gets a row (CLIENT-025).
 */
export async function useAction(
  db: Queryable,
  action: { codeHash: Buffer; secretHash: Buffer; browserHash: Buffer; nextIdHash: Buffer },
): Promise<Row | null> {
  const { rows } = await db.query<Row>(
    `update login_flow set id_hash = $4, action_code_hash = null, action_secret_hash = null, action_expires_at = null
     where action_code_hash = $1 and action_secret_hash = $2 and browser_hash = $3
       and action_expires_at > now() and expires_at > now()
     returning ${columns}`,
    [action.codeHash, action.secretHash, action.browserHash, action.nextIdHash],
    'login_flow_action',
  )
  return rows[0] ?? null
}

/** Counts a wrong answer; returns their number, or null when the sign-in is over. */
export async function countFailure(db: Queryable, idHash: Buffer): Promise<number | null> {
  const { rows } = await db.query<{ failures: number }>(
    'update login_flow set failures = failures + 1 where id_hash = $1 and expires_at > now() returning failures',
    [idHash],
    'login_flow_fail',
  )
  return rows[0]?.failures ?? null
}

export async function keepNote(db: Queryable, idHash: Buffer, step: string, note: unknown): Promise<void> {
  await db.query(
    'update login_flow set notes = notes || jsonb_build_object($2::text, $3::jsonb) where id_hash = $1',
    [idHash, step, JSON.stringify(note)],
    'login_flow_note',
  )
}

/** Ends a sign-in, finished or not. False: it was over already. */
export async function removeFlow(db: Queryable, idHash: Buffer): Promise<boolean> {
  const { rowCount } = await db.query('delete from login_flow where id_hash = $1', [idHash], 'login_flow_remove')
  return rowCount === 1
}
