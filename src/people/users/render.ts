import { groupFields } from '../groups/render.ts'
import type { ShownFactors } from '../hooks.ts'
import type { StoredUser } from '../model.ts'
import { type PersonRight, shownRights } from '../person-rights.ts'
import { type PrincipalNames, renderWho } from '../principals.ts'
import { present } from '../record-input.ts'
import type { GroupOutput, UserOutput } from '../schema.ts'
import type { GroupSummary } from './store.ts'

/**
 * The visible part of a user: `manager` (may manage users) everything, `self` all but notes and grants, `other` only the data that
 * a picker needs, and data that the rights on the user concern.
 */
export type View = 'manager' | 'self' | 'other'

export interface RenderContext {
  view: View
  /** The rights of the caller on the user itself. */
  rights: ReadonlySet<PersonRight>
  /** The rights of the caller on the user, by grants or otherwise. */
  effective: readonly PersonRight[]
  /** Groups on which the caller holds `link`. */
  linkable: ReadonlySet<number>
  /** Null: no second factor was ever set up. */
  factor: ShownFactors | null
  /** All groups that any of the users is in. */
  groups: readonly GroupSummary[]
  names: PrincipalNames
  /** As clients see it. */
  acl: readonly unknown[]
  languages: readonly string[]
  /** Collections whose PIN the caller has entered, where the user is the caller. */
  pins: readonly number[]
}

const pickerFields = ['first_name', 'last_name', 'displayname', 'company', 'department'] as const

export function renderUser(user: StoredUser, context: RenderContext): UserOutput {
  const { view } = context
  const core = {
    _id: user.id,
    _version: user.version,
    type: user.type,
    ...present({ login: user.login, reference: user.reference }),
    _generated_displayname: user.generatedDisplayname,
    ...(user.pictureId === null ? {} : { picture: [{ _id: user.pictureId, preferred: true }] }),
  }
  const _generated_rights = shownRights(context.effective)
  const times = { _created_at: user.createdAt.toISOString(), _updated_at: user.updatedAt.toISOString() }
  const { remarks, ...profile } = user.profile
  if (view === 'other') {
    const { rights, linkable } = context
    const shown = rights.has('bag_write')
      ? profile
      : Object.fromEntries(pickerFields.map((name) => [name, user.profile[name]]))
    const linked = context.groups.filter(({ id }) => user.groupIds.includes(id) && linkable.has(id))
    return {
      _basetype: 'user',
      user: { ...core, ...present(shown) },
      _generated_rights,
      ...(rights.has('acl') ? { _acl: context.acl } : {}),
      ...(rights.has('link') ? { _groups: linked.map((group) => renderGroupSummary(group, context.languages)) } : {}),
      ...times,
    }
  }
  const fields = {
    ...core,
    ...profile,
    ...(view === 'manager' ? present({ remarks }) : {}),
    ...present({ email: user.email, login_valid_from: user.loginValidFrom, login_valid_to: user.loginValidTo }),
    ...(user.databaseLanguages.length > 0 ? { database_languages: user.databaseLanguages } : {}),
    login_disabled: user.loginDisabled,
    require_password_change: user.requirePasswordChange,
    ...mailFields(user),
  }
  const members = {
    _groups: groupsOf(user, context.groups).map((group) => ({
      ...renderGroupSummary(group, context.languages),
      ...present({ _automatic_auth: user.automaticGroups[group.id] }),
    })),
    _system_rights: user.systemRights,
    _two_factor_totp_enrolled: context.factor?.totp ?? false,
    _two_factor_passkey_enrolled: context.factor?.passkey ?? false,
    ...(context.pins.length > 0 ? { _collection_pin_codes: context.pins.map((id) => ({ collection_id: id })) } : {}),
    ...present({ _two_factor_last_method: context.factor?.lastMethod }),
    ...(view === 'manager' || context.rights.has('acl') ? { _acl: context.acl } : {}),
    ...(user.termsAcceptedAt
      ? { _terms_accepted: { version: user.termsVersion ?? '', accepted_at: user.termsAcceptedAt.toISOString() } }
      : {}),
    ...present({ _owner: renderWho(user.owner, context.names) }),
    ...times,
    ...present({ _archived_at: user.archivedAt?.toISOString(), _last_seen_at: user.lastSeenAt?.toISOString() }),
  }
  return { _basetype: 'user', user: fields, _generated_rights, ...members }
}

/** The mails that were sent to the user, and confirmations that are still missing. */
function mailFields(user: StoredUser) {
  return present({
    confirm_email: user.confirmEmail || null,
    confirm_email_sent_at: user.confirmEmailSentAt?.toISOString(),
    email_confirmed_at: user.emailConfirmedAt?.toISOString(),
    welcome_email: user.welcomeEmail || null,
    welcome_email_sent_at: user.welcomeEmailSentAt?.toISOString(),
  })
}

/** The groups that the user was put into, and the groups of its type. */
export function groupsOf(user: StoredUser, groups: readonly GroupSummary[]): GroupSummary[] {
  return groups.filter((group) => user.groupIds.includes(group.id) || group.memberTypes.includes(user.type))
}

export function renderGroupSummary(group: GroupSummary, languages: readonly string[]): GroupOutput {
  return { _basetype: 'group', group: groupFields(group, languages) }
}
