/**
 * SQL conditions for the users and groups that an actor may read. Principals that it may not read are treated as not existing.
 */

import type { Actor } from '../platform/actor.ts'
import { systemRight } from '../platform/http/system-right.ts'
import { inForceSql } from '../rights/service.ts'

/**
 * A condition on users or groups (alias `t`): the actor owns them, or a grant in force gives it `bag_read`. `principals` is the
 * parameter with the actor's principals (`principalsOf`), `userId` the one with the actor's id.
 */
function readableCondition(principals: string, userId: string): string {
  return `(t.owner_user = ${userId} or 'g' || t.owner_group = any(${principals}) or ${grantCondition('t.acl', principals)})`
}

/** Whether a list of grants gives `bag_read` to one of the principals now. */
function grantCondition(acl: string, principals: string): string {
  // Most records have no grants.
  return `(${acl} <> '[]' and exists (select from jsonb_array_elements(${acl}) as a
    where ${givesNow} and a->>'who' = any(${principals})))`
}

/** SQL: whether the grant `a` gives `bag_read` now. */
const givesNow = `a->'rights' ? 'bag_read' and ${inForceSql('a')}`

const readersByThemselves = `select 'u' || t.owner_user as who where t.owner_user is not null
  union select 'g' || t.owner_group where t.owner_group is not null
  union select a->>'who' from jsonb_array_elements(t.acl) as a where ${givesNow}`

/** The inverse of `userReadable`, for many callers at once: the principals who may read a user, besides that user. */
export const userReaders = `array(${readersByThemselves}
  union select a->>'who' from "group" g, jsonb_array_elements(g.acl) as a
    where ${givesNow} and (t.type = any(g.member_types)
      or exists (select from user_group ug where ug.group_id = g.id and ug.user_id = t.id)))`

/** The inverse of `groupReadable`: the principals who may read a group, besides its members. */
export const groupReaders = `array(${readersByThemselves})`

/** Users or groups, with the principals that `userReaders` or `groupReaders` gives. */
export interface Readers {
  readonly id: number
  readonly readers: readonly string[]
}

/** The principals of the actor, as grants name them. */
export function principalsOf(actor: Actor): string[] {
  return [`u${actor.userId}`, ...actor.groupIds.map((id) => `g${id}`)]
}

/**
 * The own record, owned users, granted users, and members of granted groups. The granted groups are read once, not for each user:
 * with 10,000 users and 1,000 groups a list took 20 s.
 */
export function userReadable(principals: string, userId: string): string {
  return userReadableBy(
    principals,
    userId,
    (groups) => `exists (select from user_group ug where ug.user_id = t.id and ug.group_id = any(${groups}))`,
  )
}

/** The same for a statement about most users: their members are read once, too. */
export function manyUsersReadable(principals: string, userId: string): string {
  return userReadableBy(
    principals,
    userId,
    (groups) => `t.id in (select ug.user_id from user_group ug where ug.group_id = any(${groups}))`,
  )
}

function userReadableBy(principals: string, userId: string, isMember: (groups: string) => string): string {
  const granted = (what: string) => `array(select ${what} from "group" g where ${grantCondition('g.acl', principals)})`
  return `(t.id = ${userId} or ${isMember(granted('g.id'))} or t.type = any(${granted('unnest(g.member_types)')})
    or ${readableCondition(principals, userId)})`
}

/** Whether the actor may read all users: with `system.user`, unless its parameter `read` is false. */
export function readsAllUsers(actor: Actor): boolean {
  const managed = systemRight(actor, 'system.user')
  return managed !== null && managed.read !== false
}

/** Whether the actor may read all groups. Managers of users may, because they put users into groups. */
export function readsAllGroups(actor: Actor): boolean {
  const managed = systemRight(actor, 'system.group')
  return (managed !== null && managed.global_custom_bag_read !== false) || readsAllUsers(actor)
}

/** The reader's own groups, owned groups, and granted groups. */
export function groupReadable(principals: string, userId: string, groupIds: string): string {
  return `(t.id = any(${groupIds}) or ${readableCondition(principals, userId)})`
}
