import type { Actor } from '../platform/actor.ts'
import { systemRight } from '../platform/http/system-right.ts'
import { rootUserId, type StoredGroup, type StoredUser, type SystemRights } from './model.ts'
import type { PersonRight } from './person-rights.ts'
import { covers, mergeSystemRights } from './system-rights.ts'

/**
 * The rights of an actor on a user or group that it may read: by grants on it, by system rights, or because it is the same user
 * (`_generated_rights`). The full reach that a single save requires (`reachOf`) is not checked here.
 */

const always: readonly PersonRight[] = ['bag_read']
const owned: readonly PersonRight[] = ['bag_read', 'bag_write', 'sessions']
const onUsers: readonly PersonRight[] = ['bag_read', 'bag_write', 'acl', 'delete', 'link', 'sessions']
const onGroups: readonly PersonRight[] = ['bag_read', 'bag_write', 'acl', 'delete', 'link']

export function effectiveOnUser(
  actor: Actor,
  user: StoredUser,
  held: ReadonlySet<PersonRight>,
  groupRights: readonly SystemRights[],
): readonly PersonRight[] {
  const self = user.id === actor.userId
  const manager = systemRight(actor, 'system.user')
  const within = covers(actor.systemRights, Object.fromEntries(mergeSystemRights([user.systemRights, ...groupRights])))
  const managed = new Set<PersonRight>(self ? owned : always)
  if (actor.isRoot || (manager && within)) for (const right of onUsers) managed.add(right)
  else if (manager) {
    managed.add('bag_write')
    if (user.id !== rootUserId) managed.add('sessions')
  }
  if (!actor.isRoot && manager?.edit_acl === false) managed.delete('acl')
  const rights = onUsers.filter((right) => managed.has(right) || held.has(right))
  return self || user.type === 'system' ? rights.filter((right) => right !== 'delete') : rights
}

export function effectiveOnGroup(
  actor: Actor,
  group: Pick<StoredGroup, 'type' | 'systemRights'>,
  held: ReadonlySet<PersonRight>,
): readonly PersonRight[] {
  const manager = systemRight(actor, 'system.group')
  if (!actor.isRoot && !manager) {
    // Names and grants of groups change with `system.group` alone; holders of `acl` see the grants.
    return onGroups.filter((right) => always.includes(right) || (['acl', 'link'].includes(right) && held.has(right)))
  }
  const within = actor.isRoot || covers(actor.systemRights, group.systemRights)
  const managed = new Set(within ? onGroups : always)
  if (!actor.isRoot && manager?.edit_acl === false) managed.delete('acl')
  const rights = onGroups.filter((right) => managed.has(right) || held.has(right))
  return group.type === 'system' ? rights.filter((right) => right !== 'delete') : rights
}
