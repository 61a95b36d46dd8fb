/**
 * The identity of callers: sessions, their tokens, and all ways to sign in. A *session* is one sign-in; its *tokens* prove it with
 * each request. An *actor* is a user within a request: the first parameter of every service function.
 */

import { isDeepStrictEqual } from 'node:util'
import type { BaseConfig, BaseConfigService } from '../config/service.ts'
import type { EventLog } from '../events/service.ts'
import type { Jobs } from '../jobs/service.ts'
import type { MailService } from '../mail/service.ts'
import { rootUserId } from '../people/model.ts'
import {
  createAccountUuids,
  meetsRules,
  type Principals,
  type RightsHooks,
  requireMayJoin,
  requireMayTrust,
  ruleHint,
  type UserService,
} from '../people/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { Config } from '../platform/config/config.ts'
import { badRequest } from '../platform/errors.ts'
import type { Form } from '../platform/http/form.ts'
import type { Measure } from '../platform/http/metrics.ts'
import type { Shares } from '../platform/memory/shares.ts'
import { outgoingLimits } from '../platform/outgoing/limits.ts'
import type { Bus } from '../platform/postgres/bus.ts'
import type { Db, Queryable } from '../platform/postgres/db.ts'
import type { Seal } from '../platform/secrets/seal.ts'
import { withoutEnd } from '../platform/values/text.ts'
import { createChangePassword } from './account/change-password.ts'
import { createAccounts } from './account/service.ts'
import { createAnonymousQuotas } from './anonymous-quotas.ts'
import { createCallers } from './callers.ts'
import { ldapCertificates } from './directories/certificates.ts'
import { createDirectoryCheck } from './directories/check.ts'
import { createDirectories } from './directories/service.ts'
import { createSingleSignOn } from './directories/single-sign-on.ts'
import { createDirectoryStatus } from './directories/status.ts'
import { createMailCodes } from './factors/mail-codes.ts'
import { factorPart, managementPart } from './factors/part.ts'
import { createPasskeyRecords } from './factors/passkeys/records.ts'
import { createPasskeys } from './factors/passkeys/service.ts'
import { resealFactors } from './factors/reseal.ts'
import { createFactors, factorsOf, resetFactors } from './factors/service.ts'
import { createLoginFlows } from './flows/flows.ts'
import type { LoginPart } from './flows/part.ts'
import { createFreshSignIn } from './fresh-sign-in.ts'
import { initialPassword } from './initial-password.ts'
import { createKeepLogins } from './keep-login.ts'
import type { OwnTexts } from './pages/language.ts'
import { createPages, type Visit } from './pages/service.ts'
import { createPasswords, type PasswordCost } from './passwords.ts'
import { carryingHeaders } from './request-token.ts'
import { ensureRoot } from './root.ts'
import { createCallTokens } from './sessions/call-tokens.ts'
import { createSessionInfo } from './sessions/info.ts'
import { createOwnSessions } from './sessions/own.ts'
import { createSessions, type Sessions } from './sessions/service.ts'
import { createSignIn, type FindShare } from './sign-in.ts'
import { createThrottle } from './throttle.ts'

export type { AnonymousQuotas } from './anonymous-quotas.ts'
export { browserHashesOf, mintBrowserId } from './browser-id.ts'
export { cookieValues, setCookie } from './cookies.ts'
export { deviceOf, keepDevice } from './device-cookie.ts'
export { DirectoryUnavailable } from './directories/model.ts'
export { adoptDirectorySession } from './directories/sessions.ts'
export type { ProviderName, ProviderOffer, SingleSignOn } from './directories/single-sign-on.ts'
export { type DirectoryStatusService, isOfDirectory } from './directories/status.ts'
export type { DirectoryStatus } from './directories/status-store.ts'
export { passkeyNotes, provedFactor } from './factors/notes.ts'
export { type SealedElsewhere, sealedElsewhere } from './factors/sealed-elsewhere.ts'
export { type LoginFlows, userAgentOf } from './flows/flows.ts'
export type { Login, NewLogin } from './flows/login.ts'
export { loginPage } from './flows/login-page.ts'
export { managementNotes } from './flows/management.ts'
export type { LoginPart } from './flows/part.ts'
export { type LoginStep, orderedSteps } from './flows/step.ts'
export { guestUserId } from './guest.ts'
export { initialPassword } from './initial-password.ts'
export type { KeepLogins } from './keep-login.ts'
export { button, checkbox, field, hiddenFields } from './pages/fields.ts'
export { languageOf, type OwnTexts } from './pages/language.ts'
export { type Pages, type Visit, wantsPage } from './pages/service.ts'
export { forPeople, pageSurface } from './pages/surface.ts'
export { type PasswordCost, usualCost } from './passwords.ts'
export { createRecovery } from './recovery.ts'
export { identifierWord, tokenOf } from './request-token.ts'
export { makePassword } from './root.ts'
export { inspectSessions } from './sessions/inspection.ts'
export type { IssuedTokens, Refresh, Session, Sessions } from './sessions/service.ts'
export { findAccess } from './sessions/store.ts'
export { newToken, tokenHash } from './sessions/token.ts'
export { type PasswordMethod, passwordMethods, type SignedIn, type SignIn } from './sign-in.ts'
export type { Throttle } from './throttle.ts'

