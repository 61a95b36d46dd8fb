import { createHash, randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { callClient } from '../../platform/config/versions.ts'
import { outsideDeadlines } from '../../platform/limits/deadline.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { newToken, tokenHash } from './token.ts'

export interface CallTokens {
  readonly ids: readonly string[]
  /** In the same order as the users. */
  readonly tokens: readonly string[]
}

/**
 * Tokens for programs that act for a user while a call lasts: bound to no browser, not renewable, and no sign-in of a user, so that
 * nothing is logged. They are revoked when the call ends; if this process is killed, they expire soon, and are revoked when it
 * starts again. Losing them in a crash of the database does no harm, so no commit waits for the disk.
 */
export function createCallTokens({ db, holder }: { readonly db: Db; readonly holder: string }) {
  const own = createHash('sha256').update(`${hostname()}\n${holder}`).digest('hex')

  return {
    async issue(userIds: readonly number[], seconds: number): Promise<CallTokens> {
      const ids = userIds.map(() => randomUUID())
      const tokens = userIds.map(newToken)
      await db.query(
        `with quick as (select set_config('synchronous_commit', 'off', true) as off),
         input as (select * from unnest($1::uuid[], $2::bigint[], $3::bytea[]) as t (id, user_id, hash), quick),
         session as (
           insert into oauth_session (id, user_id, client_id, scopes, method, remote_addr, user_agent, expires_at)
           select id, user_id, $4, '{}', $4, '', $5, now() + make_interval(secs => $6) from input
         )
         insert into oauth_token (hash, kind, session_id, scopes, expires_at)
         select hash, 'a', id, '{}', now() + make_interval(secs => $6) from input`,
        [ids, userIds, tokens.map(tokenHash), callClient, own, seconds],
        'call-tokens-issue',
      )
      return { ids, tokens }
    },

    revoke: ({ ids }: CallTokens): Promise<void> =>
      outsideDeadlines(async () => {
        await db.query(
          `with quick as (select set_config('synchronous_commit', 'off', true) as off)
           delete from oauth_session using quick where id = any($1)`,
          [ids],
          'call-tokens-revoke',
        )
      }),

    /** Revokes the tokens of an earlier run of this process. */
    async revokeLeft(): Promise<void> {
      await db.query('delete from oauth_session where client_id = $1 and method = $1 and user_agent = $2', [
        callClient,
        own,
      ])
    },
  }
}
