import type { Queryable } from '../../platform/postgres/db.ts'

/** Filters for the administrators' list of users; null: no restriction. */
export interface InspectedUsers {
  /** Part of a login, an address or a name; or an id. */
  readonly words: string | null
  readonly type: string | null
  readonly offset: number
  readonly limit: number
}

export interface InspectedUser {
  readonly id: number
  readonly version: number
  readonly type: string
  readonly login: string | null
  readonly email: string | null
  readonly displayname: string
  readonly reference: string | null
  readonly groups: readonly string[]
  readonly system_rights: readonly string[]
  readonly login_disabled: boolean
  readonly has_password: boolean
  readonly second_factors: number
  readonly sessions: number
  readonly archived_at: Date | null
  readonly last_seen_at: Date | null
  readonly created_at: Date
}

/** All users, including archived ones and guests, by id; one more than `limit` if there are more. Contains no credentials. */
export async function inspectUsers(
  from: Queryable,
  { words, type, offset, limit }: InspectedUsers,
): Promise<InspectedUser[]> {
  const { rows } = await from.query<InspectedUser>(
    `with page as (
       select u.* from "user" u
       where ($1::text is null or u.id::text = $1
           or position(lower($1) in lower(concat_ws(' ', u.login, u.email, u.generated_displayname, u.reference))) > 0)
         and ($2::text is null or u.type = $2)
       order by u.id offset $3 limit $4 + 1
     )
     select u.id, u.version, u.type, u.login, u.email, u.generated_displayname as displayname, u.reference,
       array(select coalesce(g.name, g.reference, g.id::text) from user_group m join "group" g on g.id = m.group_id
         where m.user_id = u.id order by 1 limit 50) as groups,
       array(select jsonb_object_keys(u.system_rights) order by 1) as system_rights, u.login_disabled,
       u.password_hash is not null as has_password,
       (select count(*)::int from passkey p where p.user_id = u.id)
         + (select count(*)::int from user_factor f where f.user_id = u.id and f.totp_secret is not null) as second_factors,
       (select count(*)::int from oauth_session s
        where s.user_id = u.id and s.revoked_at is null and s.expires_at > now()) as sessions,
       u.archived_at, u.last_seen_at, u.created_at
     from page u order by u.id`,
    [words, type, offset, limit],
  )
  return rows
}

/** Names of users for lists. */
export async function namesOfUsers(from: Queryable, ids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  if (ids.length === 0) return new Map()
  const { rows } = await from.query<{ id: number; name: string }>(
    `select id, coalesce(login, email, nullif(generated_displayname, ''), id::text) as name from "user" where id = any($1::bigint[])`,
    [ids],
  )
  return new Map(rows.map(({ id, name }) => [id, name]))
}