export interface SignInDependencies {
  config: Pick<
    Config,
    | 'dataDir'
    | 'externalUrl'
    | 'identifierAliases'
    | 'outgoingAnswerLimit'
    | 'outgoingTimeout'
    | 'quotaSessions'
    | 'quotaSignIns'
    | 'rootPassword'
  >
  db: Db
  seal: Seal
  bus: Bus
  events: EventLog
  baseConfig: BaseConfigService
  principals: Principals
  rights: RightsHooks
  /** Information about the instance for clients: names, address, version. */
  instance: () => object
  jobs: Pick<Jobs, 'enqueue' | 'register'>
  memory: Pick<Shares, 'sessions'>
  mail: MailService
  ownTexts: OwnTexts
  /** Users as records; this service is created later, as changes of users end sessions. */
  users: () => Pick<UserService, 'own'>
  /** Additional steps of the sign-in pages by other capabilities. */
  loginParts: (actorOfUser: Sessions['actorOfUser']) => readonly LoginPart[]
  findShare: FindShare
  passwordCost?: PasswordCost | undefined
  clock: () => Date
}

export type SignInService = ReturnType<typeof createSignInService>

export function createSignInService(dependencies: SignInDependencies) {
  const { config, db, seal, bus, events, baseConfig, principals, rights, jobs, mail, ownTexts, clock } = dependencies
  const { externalUrl, identifierAliases: aliases } = config
  const basePath = withoutEnd(URL.parse(externalUrl)?.pathname ?? '', '/')
  const limits = outgoingLimits(config)
  const passwords = createPasswords(dependencies.passwordCost)
  const pinHashes = createPasswords(dependencies.passwordCost, 1)
  const throttle = createThrottle({ keyFor: seal.keyFor, limits: () => baseConfig.get().password.blockclient })
  const sessions = createSessions({
    db,
    bus,
    events,
    baseConfig,
    clock,
    maxBytes: dependencies.memory.sessions,
    most: config.quotaSessions,
  })
  const initial = initialPassword(config.dataDir)
  const verified = async (userId: number): Promise<void> => {
    if (userId === rootUserId) await initial.forget()
  }
  const strangers = createAnonymousQuotas({ db, most: config.quotaSignIns })
  const passkeys = createPasskeys({ db, strangers, baseConfig, externalUrl })
  const accountUuids = createAccountUuids(seal)
  const mailCodes = createMailCodes({ db, baseConfig, mail, seal })
  const directories = createDirectories({ db, events, baseConfig, sessions, principals, limits, clock })
  const providers = { db, seal, baseConfig, directories, sessions, externalUrl, basePath, limits }
  const singleSignOn = createSingleSignOn(providers)
  const words = createDirectoryStatus({ db, baseConfig, sessions, directories, singleSignOn })
  const proofs = { passkeys, mailCodes, seal }
  const factors = createFactors({ db, events, sessions, throttle, baseConfig, ...proofs, externalUrl, words, clock })
  const { findShare } = dependencies
  const proof = {
    ...{ passwords, throttle, accountUuids, sessions, verified, directories, strangers, findShare },
    mustPassFactor: factors.mustPass,
  }
  const signIn = createSignIn({ db, events, ...proof, clock })
  const people = { db, events, baseConfig, jobs, mail, passwords, throttle, sessions, principals, accountUuids }
  const checkDirectory = createDirectoryCheck({
    db,
    events,
    baseConfig,
    people: directories.people,
    singleSignOn,
    throttle,
    limits,
  })
  const accounts = createAccounts({ ...people, ownTexts, verified, externalUrl, basePath, clock })
  // The parts of this folder come first; each is in the folder of its subject.
  const loginParts = [
    singleSignOn.part,
    factorPart(factors),
    accounts.part,
    ...dependencies.loginParts(sessions.actorOfUser),
    managementPart(factors),
  ]
  const steps = () => loginParts.map(({ step }) => step)
  const pages = createPages({ baseConfig, basePath, ownTexts })
  const keepLogins = createKeepLogins({ db, baseConfig, aliases })
  const flows = createLoginFlows({ db, strangers, basePath, steps })
  const freshSignIn = createFreshSignIn({ baseConfig })
  const changePassword = createChangePassword({ db, events, baseConfig, sessions, passwords, throttle })
  const own: UserService['own'] = (actor) => dependencies.users().own(actor)
  const sessionInfo = createSessionInfo({ db, baseConfig, users: { own }, instance: dependencies.instance })
  const ownSessions = createOwnSessions({ db, sessions })
  const passkeyRecords = createPasskeyRecords({ db, factors, rights, freshSignIn })

  const callers = createCallers({ db, baseConfig, sessions, sessionInfo, rights, aliases })

  return {
    aliases,
    basePath,
    sessions,
    ownSessions,
    passkeyRecords,
    changePassword,
    /** Hashes of PINs, which are queued separately and delay no sign-in. */
    pinHashes,
    ...callers,
    signIn,
    singleSignOn,
    passkeys,
    accounts,
    flows,
    steps,
    keepLogins,
    words,
    strangers,
    throttle,
    asksDirectory: directories.asksForPasswords,
    /** The functions for sign-in that changes of users need. */
    forUsers: {
      freshSignIn,
      accountUuids,
      hashPassword: passwords.hash,
      mails: accounts.post,
      factors: { shown: factorsOf, reset: resetFactors },
    },
    pages,
    comeBack: (visit: Visit, query: Form, search: string) => singleSignOn.comeBack(visit, query, search, flows),
    saml: {
      metadata: singleSignOn.samlMetadata,
      take: (visit: Visit, form: Form) => singleSignOn.takeAssertion(visit, form, flows),
      goOn: (visit: Visit, query: Form) => singleSignOn.goOn(visit, query, flows),
      signOut: singleSignOn.takeSignOut,
    },
    checkDirectory,
    /** Certificates that sign-ins depend on. */
    certificates: async () => [...ldapCertificates(baseConfig.get().ldap), ...(await singleSignOn.certificates())],
    ownTexts,
    pageDefinitions: () => [...accounts.pages, ...loginParts.flatMap((part) => part.pages(flows))],
    requestTokens: carryingHeaders(aliases),

    /** Gives root its password; returns a password to print when it was generated and nobody has signed in with it yet. */
    ensureRoot: (): Promise<string | null> => ensureRoot({ db, passwords, sessions, initial }, config.rootPassword),

    /** The handling of root's password when the instance is purged. */
    rootPassword: {
      /** Hash of a new password. @throws {AppError} `ServerGeneric` when it does not meet the rules for passwords. */
      hash(password: string): Promise<string> {
        const rules = baseConfig.get().password
        if (meetsRules(password, rules)) return passwords.hash(password)
        throw badRequest(ruleHint(rules, baseConfig.databaseLanguages()), { name: 'set_password' })
      },
      requireFreshSignIn: freshSignIn,
      /** The generated password of the first start is no longer shown. */
      replaced: initial.forget,
    },

    /**
     * Seals secrets that are not yet sealed with the current key; returns how many authenticator apps and accounts no key opens.
     */
    reseal: async () => ({
      apps: await resealFactors(db, seal),
      accounts: await db.transaction((tx) => accountUuids.reseal(tx)),
    }),

    failedSignIns: {
      name: 'sign_ins_failed',
      help: 'Failed sign-ins of this process since its start.',
      read: signIn.failures,
    } satisfies Measure,

    /**
     * Checks whether the actor may change the base configuration like that: groups of new accounts, and the identity providers.
     * @throws {AppError} `ColumnNeedsSystemRoot`
     */
    async checkSettings(from: Queryable, actor: Actor, before: BaseConfig, after: BaseConfig): Promise<void> {
      const known = new Set(before.registration.groups.map((group) => group.group_id))
      const added = after.registration.groups.map((group) => group.group_id).filter((id) => !known.has(id))
      await requireMayJoin(from, actor, rights, added)
      for (const section of ['ldap', 'saml', 'openid_connect'] as const) {
        if (!isDeepStrictEqual(before[section], after[section])) await requireMayTrust(from, actor, rights, section)
      }
    },

    /** Tokens for programs that act for users while a call lasts. */
    callTokens: createCallTokens({ db, holder: config.dataDir }),

    close: () => sessions.close(),
  }
}
