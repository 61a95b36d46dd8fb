import type { Queryable } from '../../platform/postgres/db.ts'

/** An open sign-in, with the number of its tokens: never the tokens, since only hashes are stored. */
export interface InspectedSession {
  readonly id: string
  readonly user_id: number
  readonly user: string
  readonly client_id: string
  readonly method: string
  readonly two_factor: string | null
  readonly scopes: readonly string[]
  readonly bound: boolean
  readonly access_tokens: number
  readonly refresh_tokens: number
  readonly remote_addr: string
  readonly user_agent: string | null
  readonly authenticated_at: Date
  readonly last_used_at: Date
  readonly expires_at: Date
}

/** Open sessions, last used first; one more than `limit` where there are more. `user`: a login or an id. */
export async function inspectSessions(
  from: Queryable,
  { user, offset, limit }: { readonly user: string | null; readonly offset: number; readonly limit: number },
): Promise<InspectedSession[]> {
  const { rows } = await from.query<InspectedSession>(
    `with page as (
       select s.*, coalesce(u.login, u.email, u.id::text) as who from oauth_session s join "user" u on u.id = s.user_id
       where s.revoked_at is null and s.expires_at > now()
         and ($1::text is null or u.id::text = $1 or lower(u.login) = lower($1))
       order by s.last_used_at desc, s.id offset $2 limit $3 + 1
     )
     select p.id, p.user_id, p.who as user, p.client_id, p.method, p.two_factor, p.scopes,
       p.browser_hash is not null as bound, coalesce(t.access, 0) as access_tokens, coalesce(t.refresh, 0) as refresh_tokens,
       p.remote_addr, p.user_agent, p.authenticated_at, p.last_used_at, p.expires_at
     from page p left join lateral (
       select count(*) filter (where kind = 'a')::int as access, count(*) filter (where kind = 'r' and used_at is null)::int as refresh
       from oauth_token where session_id = p.id and expires_at > now()
     ) t on true
     order by p.last_used_at desc, p.id`,
    [user, offset, limit],
  )
  return rows
}
