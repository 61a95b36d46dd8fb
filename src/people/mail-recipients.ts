import type { Queryable } from '../platform/postgres/db.ts'
import type { Schedule } from '../platform/values/schedule.ts'

export interface MailRecipient {
  /** The requested principal, `u5` or `g3`: the user or one of its groups. */
  readonly via: `u${number}` | `g${number}`
  readonly userId: number
  readonly email: string
  /** The user's own languages, best first; may be empty. */
  readonly languages: readonly string[]
  /** The schedule for mails that can wait; null: at once. */
  readonly schedule: Schedule | null
}

/**
 * Addresses of users and of the members of groups, system groups included. Users without address, archived users and users who may
 * no longer sign in get no mail.
 */
export async function mailRecipients(
  from: Queryable,
  people: readonly MailRecipient['via'][],
): Promise<readonly MailRecipient[]> {
  if (people.length === 0) return []
  const ids = (letter: 'u' | 'g'): number[] =>
    people.filter((person) => person.startsWith(letter)).map((person) => Number(person.slice(1)))
  const { rows } = await from.query<MailRecipient>(
    `with asked (via, user_id) as (
       select 'u' || id, id from unnest($1::bigint[]) as asked (id)
       union
       select 'g' || m.group_id, m.user_id from user_group m where m.group_id = any($2)
       union
       select 'g' || g.id, u.id from "group" g join "user" u on u.type = any(g.member_types) where g.id = any($2)
     )
     select a.via, u.id as "userId", u.email, u.database_languages as languages,
            u.profile->'mail_schedule' as schedule
       from asked a join "user" u on u.id = a.user_id
      where u.email is not null and u.archived_at is null and not u.login_disabled
      order by u.id, a.via`,
    [ids('u'), ids('g')],
    'mail_recipients',
  )
  return rows
}
