/**
 * Signing in on the page (`/oauth2/auth`): from the request of a client to the code for it. In between are the credentials and the
 * steps that the user must pass; the sign-in is stored only while there are such steps.
 */

import type { FastifyReply } from 'fastify'
import type { BaseConfigService } from '../../config/service.ts'
import { signInObstacle } from '../../people/service.ts'
import { AppError } from '../../platform/errors.ts'
import { type Form, required } from '../../platform/http/form.ts'
import type { Db, Tx } from '../../platform/postgres/db.ts'
import {
  type AnonymousQuotas,
  type DirectoryStatusService,
  DirectoryUnavailable,
  deviceOf,
  findAccess,
  guestUserId,
  type KeepLogins,
  keepDevice,
  type Login,
  type LoginFlows,
  type LoginStep,
  managementNotes,
  mintBrowserId,
  type NewLogin,
  orderedSteps,
  type PasswordMethod,
  type ProviderName,
  passkeyNotes,
  passwordMethods,
  provedFactor,
  type SignedIn,
  type SignIn,
  type SingleSignOn,
  userAgentOf,
  type Visit,
} from '../../signin/service.ts'
import type { OAuthClients } from '../clients.ts'
import type { Codes } from '../codes.ts'
import { type Redirects, withParameters } from '../redirects.ts'
import { type LoginOffers, type LoginPage, sendLoginPage } from './login-page.ts'
import { methodsToTry, passwordMethodsOf } from './methods.ts'
import { type AuthorizeRequest, readAuthorizeRequest } from './request.ts'

export interface AuthorizeDependencies {
  db: Db
  baseConfig: BaseConfigService
  clients: OAuthClients
  redirects: Redirects
  signIn: SignIn
  codes: Codes
  flows: LoginFlows
  /** Whether a directory checks passwords, too. */
  asksDirectory: () => boolean
  singleSignOn: Pick<SingleSignOn, 'active' | 'begin' | 'chosen' | 'first' | 'hinted' | 'offers' | 'sessionOf'>
  /** The steps between credentials and code. */
  steps: () => readonly LoginStep[]
  /** Whether passkeys sign in. */
  passkeys: () => boolean
  /** Further links on the sign-in page. */
  offers: () => LoginOffers
  /** Name of this server in the answers (RFC 9207). */
  issuer: string
  /** The path under which a proxy serves the service. */
  basePath: string
  aliases: readonly string[]
  keepLogins: KeepLogins
  words: Pick<DirectoryStatusService, 'now'>
  strangers: AnonymousQuotas
  clock: () => Date
}

export type Authorize = ReturnType<typeof createAuthorize>

/** A proof that a person is a user, with the work for the transaction that stores it. */
interface Proof {
  readonly userId: number
  readonly method: string
  readonly login: string | null
  readonly remember?: SignedIn['remember']
}

const longestLogin = 500
const longestPassword = 1000
/** Methods of forms that can request a kept sign-in. */
const keepable: readonly string[] = passwordMethods.filter((method) => method !== 'collection')

