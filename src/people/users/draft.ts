import { AppError, badRequest } from '../../platform/errors.ts'
import { isMailbox } from '../../platform/values/mailbox.ts'
import { isTimeZone } from '../../platform/values/schedule.ts'
import { storedReference } from '../../platform/values/system-references.ts'
import {
  assignableUserTypes,
  displaynameOf,
  identityKey,
  rootUserId,
  type StoredUser,
  type UserType,
} from '../model.ts'
import { profileOf, textOf } from '../record-input.ts'
import { type UserInput, userProfileFields } from '../schema.ts'
import type { UserRow } from './store.ts'

/** Columns of a user that come from the record itself; grants, owner and groups are looked up by the service. */
export type UserDraft = Omit<
  UserRow,
  'id' | 'version' | 'password_hash' | 'acl' | 'owner_user' | 'owner_group' | 'system_rights'
>

/** References and logins that are reserved for the service itself. */
const reservedReference = /^(system:|:)/

/** Applies the input to the stored user, or to an empty one. @throws {AppError} with the path and the reason */
export function draftUser(
  { user }: UserInput,
  stored: StoredUser | null,
  path: string,
  now: Date,
  { anyEmail = false }: { anyEmail?: boolean } = {},
): UserDraft {
  const login = textOf(user.login, stored?.login ?? null)
  const email = textOf(user.email, stored?.email ?? null)
  if (!anyEmail) assertEmail(email, stored, `${path}.user.email`)
  const type = typeOf(user.type, stored, `${path}.user.type`)
  const reference = referenceOf(textOf(user.reference, stored?.reference ?? null), stored, `${path}.user.reference`)
  const profile = profileOf(userProfileFields, user, stored?.profile)
  const { timezone } = user.mail_schedule ?? {}
  if (timezone && !isTimeZone(timezone)) {
    throw new AppError('UnknownTimezone', { path: `${path}.user.mail_schedule.timezone`, timezone })
  }
  assertLogin(login, email, type, `${path}.user.login`)
  assertSystemUserKept(stored, { login, reference })
  const validity = validityOf(user, stored, path)
  const loginDisabled = flagOf(user.login_disabled, stored?.loginDisabled)
  assertRootNotLockedOut(stored, loginDisabled, validity)
  const mails = mailsOf(user, stored, { email, type }, path, now)
  if (stored?.id === rootUserId && mails.confirm_email)
    throw new AppError('ColumnCanNotBeUpdated', { column: 'user.confirm_email' })
  return {
    type,
    login,
    login_key: login === null ? null : identityKey(login),
    email,
    email_key: email === null ? null : identityKey(email),
    reference,
    generated_displayname: displaynameOf({ ...profile, login, email }),
    profile,
    picture_id: pictureOf(user.picture, stored),
    database_languages: languagesOf(user.database_languages, stored, `${path}.user.database_languages`),
    login_disabled: loginDisabled,
    ...validity,
    require_password_change: flagOf(user.require_password_change, stored?.requirePasswordChange),
    ...mails,
  }
}

function pictureOf(given: UserInput['user']['picture'], stored: StoredUser | null): number | null {
  return given === undefined ? (stored?.pictureId ?? null) : (given?.[0]?._id ?? null)
}

function flagOf(given: boolean | null | undefined, stored = false): boolean {
  return given === undefined ? stored : (given ?? false)
}

function typeOf(given: string | null | undefined, stored: StoredUser | null, path: string): UserType {
  const type = given ?? stored?.type ?? 'native'
  if (type === stored?.type) return type as UserType
  if (stored?.type === 'system' || !assignableUserTypes.includes(type)) {
    throw new AppError('UserTypeNotAllowed', { path, type, allowed: assignableUserTypes })
  }
  return type as UserType
}

function assertLogin(login: string | null, email: string | null, type: UserType, path: string): void {
  if (login === null && email === null && type !== 'anonymous' && type !== 'collection') {
    throw badRequest(`${path} is missing: a user needs a login or an email address`, { path })
  }
}

/** A malformed address that is stored already (from an import) does not block other changes. */
function assertEmail(email: string | null, stored: StoredUser | null, path: string): void {
  if (email !== null && email !== stored?.email && !isMailbox(email))
    throw new AppError('UserEmailMalformed', { path, email })
}

