import type { Queryable } from '../platform/postgres/db.ts'

/** Somebody whose name is not to stand in the log any more. */
export interface ForgottenPerson {
  readonly userId: number
  /** What they are called now, in place of what they were called. */
  readonly displayname: string
  /** Absent: it stays as it was logged; null: there is none any more. */
  readonly login?: string | null
  /** Fields that are not to be found in what was copied into events (`user.<field>`). */
  readonly fields: readonly string[]
}

/**
 * Takes a person out of what was logged: as the one who acted, and as the one whom something was about. That they acted, and
 * when, stays. Reads the whole log, so it is for a job.
 */
export async function forgetPerson(from: Queryable, person: ForgottenPerson): Promise<void> {
  const { userId, displayname, login, fields } = person
  const about = `(basetype = 'user' and object_id = $1)`
  const named = (key: string, value: string): string =>
    `case when ${about} and info ? '${key}' then jsonb_strip_nulls(jsonb_build_object('${key}', ${value})) else '{}' end`
  await from.query(
    `update event set
       user_displayname = case when user_id = $1 then $2 else user_displayname end,
       info = (info
           - case when user_id = $1 then $3::text[] else '{}' end
           - case when ${about} then case when $4 then '{login,displayname}' else '{displayname}' end::text[] else '{}' end)
         || ${named('displayname', '$2::text')}
         || case when $4 then ${named('login', '$5::text')} else '{}' end
     where user_id = $1 or ${about}`,
    [userId, displayname, fields.map((field) => `user.${field}`), login !== undefined, login ?? null],
  )
}
