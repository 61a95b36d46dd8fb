import type { Queryable } from '../platform/postgres/db.ts'

/** A person whose name must be removed from the log. */
export interface ForgottenPerson {
  readonly userId: number
  /** The current name, which replaces former names. */
  readonly displayname: string
  /** Absent: it stays as it was logged; null: it is removed. */
  readonly login?: string | null
  /** Fields that must be removed from copies in events (`user.<field>`). */
  readonly fields: readonly string[]
}

/**
 * Removes a person from logged events: as the actor, and as the subject. The fact and the time of their actions stay. Reads the
 * whole log, so it must run in a job.
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