export function createAuthorize(given: AuthorizeDependencies) {
  const { db, baseConfig, redirects, signIn, codes, flows, steps, issuer, basePath, aliases, keepLogins, clock } = given
  const { singleSignOn, strangers } = given

  /** @throws {OAuthError} for an invalid request: a 400 without a redirect. */
  return async function authorize(visit: Visit, form: Form): Promise<FastifyReply> {
    const asked = readAuthorizeRequest(form, visit.request, given)
    const guests = baseConfig.get().login.guest
    const available = { guests, passkeys: given.passkeys(), ldap: given.asksDirectory(), ...singleSignOn.active() }
    const methods = methodsToTry(asked.methods, available)
    const typed = form.has('login') || form.has('password')
    if (!typed && methods.includes('auto')) {
      const provider = singleSignOn.hinted(visit)
      if (provider !== null) return withProvider(visit, form, asked, provider)
    }
    // Credentials are for a method that uses them; a method without credentials is not skipped because of them (CLIENT-026).
    const forPassword = typed && methods.some((one) => one === 'auto' || passwordMethods.some((name) => name === one))
    for (const method of methods) {
      if (method === 'passkey' && !forPassword) return withPasskey(visit, form, asked)
      if ((method === 'openid' || method === 'saml') && !forPassword) {
        const provider = singleSignOn.chosen(method, form.get('provider'))
        if (provider !== null) return withProvider(visit, form, asked, provider)
      }
      if (method === 'action_code' && form.has('action_code')) return comeBack(visit, form, asked)
      if (method === 'auto' || passwordMethods.some((one) => one === method)) {
        if (typed) break
        // A user who is about to change passwords or factors must sign in again.
        const kept = form.has('again') || asked.managed ? null : await keepLogins.use(visit.request, visit.reply)
        if (kept !== null && (await mayEnter(kept, visit.request.ip))) {
          return proved(visit, form, asked, { userId: kept, method: 'keep_login', login: null })
        }
      }
      if (method === 'auto' && !typed && !form.has('again')) {
        const provider = singleSignOn.first()
        if (provider !== null) return withProvider(visit, form, asked, provider)
      }
      // Guests enter without a form; a guest who wants to sign in chooses another method (CLIENT-028).
      if (!asked.managed && (method === 'anonymous' || (method === 'auto' && guests && !typed))) {
        await strangers.admit(visit.request.ip)
        return proved(visit, form, asked, { userId: await guestUserId(db), method: 'anonymous', login: null })
      }
    }
    return withPassword(visit, form, asked, passwordMethodsOf(methods))
  }

  /** The user of a kept sign-in may enter, unless the account is blocked here or at its directory. */
  async function mayEnter(userId: number, remoteAddr: string): Promise<boolean> {
    const [user] = await findAccess(db, [userId])
    if (!user || signInObstacle(user, clock()) !== null) return false
    return (await given.words.now(userId, remoteAddr)) === 'there'
  }

  async function withPassword(
    visit: Visit,
    form: Form,
    asked: AuthorizeRequest,
    methods: readonly PasswordMethod[],
  ): Promise<FastifyReply> {
    const { text, request } = visit
    const [login, password] = [form.get('login'), form.get('password')]
    const page = pageOf(form, asked, methods)
    if (login === undefined && password === undefined) {
      return sendLoginPage(visit, { ...page, problem: form.has('again') ? text('login.startOver') : null })
    }
    // A form without a token may come from another site, which may use it to sign in (SESS-009); a form with a wrong token is an
    // outdated form of ours.
    if (form.has('csrf') && !visit.isOwnForm(form.get('csrf'))) {
      return sendLoginPage(visit, { ...page, problem: text('error.formExpired') })
    }
    if (login === undefined || password === undefined) {
      return sendLoginPage(visit, { ...page, problem: text('login.missing'), invalid: true })
    }
    const wrong = { ...page, problem: text('login.wrong'), invalid: true }
    if (login.length > longestLogin || password.length > longestPassword) return sendLoginPage(visit, wrong)
    const clientId = asked.client.id
    const credentials = {
      login,
      password,
      clientId,
      remoteAddr: request.ip,
      device: deviceOf(request),
      methods,
    }
    const signedIn = await signIn.verify(credentials).catch((error: unknown) => {
      if (
        error instanceof AppError &&
        (error.code === 'TooManyAttempts' || error.code === 'QuotaExceeded' || error.parameters.directory)
      )
        return error
      throw error
    })
    if (signedIn instanceof AppError && signedIn.code === 'ServiceUnavailable') {
      return sendLoginPage(visit, { ...page, problem: text('login.directoryDown'), status: signedIn.status })
    }
    if (signedIn instanceof AppError) {
      const seconds = Number(signedIn.parameters.retry_after)
      visit.reply.header('Retry-After', String(seconds))
      const problem = text('login.blocked', { minutes: Math.ceil(seconds / 60) })
      return sendLoginPage(visit, { ...page, problem, status: signedIn.status })
    }
    if (!signedIn) return sendLoginPage(visit, wrong)
    if ('refused' in signedIn) {
      const problem = text(`login.refused.${signedIn.refused}`)
      return sendLoginPage(visit, { ...page, problem, invalid: true })
    }
    keepDevice(visit.reply, signedIn.device)
    const { userId, method, login: logged, remember } = signedIn
    return proved(visit, form, asked, { userId, method, login: logged, remember })
  }

  /** The user is known; continues with the remaining steps, if any. */
  async function proved(visit: Visit, form: Form, asked: AuthorizeRequest, proof: Proof): Promise<FastifyReply> {
    const login: Login = {
      ...newLogin(visit, form, asked, proof),
      id: '',
      stepsDone: [],
      failures: 0,
      createdAt: new Date(),
    }
    const page = await nextPage(login)
    if (page === null) return finish(visit, login, proof.remember)
    const begun = await db.transaction(async (tx) => {
      await proof.remember?.(tx)
      return flows.begin(tx, login)
    })
    return toPage(visit, page, begun)
  }

  /** A passkey identifies the user: this needs a separate page. */
  async function withPasskey(visit: Visit, form: Form, asked: AuthorizeRequest): Promise<FastifyReply> {
    const begun = await flows.begin(db, {
      ...newLogin(visit, form, asked, null),
      notes: { ...passkeyNotes, ...(asked.managed ? managementNotes : {}) },
    })
    const page = await nextPage(begun)
    return page === null ? finish(visit, begun) : toPage(visit, page, begun)
  }

  /** Another server identifies the user: the browser is redirected there, and comes back to `singleSignOn`. */
  async function withProvider(visit: Visit, form: Form, asked: AuthorizeRequest, provider: ProviderName) {
    const { reply, request, text } = visit
    try {
      const address = await singleSignOn.begin(provider, newLogin(visit, form, asked, null), flows)
      return reply.header('Cache-Control', 'no-store').redirect(address, request.method === 'GET' ? 302 : 303)
    } catch (error) {
      if (!(error instanceof DirectoryUnavailable)) throw error
      const page = pageOf(form, asked, passwordMethodsOf(['auto']))
      return sendLoginPage(visit, { ...page, problem: text('login.providerDown'), status: 503 })
    }
  }

  function pageOf(form: Form, asked: AuthorizeRequest, methods: readonly PasswordMethod[]): LoginPage {
    return {
      asked,
      methods,
      config: baseConfig.get(),
      login: form.get('login'),
      keep: form.get('keep_login') === '1',
      offers: given.offers(),
      providers: singleSignOn.offers(),
      passkeys: given.passkeys(),
      basePath,
    }
  }

  /** @param proof null: nothing was proved yet. */
  function newLogin(visit: Visit, form: Form, asked: AuthorizeRequest, proof: Proof | null): NewLogin {
    const { request, reply } = visit
    const { client, destination, state, scopes, codeChallenge } = asked
    // Bound to the browser when the code is used in it; a program elsewhere cannot send the cookie (SESS-001, -008, -009).
    const bound = destination.sameOrigin && !isCrossSite(visit)
    return {
      clientId: client.id,
      redirectUri: destination.uri,
      redirectUriGiven: destination.given,
      state,
      scopes,
      codeChallenge,
      // Only our own form keeps a browser signed in: another site must not leave its account in it.
      keepLogin:
        form.get('keep_login') === '1' && visit.isOwnForm(form.get('csrf')) && keepable.includes(proof?.method ?? ''),
      boundBrowserHash: bound ? mintBrowserId(request, reply, aliases) : null,
      browserHash: visit.browser.hash,
      userId: proof?.userId ?? null,
      method: proof?.method ?? null,
      login: proof?.login ?? null,
      remoteAddr: request.ip,
      userAgent: userAgentOf(request),
      notes: asked.managed ? managementNotes : {},
    }
  }

  /** A page was passed (OAUTH-010): the next one, or the code. */
  async function comeBack(visit: Visit, form: Form, asked: AuthorizeRequest): Promise<FastifyReply> {
    const [code, secret] = [required(form, 'action_code'), required(form, 'secret')]
    const login = await flows.useAction(visit.browser.hash, code, secret)
    if (!login || !isSame(login, asked)) throw new AppError('PageExpired', { what: 'login' })
    const page = await nextPage(login)
    return page === null ? finish(visit, login) : toPage(visit, page, login)
  }

  async function nextPage(login: Login): Promise<string | null> {
    for (const step of orderedSteps(steps())) {
      if (login.stepsDone.includes(step.name)) continue
      const page = await step.page(login)
      if (page !== null) return page
    }
    return null
  }

  function toPage({ reply }: Visit, page: string, { id }: Login): FastifyReply {
    return reply.header('Cache-Control', 'no-store').redirect(`${basePath}/api/page/${page}?flow=${id}`, 303)
  }

  /** @param remember joins the transaction of a sign-in that is not stored. */
  async function finish(
    { reply, request }: Visit,
    login: Login,
    remember?: Proof['remember'] | undefined,
  ): Promise<FastifyReply> {
    const { userId, method } = login
    if (userId === null || method === null) throw new AppError('PageExpired', { what: 'login' })
    const code = await db.transaction(async (tx: Tx) => {
      await remember?.(tx)
      if (login.id !== '' && !(await flows.end(tx, login))) throw new AppError('PageExpired', { what: 'login' })
      if (login.keepLogin) await keepLogins.keep(tx, request, reply, userId)
      return codes.issue(tx, {
        ...login,
        userId,
        method,
        twoFactor: provedFactor(login),
        directorySession: singleSignOn.sessionOf(login),
      })
    })
    const address = withParameters(login.redirectUri, { code, state: login.state, iss: issuer })
    return reply.header('Cache-Control', 'no-store').redirect(address, request.method === 'GET' ? 302 : 303)
  }

  /** Whether another site made the browser send this. Programs other than browsers do not send these headers. */
  function isCrossSite({ request }: Visit): boolean {
    const { origin, 'sec-fetch-site': site } = request.headers
    if (site !== undefined) return site === 'cross-site' || site === 'same-site'
    return origin !== undefined && !redirects.isOwnOrigin(origin, request)
  }
}

function isSame(login: NewLogin, { client, destination, state }: AuthorizeRequest): boolean {
  return login.clientId === client.id && login.redirectUri === destination.uri && login.state === state
}