function referenceOf(given: string | null, stored: StoredUser | null, path: string): string | null {
  const reference = given === null ? null : storedReference('user', given)
  if (reference !== null && reference !== stored?.reference && reservedReference.test(reference)) {
    throw badRequest(`${path} begins like the references of the service itself`, { path, reference })
  }
  return reference
}

function assertSystemUserKept(
  stored: StoredUser | null,
  draft: { login: string | null; reference: string | null },
): void {
  if (stored?.type !== 'system') return
  for (const column of ['login', 'reference'] as const) {
    if (draft[column] !== stored[column]) throw new AppError('ColumnCanNotBeUpdated', { column: `user.${column}` })
  }
}

/** Root must always be able to sign in, to repair the rest. */
function assertRootNotLockedOut(
  stored: StoredUser | null,
  loginDisabled: boolean,
  validity: { login_valid_from: string | null; login_valid_to: string | null },
): void {
  if (stored?.id !== rootUserId) return
  if (loginDisabled) throw new AppError('ColumnCanNotBeUpdated', { column: 'user.login_disabled' })
  for (const [column, date] of Object.entries(validity)) {
    if (date !== null) throw new AppError('ColumnCanNotBeUpdated', { column: `user.${column}` })
  }
}

/**
 * Sets the time of mails to be sent to `now`. A mail is sent when its flag becomes set, not each time a client sends the flag back.
 * The confirmation, and the invitation of an account without a password, are also sent when the address changes.
 */
function mailsOf(
  user: UserInput['user'],
  stored: StoredUser | null,
  { email, type }: { email: string | null; type: UserType },
  path: string,
  now: Date,
) {
  const confirm = flagOf(user.confirm_email, stored?.confirmEmail)
  const welcome = flagOf(user.welcome_email, stored?.welcomeEmail)
  for (const [name, wanted] of Object.entries({ confirm_email: confirm, welcome_email: welcome })) {
    if (!wanted || email !== null) continue
    throw badRequest(`${path}.user.${name}: the user has no email address`, { path: `${path}.user.${name}` })
  }
  const moved = (email === null ? null : identityKey(email)) !== (stored?.email ? identityKey(stored.email) : null)
  const asksAnew = confirm && (moved || !stored?.confirmEmail)
  // Such an account gets a new UUID with its new address, so its user must be invited again.
  const invitesAnew = welcome && (!stored?.welcomeEmail || (moved && type === 'email'))
  return {
    confirm_email: confirm,
    confirm_email_sent_at: asksAnew ? now : (stored?.confirmEmailSentAt ?? null),
    email_confirmed_at: asksAnew || moved ? null : (stored?.emailConfirmedAt ?? null),
    welcome_email: welcome,
    welcome_email_sent_at: invitesAnew ? now : (stored?.welcomeEmailSentAt ?? null),
  }
}

function languagesOf(given: string[] | null | undefined, stored: StoredUser | null, path: string): readonly string[] {
  if (given === undefined) return stored?.databaseLanguages ?? []
  const languages = [...new Set(given ?? [])]
  languages.forEach((language, index) => {
    if (!isLanguageTag(language))
      throw badRequest(`${path}[${index}] must be a language tag`, { path, value: language })
  })
  return languages
}

function isLanguageTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1
  } catch {
    return false
  }
}

function validityOf(user: UserInput['user'], stored: StoredUser | null, path: string) {
  const from = dateOf(user.login_valid_from, stored?.loginValidFrom ?? null, `${path}.user.login_valid_from`)
  const to = dateOf(user.login_valid_to, stored?.loginValidTo ?? null, `${path}.user.login_valid_to`)
  if (from !== null && to !== null && from > to) {
    throw badRequest(`${path}.user.login_valid_from is after login_valid_to`, { path, from, to })
  }
  return { login_valid_from: from, login_valid_to: to }
}

/** A day of the years 1 to 9999. */
function dateOf(given: string | null | undefined, stored: string | null, path: string): string | null {
  const date = textOf(given, stored)
  if (date === null || date === stored) return date
  const milliseconds = /^\d{4}-\d\d-\d\d$/.test(date) ? Date.parse(`${date}T00:00:00Z`) : Number.NaN
  const exists = !Number.isNaN(milliseconds) && new Date(milliseconds).toISOString().startsWith(date)
  if (!exists || date < '0001') throw badRequest(`${path} must be a date YYYY-MM-DD`, { path, value: date })
  return date
}
