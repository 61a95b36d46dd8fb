import type { Actor } from '../../platform/actor.ts'
import { AppError, missingSystemRight } from '../../platform/errors.ts'
import { systemRight } from '../../platform/http/system-right.ts'
import type { StoredUser, SystemRights } from '../model.ts'
import type { PersonRight } from '../person-rights.ts'
import { covers, mergeSystemRights } from '../system-rights.ts'
import type { GroupSummary } from './store.ts'

/**
 * Rules for changes of users. Root may do everything; holders of `system.user` manage users, but never beyond their own rights: no
 * caller gains rights by editing a user, a group or a password. Users may change their own data except for sign-in and rights.
 */

/** The data about a change of one user that the rules use. */
export interface UserChange {
  /** Null: to be created. */
  stored: StoredUser | null
  /** The rights of the actor on the stored user itself. */
  rights: ReadonlySet<PersonRight>
  /** Whether unprotected members change: name, address, languages. */
  profile: boolean
  /** Whether the actor holds `link` on all groups that the user gets or loses. */
  linked: boolean
  /** Protected members that the request changes, such as `user.login` or `_system_rights`. */
  protectedChanges: readonly string[]
  systemRights: SystemRights
  /** Groups that the user gets in addition. */
  addedGroups: readonly GroupSummary[]
  /** Effective rights of the stored user: its own and those of its groups. */
  effectiveRights: readonly SystemRights[]
}

/** The parameters of `system.user` that allow to set a member, when creating and when changing. */
const parameters = {
  _acl: ['create_acl', 'edit_acl'],
  _system_rights: ['create_system_rights', 'edit_system_rights'],
} as const

/** The protected changes that no right on the user itself allows. */
export function notGranted({
  rights,
  linked,
  protectedChanges,
}: Pick<UserChange, 'rights' | 'linked' | 'protectedChanges'>) {
  const granted = (member: string): boolean =>
    (member === '_acl' && rights.has('acl')) || (member === '_groups' && rights.has('link') && linked)
  return protectedChanges.filter((member) => !granted(member))
}

/** @throws {AppError} `SystemRightRequired`, `RightRequired` or `ColumnNeedsSystemRoot` with the right and the member. */
export function assertMayChange(actor: Actor, given: UserChange): void {
  if (actor.isRoot) return
  const manager = systemRight(actor, 'system.user')
  const change = { ...given, protectedChanges: notGranted(given) }
  const { stored, protectedChanges, rights } = change
  // A user that many people share has no own record.
  const self = stored?.id === actor.userId && stored.type !== 'anonymous' && stored.type !== 'collection'
  if (!manager && !self && (!stored || rights.size === 0)) throw missing('system.user')
  const [member] = protectedChanges
  if (!manager && member !== undefined) throw missing('system.user', member)
  if (!manager && !self && !rights.has('bag_write') && (given.profile || given.protectedChanges.length === 0)) {
    throw new AppError('RightRequired', { right: 'bag_write', user: stored?.id })
  }
  if (!manager) {
    assertGroupsHeld(actor, given)
    return
  }
  if (!stored && manager.create === false) throw missing('system.user[create]')
  for (const [name, [creating, editing]] of Object.entries(parameters)) {
    const parameter = stored ? editing : creating
    if (protectedChanges.includes(name) && manager[parameter] === false)
      throw missing(`system.user[${parameter}]`, name)
  }
  if (stored && protectedChanges.includes('_owner')) throw new AppError('ColumnNeedsSystemRoot', { column: '_owner' })
  assertWithinOwnRights(actor, change)
}

function assertWithinOwnRights(actor: Actor, change: UserChange): void {
  const { protectedChanges, systemRights, effectiveRights } = change
  if (protectedChanges.includes('_system_rights') && !covers(actor.systemRights, systemRights)) {
    throw new AppError('ColumnNeedsSystemRoot', { column: '_system_rights' })
  }
  assertGroupsHeld(actor, change)
  const [member] = protectedChanges
  if (member !== undefined && !hasAllOf(actor, effectiveRights))
    throw new AppError('ColumnNeedsSystemRoot', { column: member })
}

function assertGroupsHeld(actor: Actor, { addedGroups }: UserChange): void {
  for (const group of addedGroups) {
    if (covers(actor.systemRights, group.systemRights)) continue
    throw new AppError('ColumnNeedsSystemRoot', { column: '_groups', group: group.id })
  }
}

/** @throws {AppError} unless the actor may delete or archive this user. */
export function assertMayRemove(actor: Actor, user: StoredUser, effectiveRights: readonly SystemRights[]): void {
  if (actor.isRoot) return
  if (!systemRight(actor, 'system.user')) throw missing('system.user')
  if (user.id !== actor.userId && !hasAllOf(actor, effectiveRights)) throw missing('system.root')
}

function hasAllOf(actor: Actor, rights: readonly SystemRights[]): boolean {
  return covers(actor.systemRights, Object.fromEntries(mergeSystemRights(rights)))
}

function missing(right: string, column?: string): AppError {
  return missingSystemRight(right, column === undefined ? {} : { column })
}
