/**
 * Who is calling: users, groups, sessions, tokens. A *user* may sign in and acts; *groups* give users rights, system
 * groups by the type of the user. A *session* is one sign-in; its *tokens* prove it with each request. An *actor* is a
 * user within a request: what every service takes first.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { BaseConfigService } from '../config/service.ts'
import type { EventLog, HeldToken } from '../events/service.ts'
import type { Jobs } from '../jobs/service.ts'
import type { MailService } from '../mail/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { Config } from '../platform/config/config.ts'
import type { ConventionOf } from '../platform/config/versions.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import type { Measure } from '../platform/http/metrics.ts'
import { outgoingLimits } from '../platform/outgoing/limits.ts'
import type { Bus } from '../platform/postgres/bus.ts'
import type { Db, Queryable } from '../platform/postgres/db.ts'
import type { Seal } from '../platform/secrets/seal.ts'
import { withoutEnd } from '../platform/values/text.ts'
import { createAccounts } from './account/service.ts'
import { browserHashesOf } from './browser-id.ts'
import { carryingHeaders, tokenOf } from './carriers.ts'
import { requireMayJoin, requireMayTrust } from './configured-groups.ts'
import { ldapCertificates } from './directories/certificates.ts'
import { createDirectoryCheck } from './directories/check.ts'
import { createDirectories } from './directories/service.ts'
import { createSingleSignOn } from './directories/single-sign-on.ts'
import { createDirectoryWords } from './directories/words.ts'
import { createMailCodes } from './factors/mail-codes.ts'
import { factorPart, managementPart } from './factors/part.ts'
import { createPasskeyRecords } from './factors/passkeys/records.ts'
import { createPasskeys } from './factors/passkeys/service.ts'
import { resealFactors } from './factors/reseal.ts'

import { createFactors } from './factors/service.ts'
import { createFreshSignIn } from './fresh-sign-in.ts'
import { createGroupService } from './groups/service.ts'
import { initialPassword } from './initial-password.ts'
import { createKeepLogins } from './keep-login.ts'
import { rootUserId } from './model.ts'
import { shadowedUsers } from './names.ts'
import { createAuthorize } from './oauth/authorize/service.ts'
import { createOAuthClients } from './oauth/clients.ts'
import { createCodes } from './oauth/codes.ts'
import type { Form } from './oauth/form.ts'
import { createLoginFlows } from './oauth/login/flows.ts'
import type { LoginPart } from './oauth/login/part.ts'
import { createLogout } from './oauth/logout.ts'
import { createRedirects } from './oauth/redirects.ts'
import { createRefreshes } from './oauth/refreshes.ts'
import { createOAuth } from './oauth/service.ts'
import { createTokenInfo } from './oauth/token-info.ts'
import type { OwnTexts } from './pages/language.ts'
import { createPages, type Visit, wantsPage } from './pages/service.ts'
import { createPasswords } from './passwords.ts'
import type { Principals } from './principals.ts'
import type { RemovalHooks, RightsHooks } from './records.ts'
import { ensureRoot } from './root.ts'
import { createSessionInfo } from './sessions/info.ts'
import { createOwnSessions } from './sessions/own.ts'
import { createSessions, type Sessions } from './sessions/service.ts'
import { createSignIn } from './sign-in.ts'
import { createStrangers } from './strangers.ts'
import { createThrottle } from './throttle.ts'
import { createAccountUuids } from './users/account-uuids.ts'
import { meetsRules, ruleHint } from './users/password-rules.ts'
import type { PictureFiles } from './users/pictures.ts'
import { createUserService } from './users/service.ts'

export { type SealedElsewhere, sealedElsewhere } from './factors/sealed-elsewhere.ts'
export { initialPassword } from './initial-password.ts'
export type { Login } from './oauth/login/login.ts'
export type { LoginPart } from './oauth/login/part.ts'
export { button, checkbox } from './pages/fields.ts'
export { loginPage } from './pages/routes.ts'
export { type Pages, type Visit, wantsPage } from './pages/service.ts'
export {
  type FoundPrincipals,
  type NamedBy,
  type PrincipalNames,
  type Principals,
  type Reference,
  referenceOf,
  resolveReferences,
  type WantedPrincipals,
} from './principals.ts'
export type { RemovalHooks, RightsHooks } from './records.ts'
export { createRecovery } from './recovery.ts'
export { makePassword } from './root.ts'

export interface AuthDependencies {
  config: Pick<
    Config,
    | 'dataDir'
    | 'externalUrl'
    | 'identifierAliases'
    | 'loginAllowRedirects'
    | 'outgoingAnswerLimit'
    | 'outgoingTimeout'
    | 'oauthClients'
    | 'quotaSignIns'
    | 'rootPassword'
  >
  db: Db
  seal: Seal
  bus: Bus
  events: EventLog
  /** Which versions the client of a request sends. */
  conventionOf: ConventionOf
  baseConfig: BaseConfigService
  principals: Principals
  rights: RightsHooks
  removal: RemovalHooks
  /** What clients want to know of the instance: names, address, version. */
  instance: () => object
  jobs: Pick<Jobs, 'enqueue' | 'register'>
  mail: MailService
  ownTexts: OwnTexts
  /** Files that are pictures of users. */
  pictures: PictureFiles
  /** What other capabilities add to the sign-in on the pages. */
  loginParts: (actorOfUser: Sessions['actorOfUser']) => readonly LoginPart[]
  clock?: () => Date
}

