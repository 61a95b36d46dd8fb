import type { Queryable } from '../platform/postgres/db.ts'

/** Constraint of the table of logins and addresses: another user has the name already, as a login or as an address. */
export const nameTaken = 'user_name_pkey'

/** SQL: the identifier of the user under the alias `u` for programs (OAUTH-026). An identifier is never reused for another user. */
export const subject = 'user_subject_of(u.id, u.login, u.login_key, u.email, u.email_key)'

/** Users from before names were unique, whose address is the login of another user. The address identifies that other user. */
export async function shadowedUsers(from: Queryable): Promise<readonly number[]> {
  const { rows } = await from.query<{ id: number }>(
    `select u.id from "user" u join user_name n on n.key = u.email_key and n.user_id <> u.id
     order by u.id limit 100`,
  )
  return rows.map(({ id }) => id)
}
