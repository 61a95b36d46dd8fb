import pg from 'pg'

/** Numbers of users, groups and sessions. */
export interface Crowd {
  readonly users: number
  readonly groups: number
  readonly sessions: number
}

/** Number of groups of each user. */
const memberships = 5

/** The access token of a session made by `addCrowd`. */
export const tokenOfCrowd = (number: number): string => `token-of-the-bench-${number}`

/** Puts people with groups and open sessions into the database of an instance, in addition to existing ones. */
export async function addCrowd(dsn: string, from: Crowd, to: Crowd): Promise<void> {
  const client = new pg.Client(dsn)
  await client.connect()
  try {
    await client.query(
      `insert into "group" (id, type, name, displayname, system_rights)
       select 100000 + n, 'native', 'crowd ' || n, '{}', '{}' from generate_series($1::int, $2::int) as n`,
      [from.groups + 1, to.groups],
    )
    await client.query(
      `insert into "user" (id, type, login, login_key, generated_displayname)
       select 100000 + n, 'native', 'crowd' || n, 'crowd' || n, 'Crowd ' || n from generate_series($1::int, $2::int) as n`,
      [from.users + 1, to.users],
    )
    await client.query(
      `insert into user_group (user_id, group_id)
       select 100000 + n, 100001 + (n * 7 + k * 13) % $3 from generate_series($1::int, $2::int) as n,
         generate_series(1, ${memberships}) as k on conflict do nothing`,
      [from.users + 1, to.users, to.groups],
    )
    await client.query(
      `with made as (
         insert into oauth_session (id, user_id, client_id, scopes, method, remote_addr, expires_at)
         select md5('session ' || n)::uuid, 100001 + n % $3, 'web-client', '{offline}', 'native', '', now() + interval '1 day'
         from generate_series($1::int, $2::int) as n
       )
       insert into oauth_token (hash, kind, session_id, scopes, expires_at)
       select sha256(convert_to(case kind when 'a' then 'token-of-the-bench-' else 'refresh-of-the-bench-' end || n, 'UTF8')),
         kind::"char", md5('session ' || n)::uuid, '{offline}', now() + interval '1 day'
       from generate_series($1::int, $2::int) as n, unnest('{a,r}'::text[]) as kind`,
      [from.sessions + 1, to.sessions, to.users],
    )
    await client.query('analyze')
  } finally {
    await client.end()
  }
}
