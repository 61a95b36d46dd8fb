import type { EventLog } from '../../events/service.ts'
import type { Jobs } from '../../jobs/service.ts'
import type { MailService } from '../../mail/service.ts'
import { identityKey, passwordUserTypes } from '../../people/model.ts'
import { draftUser, type Principals, users } from '../../people/service.ts'
import type { Db, Tx } from '../../platform/postgres/db.ts'
import { formerSpelling } from '../../platform/values/mailbox.ts'
import { addresseeOf, type MailLetters } from './mails.ts'
import { issuedLately, issueTokens, lifetimes } from './tokens.ts'

export const registerJob = 'account.register'

/** Maximum number of mails to one address within an hour, whoever requests them. */
const mostMails = 3

/** A requested account. */
export interface Registration {
  readonly email: string
  readonly profile: Readonly<Record<string, string>>
  readonly groupIds: readonly number[]
  readonly language: string
  /** The accepted terms; null: there were none. */
  readonly terms: { readonly version: string; readonly acceptedAt: string } | null
}

export interface RegistrationDependencies {
  db: Db
  jobs: Pick<Jobs, 'register'>
  events: EventLog
  mail: MailService
  letters: MailLetters
  principals: Principals
  clock: () => Date
}

/** Creates the accounts that people have requested on the page; if an address has an account, its owner gets a mail instead. */
export function handleRegistrations(deps: RegistrationDependencies): void {
  deps.jobs.register<Registration>(registerJob, (registration) =>
    deps.db.transaction(async (tx) => {
      const id = await ownerOf(tx, registration.email)
      if (id === null) await create(deps, tx, registration)
      else await remind(deps, tx, id)
    }),
  )
}

/** The user with the address, in either spelling of its domain: mails are counted by mailbox. */
async function ownerOf(tx: Tx, email: string): Promise<number | null> {
  const id = await users.findByLoginOrEmail(tx, identityKey(email))
  const former = id === null ? formerSpelling(email) : null
  return former === null ? id : users.findByLoginOrEmail(tx, identityKey(former))
}

async function create(deps: RegistrationDependencies, tx: Tx, registration: Registration): Promise<void> {
  const { email, profile, language } = registration
  const user = { ...profile, email, type: 'native_self_register', frontend_language: language, confirm_email: true }
  const draft = draftUser({ user }, null, 'registration', deps.clock())
  const [id = 0] = await users.newUserIds(tx, 1)
  const row: users.UserRow = {
    ...draft,
    id,
    version: 1,
    password_hash: null,
    system_rights: {},
    acl: [],
    owner_user: null,
    owner_group: null,
  }
  await users.insertUsers(tx, [row])
  if (registration.terms) await users.acceptTerms(tx, id, registration.terms)
  // Groups that were deleted since they were chosen are left out, and so are system groups.
  const summaries = await users.findGroupSummaries(tx, registration.groupIds)
  const groupIds = summaries
    .filter((group) => group.type === 'native' && registration.groupIds.includes(group.id))
    .map((group) => group.id)
  await users.setGroups(tx, [{ id, groupIds }])
  await write(deps, tx, id, 'register')
  const info = { login: row.login, displayname: row.generated_displayname, reference: row.reference }
  await deps.events.append(tx, [
    { type: 'USER_INSERT', actor: null, basetype: 'user', objectId: id, objectVersion: 1, info },
  ])
  await deps.principals.changed(tx)
}

/** No other person may learn that there is an account; its user gets a mail with a link. */
async function remind(deps: RegistrationDependencies, tx: Tx, id: number): Promise<void> {
  const [user] = await users.lockUsers(tx, [id], [])
  if (!user?.email || user.archivedAt || user.loginDisabled || !passwordUserTypes.includes(user.type)) return
  if ((await issuedLately(tx, id, 'password', 60)) >= mostMails) return
  const waits = user.type === 'native_self_register' && user.emailConfirmedAt === null
  await write(deps, tx, id, waits ? 'register' : 'known')
}

/** Both mails lead to the page for a new password: the reader of the mail owns the address. */
async function write(deps: RegistrationDependencies, tx: Tx, id: number, kind: 'register' | 'known'): Promise<void> {
  const [user] = await users.findUsers(tx, [id])
  if (!user?.email) return
  const secrets = await issueTokens(tx, [id], 'password', kind === 'known' ? lifetimes.reset : lifetimes.welcome)
  await deps.mail.send(tx, [deps.letters.write(kind, addresseeOf(user, user.email), secrets.get(id) ?? null)])
}