export type Auth = ReturnType<typeof createAuth>

/** Routes that a user who must set a new password can still call. */
const routesBeforePasswordChange: ReadonlySet<string> = new Set([
  '/api/v1/user/session',
  '/api/v1/user/change_password',
])

export function createAuth(dependencies: AuthDependencies) {
  const { config, db, seal, bus, events, baseConfig, clock = () => new Date() } = dependencies
  const passwords = createPasswords()
  const throttle = createThrottle({ keyFor: seal.keyFor, limits: () => baseConfig.get().password.blockclient })
  const sessions = createSessions({ db, bus, events, baseConfig, clock })
  const initial = initialPassword(config.dataDir)
  const verified = async (userId: number): Promise<void> => {
    if (userId === rootUserId) await initial.forget()
  }
  const { externalUrl } = config
  const { principals, jobs, mail, ownTexts } = dependencies
  const strangers = createStrangers({ db, most: config.quotaSignIns })
  const passkeys = createPasskeys({ db, strangers, baseConfig, externalUrl })
  const accountUuids = createAccountUuids(seal)
  const mailCodes = createMailCodes({ db, baseConfig, mail, seal })
  const proofs = { passkeys, mailCodes, seal }
  const basePath = withoutEnd(URL.parse(externalUrl)?.pathname ?? '', '/')
  const limits = outgoingLimits(config)
  const directories = createDirectories({ db, events, baseConfig, sessions, principals, limits, clock })
  const providers = { db, seal, baseConfig, directories, sessions, externalUrl, basePath, limits }
  const singleSignOn = createSingleSignOn(providers)
  const words = createDirectoryWords({ db, baseConfig, sessions, directories, singleSignOn })
  const factors = createFactors({ db, events, sessions, throttle, baseConfig, ...proofs, externalUrl, words, clock })
  const mustPassFactor = factors.mustPass
  const proof = { passwords, throttle, accountUuids, sessions, verified, mustPassFactor, directories }
  const signIn = createSignIn({ db, events, ...proof, clock })
  const aliases = config.identifierAliases
  const clients = createOAuthClients({ db, throttle, configured: config.oauthClients, baseConfig, aliases })
  const codes = createCodes({ db, sessions })
  const refreshes = createRefreshes({ sessions, words })
  const oauth = createOAuth({ db, baseConfig, clients, codes, sessions, refreshes, signIn, strangers })
  const people = { db, events, baseConfig, jobs, mail, passwords, throttle, sessions, principals, accountUuids }
  const { people: ofDirectories } = directories
  const checkDirectory = createDirectoryCheck({
    db,
    events,
    baseConfig,
    people: ofDirectories,
    singleSignOn,
    throttle,
    limits,
  })
  const accounts = createAccounts({ ...people, ownTexts, verified, externalUrl, basePath, clock })
  // Those of this folder come first; each stands in the folder of what it is about.
  const loginParts = [
    singleSignOn.part,
    factorPart(factors),
    accounts.part,
    ...dependencies.loginParts(sessions.actorOfUser),
    managementPart(factors),
  ]
  const pages = createPages({ baseConfig, basePath, ownTexts })
  const keepLogins = createKeepLogins({ db, baseConfig, aliases })
  const redirects = createRedirects({ externalUrl, allowed: config.loginAllowRedirects })
  const flows = createLoginFlows({ db, strangers, basePath, steps: () => loginParts.map(({ step }) => step) })
  const authorize = createAuthorize({
    db,
    baseConfig,
    clients,
    redirects,
    signIn,
    asksDirectory: directories.asksForPasswords,
    singleSignOn,
    codes,
    flows,
    steps: () => loginParts.map(({ step }) => step),
    passkeys: passkeys.available,
    offers: accounts.offers,
    issuer: externalUrl,
    basePath,
    aliases,
    keepLogins,
    words,
    strangers,
    clock,
  })
  const { rights, removal, instance } = dependencies
  const records = { db, events, sessions, principals, rights, removal, conventionOf: dependencies.conventionOf }
  const { post } = accounts
  const { pictures } = dependencies
  const freshSignIn = createFreshSignIn({ baseConfig })
  const accountOfUsers = { freshSignIn, baseConfig, passwords, throttle, post, accountUuids, jobs, clock, pictures }
  const users = createUserService({ ...records, ...accountOfUsers })
  const groups = createGroupService(records)
  const sessionInfo = createSessionInfo({ db, baseConfig, users, instance })

  const tokenInfo = createTokenInfo({ db, baseConfig, clients, sessions })
  const logout = createLogout({ sessions, keepLogins, aliases, signOutAddress: singleSignOn.signOutAddress })
  const ownSessions = createOwnSessions({ db, sessions })
  const passkeyRecords = createPasskeyRecords({ db, factors, rights, freshSignIn })

  /** The session behind a request. @throws {AppError} `InvalidToken`, also without a token (AUTH-010). */
  async function sessionOf(request: FastifyRequest) {
    const token = tokenOf(request, aliases)
    if (token === null) throw new AppError('InvalidToken')
    return sessions.resolve(token, () => browserHashesOf(request, aliases))
  }

  return {
    oauth,
    tokenInfo,
    logout,
    ownSessions,
    passkeyRecords,
    sessionOf,
    sessions,
    refreshes,
    issuer: externalUrl,
    authorize,
    pages,
    /** What a person sees at an address that nothing has; null: a program asks. */
    unknownAddressPage: (request: FastifyRequest, reply: FastifyReply, error: AppError) =>
      request.method === 'GET' && wantsPage(request) ? pages.sendError(request, reply, error) : null,
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
    aliases,
    carriers: carryingHeaders(aliases),
    users,
    groups,

    /** The session of the request's token, and whose it is. @throws {AppError} `InvalidToken`, also without a token (AUTH-010). */
    async session(request: FastifyRequest) {
      const session = await sessionOf(request)
      const actor = sessions.actorOf(session, request.ip)
      return { actor, info: await sessionInfo(actor, session, tokenOf(request, aliases) ?? '') }
    },

    /**
     * An `Authenticator`: the caller by the bearer token; `null` when the request carries none.
     * @throws {AppError} `InvalidToken` when the token is rejected (AUTH-004, AUTH-006); `PasswordChangedRequired`
     * while the user has to set a new password first.
     */
    async bearer(request: FastifyRequest): Promise<Actor | null> {
      const token = tokenOf(request, aliases)
      if (token === null) return null
      const session = await sessions.resolve(token, () => browserHashesOf(request, aliases))
      if (
        session.access.user.requirePasswordChange &&
        !routesBeforePasswordChange.has(request.routeOptions.url ?? '')
      ) {
        throw new AppError('PasswordChangedRequired')
      }
      return sessions.actorOf(session, request.ip)
    },

    /** What a connection that stays open keeps of its token, so as to ask `callers` later; null: it carries none. */
    held(request: FastifyRequest): HeldToken | null {
      const token = tokenOf(request, aliases)
      return token === null ? null : { key: sessions.keyOf(token), remoteAddr: request.ip }
    },

    /** Who is behind the tokens that are still good; one statement for all that are not in memory. */
    async callers(held: readonly HeldToken[]): Promise<Map<HeldToken, Actor>> {
      const open = await sessions.stillOpen(held.map(({ key }) => key))
      return new Map(
        held.flatMap((one): [HeldToken, Actor][] => {
          const session = open.get(one.key)
          if (!session || session.access.user.requirePasswordChange) return []
          return [[one, sessions.actorOf(session, one.remoteAddr)]]
        }),
      )
    },

    /** Gives root its password; returns one to print when it was made up and nobody has signed in with it yet. */
    ensureRoot: (): Promise<string | null> => ensureRoot({ db, passwords, sessions, initial }, config.rootPassword),

    /** What becomes of the password of root when the instance is purged. */
    rootPassword: {
      /** Hash of a new one. @throws {AppError} `ServerGeneric` where it does not meet the rules for passwords. */
      hash(password: string): Promise<string> {
        const rules = baseConfig.get().password
        if (meetsRules(password, rules)) return passwords.hash(password)
        throw badRequest(ruleHint(rules, baseConfig.databaseLanguages()), { name: 'set_password' })
      },
      requireFreshSignIn: freshSignIn,
      /** The one that the first start has made up is shown no longer. */
      replaced: initial.forget,
    },

    /** Users whose address is, from before names were unique, the login of somebody else. */
    shadowedUsers: () => shadowedUsers(db),

    /** Seals with the present key what is not yet; how many authenticator apps and accounts no key opens. */
    reseal: async () => ({
      apps: await resealFactors(db, seal),
      accounts: await db.transaction((tx) => accountUuids.reseal(tx)),
    }),

    failedSignIns: {
      name: 'sign_ins_failed',
      help: 'Failed sign-ins of this process since its start.',
      read: signIn.failures,
    } satisfies Measure,

    /** The actor that a job, a deep link or a plugin acts as; `null` when there is no such user. */
    actorOfUser: sessions.actorOfUser,

    /** Groups that whoever makes an account is put into. @throws {AppError} `ColumnNeedsSystemRoot` */
    requireMayJoin: (from: Queryable, actor: Actor, groupIds: readonly number[]): Promise<void> =>
      requireMayJoin(from, actor, rights, groupIds),

    /** What is said of a directory. @throws {AppError} `ColumnNeedsSystemRoot` */
    requireMayTrust: (from: Queryable, actor: Actor, section: string): Promise<void> =>
      requireMayTrust(from, actor, rights, section),

    /** Those of the users who may sign in now, and root in any case: whoever runs the service does what it set up. */
    actorsOf: sessions.actorsWhoMayAct,

    /** The actor of work that nobody asked for: the user `root`. */
    async systemActor(): Promise<Actor> {
      const root = await sessions.actorOfUser(rootUserId)
      if (!root) throw new Error('there is no user root')
      return root
    },

    /** A fresh access token for a receiver that calls back on behalf of a user; `null` when there is no such user. */
    async tokenForJob(userId: number): Promise<string | null> {
      if (!(await sessions.actorOfUser(userId))) return null
      const signIn = { userId, clientId: 'webhook', scopes: [], method: 'webhook', remoteAddr: '' }
      return (await sessions.open(signIn)).accessToken
    },

    close: () => sessions.close(),
  }
}
