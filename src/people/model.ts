import { normalized } from '../platform/values/text.ts'
/** Vocabulary of users, groups and sessions inside the service; the wire names are in schema.ts. */
import type { StoredGrant } from '../rights/service.ts'

/**
 * `native`: an account of this instance; `native_self_register`: an account that its user registered; `email`: a user who was
 * invited by mail and has no password; `collection`: a user who is invited to a collection by a link; the others by their source.
 */
export const userTypes = [
  'system',
  'native',
  'native_self_register',
  'email',
  'ldap',
  'sso',
  'anonymous',
  'collection',
] as const
export type UserType = (typeof userTypes)[number]

/** Types that the interface may give a user; the others are made by the service itself. */
export const assignableUserTypes: readonly string[] = [
  'native',
  'native_self_register',
  'email',
  'collection',
  'ldap',
  'sso',
]

/** Types whose users sign in with a password kept here. */
export const passwordUserTypes: readonly string[] = ['system', 'native', 'native_self_register']

/** Users that the first migration creates; another one is `deep_link` (2). */
export const rootUserId = 1
/** The user whose rights harvesters have. */
export const harvestUserId = 3
/** Replaces a deleted user as owner and author. */
export const deletedUserId = 4

/** Groups of callers without a user: all users, and guests. */
export const anybodyGroupIds: readonly number[] = [1, 8]

/** Replaces a deleted group as owner. */
export const fallbackGroupId = 10

/** System rights: their names with their parameters. */
export type SystemRights = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** The owner of a record: a user, a group, or nobody. */
export interface Owner {
  readonly userId: number | null
  readonly groupId: number | null
}

export interface StoredUser {
  readonly id: number
  readonly version: number
  readonly type: UserType
  readonly login: string | null
  readonly email: string | null
  readonly reference: string | null
  readonly generatedDisplayname: string
  /** The file of the user's picture. */
  readonly pictureId: number | null
  /** Fields of the record that no rule uses, by their wire names. */
  readonly profile: Readonly<Record<string, unknown>>
  readonly databaseLanguages: readonly string[]
  readonly loginDisabled: boolean
  /** `YYYY-MM-DD`, a whole day in UTC. */
  readonly loginValidFrom: string | null
  readonly loginValidTo: string | null
  readonly requirePasswordChange: boolean
  /** Whether the address must be confirmed before the user can sign in. */
  readonly confirmEmail: boolean
  readonly confirmEmailSentAt: Date | null
  readonly emailConfirmedAt: Date | null
  readonly welcomeEmail: boolean
  readonly welcomeEmailSentAt: Date | null
  /** The version of the terms that the user accepted with the registration. */
  readonly termsVersion: string | null
  readonly termsAcceptedAt: Date | null
  readonly systemRights: SystemRights
  readonly acl: readonly StoredGrant[]
  readonly owner: Owner
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly archivedAt: Date | null
  readonly lastSeenAt: Date | null
  /** Groups it was put into. */
  readonly groupIds: readonly number[]
  /** The groups that a directory has put the user into, by id. */
  readonly automaticGroups: Readonly<Record<string, { readonly type: string; readonly timestamp: string }>>
}

export interface StoredGroup {
  readonly id: number
  readonly version: number
  readonly type: 'native' | 'system'
  readonly name: string | null
  readonly reference: string | null
  readonly displayname: Readonly<Record<string, string>>
  readonly profile: Readonly<Record<string, unknown>>
  readonly memberTypes: readonly string[]
  readonly systemRights: SystemRights
  readonly acl: readonly StoredGrant[]
  readonly pseudonymization: Readonly<Record<string, unknown>>
  readonly authMethodGroupMaps: Readonly<Record<string, unknown>>
  readonly ipSubnetFilter: readonly string[]
  readonly ipSubnetFilterExclude: boolean
  readonly twoFactorRequired: boolean
  readonly owner: Owner
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Reference and name of a user or group, as owners, authors and grants contain them. */
export interface PrincipalName {
  readonly id: number
  readonly reference: string | null
  readonly displayname: string
}

/** The normalized form in which logins and addresses are compared. */
export function identityKey(text: string): string {
  return normalized(text, 'NFKC').trim().toLowerCase()
}

/** The name of a user for people (`_generated_displayname`). */
export function displaynameOf(user: {
  displayname?: unknown
  first_name?: unknown
  last_name?: unknown
  login: string | null
  email: string | null
}): string {
  const given = [user.displayname].find(isText)
  const names = [user.first_name, user.last_name].filter(isText).join(' ')
  return given ?? (names || user.login || user.email || 'User')
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}
