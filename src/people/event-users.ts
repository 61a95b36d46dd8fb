import type { EventLogOptions, EventUsers } from '../events/service.ts'
import type { Db } from '../platform/postgres/db.ts'

/**
 * The functions that the event log needs about users: the members of groups, the user behind a reference, fields to copy into
 * events.
 */
export function createEventUsers(db: Db): EventUsers & Required<Pick<EventLogOptions, 'userFields'>> {
  return {
    async ofGroups(groupIds) {
      const { rows } = await db.query<{ id: number }>(
        `select u.id from "user" u
         where exists (select from user_group ug where ug.user_id = u.id and ug.group_id = any($1))
           or u.type in (select unnest(g.member_types) from "group" g where g.id = any($1))`,
        [groupIds],
      )
      return rows.map(({ id }) => id)
    },

    async ofTypes(types) {
      const { rows } = await db.query<{ id: number }>('select id from "user" where type = any($1)', [types])
      return rows.map(({ id }) => id)
    },

    async byReference(references) {
      const { rows } = await db.query<{ id: number; reference: string; displayname: string }>(
        'select id, reference, generated_displayname as displayname from "user" where reference = any($1)',
        [references],
      )
      return new Map(rows.map((row) => [row.reference, row]))
    },

    async userFields(tx, userIds) {
      const { rows } = await tx.query<{ id: number; fields: Record<string, unknown> }>(
        `select id, profile || jsonb_build_object('login', login, 'reference', reference) as fields
         from "user" where id = any($1)`,
        [userIds],
      )
      return new Map(rows.map(({ id, fields }) => [id, fields]))
    },
  }
}
