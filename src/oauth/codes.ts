import { AppError } from '../platform/errors.ts'
import type { Db, Queryable, Tx } from '../platform/postgres/db.ts'
import { adoptDirectorySession, type IssuedTokens, newToken, type Sessions, tokenHash } from '../signin/service.ts'

/** The data of a code. */
export interface CodeGrant {
  readonly clientId: string
  readonly redirectUri: string
  readonly redirectUriGiven: boolean
  readonly scopes: readonly string[]
  readonly codeChallenge: string | null
  /** The browser id that the session is bound to. */
  readonly boundBrowserHash: Buffer | null
  readonly userId: number
  readonly method: string
  readonly login: string | null
  /** The second factor that was proved; null: none was required. */
  readonly twoFactor: string | null
  /** The sign-in by another server, if any. */
  readonly directorySession: string | null
  readonly remoteAddr: string
  readonly userAgent: string | null
}

/** The data of a token request with a code. */
export interface CodeUse {
  readonly code: string
  readonly clientId: string
  /** Undefined: the request has none. */
  readonly redirectUri: string | undefined
  /** The challenge for the verifier in the request; null: there is no verifier. */
  readonly codeChallenge: string | null
  /** Hashes of the browser ids in the request. */
  readonly browserHashes: readonly Buffer[]
  readonly remoteAddr: string
  /** Seconds of the access token's life, if different from the base configuration. */
  readonly accessSeconds?: number
}

/** Seconds. @see RFC 6749 section 4.1.2: ten minutes at most; a browser is back at once. */
const lifetime = 60

export type Codes = ReturnType<typeof createCodes>

export function createCodes({ db, sessions }: { db: Db; sessions: Sessions }) {
  return {
    async issue(tx: Queryable, grant: CodeGrant): Promise<string> {
      const code = newToken()
      await insertCode(tx, tokenHash(code), grant)
      return code
    },

    /**
     * A session for a code, which is used up; `null` when it is not valid, or not for this client, address, verifier and browser. A
     * second use of a code ends the session that was opened with it: one of the two senders has stolen it.
     * @see RFC 9700 section 2.1.1; RFC 6749 section 10.5
     */
    async redeem(use: CodeUse): Promise<(IssuedTokens & { userId: number }) | null> {
      const hash = tokenHash(use.code)
      const issued = await db.transaction(async (tx) => {
        const grant = await useCode(tx, hash, use)
        if (!grant) return null
        const opened = await sessions.openWithin(tx, {
          ...grant,
          browserHash: grant.boundBrowserHash,
          login: grant.login ?? undefined,
          ...(use.accessSeconds === undefined ? {} : { accessSeconds: use.accessSeconds }),
        })
        if (!opened) throw new AppError('InvalidToken')
        await tx.query(
          'update oauth_code set session_id = $2 where hash = $1',
          [hash, opened.sessionId],
          'code_session',
        )
        if (grant.directorySession !== null) await adoptDirectorySession(tx, grant.directorySession, opened.sessionId)
        return { ...opened.issued, userId: grant.userId }
      })
      if (!issued) await endStolen(hash, use)
      return issued
    },
  }

  async function endStolen(hash: Buffer, { clientId, remoteAddr }: CodeUse): Promise<void> {
    const { rows } = await db.query<{ sessionId: string | null }>(
      `select session_id as "sessionId" from oauth_code where hash = $1 and client_id = $2 and used_at is not null`,
      [hash, clientId],
      'code_reused',
    )
    const sessionId = rows[0]?.sessionId
    if (sessionId) await sessions.endSession(sessionId, remoteAddr, 'code_reuse')
  }
}

async function insertCode(db: Queryable, hash: Buffer, grant: CodeGrant): Promise<void> {
  await db.query(
    `insert into oauth_code (hash, client_id, redirect_uri, redirect_uri_given, scopes, code_challenge, browser_hash,
       user_id, method, login, two_factor, remote_addr, user_agent, directory_session, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, now() + make_interval(secs => $15))`,
    [
      hash,
      grant.clientId,
      grant.redirectUri,
      grant.redirectUriGiven,
      grant.scopes,
      grant.codeChallenge,
      grant.boundBrowserHash,
      grant.userId,
      grant.method,
      grant.login,
      grant.twoFactor,
      grant.remoteAddr,
      grant.userAgent,
      grant.directorySession,
      lifetime,
    ],
    'code_insert',
  )
  await db.query(
    `delete from oauth_code where hash in
       (select hash from oauth_code where expires_at < now() - interval '1 day' limit 10 for update skip locked)`,
    [],
    'code_clean',
  )
}

/**
 * Checking and using are one statement, so of two requests with the same code one gets a row; and a request that does not match
 * does not use up the code. A verifier for a code without challenge does not match either (RFC 9700, 2.1.1).
 */
async function useCode(tx: Tx, hash: Buffer, use: CodeUse): Promise<(CodeGrant & { idp: string | null }) | null> {
  const { rows } = await tx.query<CodeGrant & { idp: string | null }>(
    `update oauth_code set used_at = now()
     where hash = $1 and client_id = $2 and used_at is null and expires_at > now()
       and redirect_uri = coalesce($3, case when redirect_uri_given then null else redirect_uri end)
       and code_challenge is not distinct from $4
       and (browser_hash is null or browser_hash = any($5::bytea[]))
       and (directory_session is null or exists (select from directory_session d where d.id = oauth_code.directory_session))
     returning client_id as "clientId", redirect_uri as "redirectUri", redirect_uri_given as "redirectUriGiven", scopes,
       code_challenge as "codeChallenge", browser_hash as "boundBrowserHash", user_id as "userId", method, login,
       two_factor as "twoFactor", remote_addr as "remoteAddr", user_agent as "userAgent",
       directory_session as "directorySession",
       (select d.details ->> 'idp' from directory_session d where d.id = oauth_code.directory_session) as idp`,
    [hash, use.clientId, use.redirectUri ?? null, use.codeChallenge, use.browserHashes],
    'code_use',
  )
  return rows[0] ?? null
}
