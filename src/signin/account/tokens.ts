import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import { newToken, tokenHash } from '../sessions/token.ts'

/** The purpose of a link in a mail. */
export type Purpose = 'password' | 'email'

/** Hours. */
export const lifetimes = { reset: 1, welcome: 7 * 24, confirm: 7 * 24 } as const

/** Maximum number of open links of one user and purpose; a new one beyond it replaces the oldest. */
const mostOpen = 5

/** sha256 of the values on which a link depends: any change of them makes the link invalid. */
const stateOf = (purpose: string, user: string): string =>
  `sha256(convert_to(coalesce(${user}.email_key, '') ||
     case when ${purpose} = 'password' then ' ' || coalesce(${user}.password_hash, '') else '' end, 'UTF8'))`

/** Creates a link for each user; its secret is known at this moment only. */
export async function issueTokens(
  tx: Tx,
  userIds: readonly number[],
  purpose: Purpose,
  hours: number,
): Promise<ReadonlyMap<number, string>> {
  const secrets = new Map(userIds.map((id) => [id, newToken()]))
  if (secrets.size === 0) return secrets
  await tx.query(
    `delete from account_token where expires_at <= now() or hash in
       (select hash from (select hash, row_number() over (partition by user_id order by created_at desc) as place
          from account_token where user_id = any($1) and purpose = $2 and expires_at > now()) as open where place >= $3)`,
    [[...secrets.keys()], purpose, mostOpen],
  )
  await tx.query(
    `insert into account_token (hash, user_id, purpose, state, expires_at)
     select n.hash, u.id, $3::text, ${stateOf('$3::text', 'u')}, now() + make_interval(hours => $4)
       from unnest($1::bigint[], $2::bytea[]) as n (user_id, hash) join "user" u on u.id = n.user_id`,
    [[...secrets.keys()], [...secrets.values()].map(tokenHash), purpose, hours],
  )
  return secrets
}

const good = `t.purpose = $2 and t.expires_at > now() and t.state = ${stateOf('t.purpose', 'u')}
  and u.archived_at is null`

/** The user of a link; null when it is not valid (any more). The link is not used up. */
export async function ownerOfToken(db: Queryable, secret: string, purpose: Purpose): Promise<number | null> {
  const { rows } = await db.query<{ id: number }>(
    `select u.id from account_token t join "user" u on u.id = t.user_id where t.hash = $1 and ${good}`,
    [tokenHash(secret), purpose],
  )
  return rows[0]?.id ?? null
}

/** Uses up a link: of two requests with the same link, only one gets its user. */
export async function useToken(tx: Tx, secret: string, purpose: Purpose): Promise<number | null> {
  const { rows } = await tx.query<{ id: number }>(
    `delete from account_token t using "user" u
     where u.id = t.user_id and t.hash = $1 and ${good} returning u.id`,
    [tokenHash(secret), purpose],
  )
  return rows[0]?.id ?? null
}

/** Number of links of this purpose that were sent to the user within the last minutes. */
export async function issuedLately(db: Queryable, userId: number, purpose: Purpose, minutes: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from account_token
     where user_id = $1 and purpose = $2 and created_at > now() - make_interval(mins => $3)`,
    [userId, purpose, minutes],
  )
  return rows[0]?.count ?? 0
}
