import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import { reachOf } from './escalation.ts'
import type { SystemRights } from './model.ts'
import type { RightsHooks } from './record-input.ts'
import { covers } from './system-rights.ts'
import { findGroupSummaries } from './users/store.ts'

/**
 * New accounts are put into these groups. To configure a group here, the actor needs the rights for putting a user into it.
 * @throws {AppError} `ColumnNeedsSystemRoot`
 */
export async function requireMayJoin(
  from: Queryable,
  actor: Actor,
  rights: RightsHooks,
  groupIds: readonly number[],
  column = 'registration.groups',
): Promise<void> {
  if (actor.isRoot || groupIds.length === 0) return
  const named = (await findGroupSummaries(from, groupIds)).filter(({ id }) => groupIds.includes(id))
  const beyond = named.find(({ systemRights }) => !covers(actor.systemRights, systemRights))
  const reached = await reachOf(actor, rights, from)(named.map(({ id }) => `g${id}`))
  if (!beyond && reached) return
  throw new AppError('ColumnNeedsSystemRoot', {
    column,
    ...(beyond ? { group: beyond.id } : {}),
  })
}

/**
 * The choice of a directory decides who its users are, and which groups they are put into by its data. So the actor needs all
 * rights of these users and groups.
 * @throws {AppError} `ColumnNeedsSystemRoot`
 */
export async function requireMayTrust(
  from: Queryable,
  actor: Actor,
  rights: RightsHooks,
  section: string,
): Promise<void> {
  if (actor.isRoot) return
  const { rows } = await from.query<{ own: SystemRights[]; groupIds: number[] }>(
    `with people as (
       select id, system_rights from "user" where type in ('ldap', 'sso') and archived_at is null
     )
     select (select coalesce(jsonb_agg(distinct system_rights), '[]') from people) as own,
       array(select g.id from "group" g where g.auth_method_group_maps <> '{}' or g.member_types && '{ldap,sso}'
         or exists (select from user_group m join people p on p.id = m.user_id where m.group_id = g.id)) as "groupIds"`,
    [],
    'directory_rights',
  )
  const [{ own, groupIds } = { own: [], groupIds: [] }] = rows
  if (!own.every((systemRights) => covers(actor.systemRights, systemRights)))
    throw new AppError('ColumnNeedsSystemRoot', { column: section })
  await requireMayJoin(from, actor, rights, groupIds, section)
}
