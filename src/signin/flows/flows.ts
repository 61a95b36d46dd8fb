import type { FastifyRequest } from 'fastify'
import { AppError } from '../../platform/errors.ts'
import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'
import type { AnonymousQuotas } from '../anonymous-quotas.ts'
import type { Visit } from '../pages/service.ts'
import { newToken, tokenHash } from '../sessions/token.ts'
import * as store from './flow-store.ts'
import type { Login, NewLogin } from './login.ts'
import { isManaged } from './management.ts'
import { type LoginStep, orderedSteps } from './step.ts'

/** Maximum seconds of a sign-in, and of the way back from one of its pages. */
const lifetime = 15 * 60
const wayBack = 60
/** Maximum number of wrong answers on the pages of one step, after which the sign-in begins anew. */
const mostFailures = 3

export type LoginFlows = ReturnType<typeof createLoginFlows>

export interface LoginFlowDependencies {
  db: Db
  strangers: AnonymousQuotas
  /** The path under which a proxy serves the service. */
  basePath: string
  steps: () => readonly LoginStep[]
}

/** Sign-ins in progress. They are stored in the database, not in the memory of a process. */
export function createLoginFlows({ db, strangers, basePath, steps }: LoginFlowDependencies) {
  const keyOf = (login: Pick<Login, 'id'>): Buffer => tokenHash(login.id)

  return {
    basePath,

    /** Stores a sign-in with remaining pages. */
    async begin(from: Queryable, login: NewLogin): Promise<Login> {
      if (login.userId === null) await strangers.admit(login.remoteAddr)
      const id = newToken()
      await store.insertFlow(from, tokenHash(id), login, lifetime)
      return { ...login, id, stepsDone: [], failures: 0, createdAt: new Date() }
    },

    /**
     * The sign-in that an address (`?flow=`) or a form names, for a page of this step. An earlier step cannot be skipped: a user
     * who has only proved a password must not reach a page that relies on the second factor.
     * @throws {AppError} `PageExpired`
     */
    async find({ browser }: Pick<Visit, 'browser'>, id: string | undefined, step: string): Promise<Login> {
      const found = id === undefined ? null : await store.findFlow(db, tokenHash(id), browser.hash)
      if (!found || id === undefined) throw new AppError('PageExpired', { what: 'login' })
      const login = { ...found, id }
      for (const earlier of orderedSteps(steps())) {
        if (earlier.name === step) return login
        if (!login.stepsDone.includes(earlier.name) && (await earlier.page(login)) !== null) break
      }
      throw new AppError('PageExpired', { what: 'login' })
    },

    /**
     * The same for the message of another server, which a browser brings by a form of that server and so without its cookie: the
     * next request must have the cookie.
     * @throws {AppError} `PageExpired`
     */
    async findForMessage(id: string | undefined): Promise<Login> {
      const found = id === undefined ? null : await store.findFlowOfAnyBrowser(db, tokenHash(id))
      if (!found || id === undefined) throw new AppError('PageExpired', { what: 'login' })
      return { ...found, id }
    },

    /** Locks it, so that no other request can end or pass it until the transaction ends. @throws {AppError} `PageExpired` */
    async hold(tx: Tx, login: Login): Promise<void> {
      if (!(await store.lockFlow(tx, keyOf(login)))) throw new AppError('PageExpired', { what: 'login' })
    },

    /** A directory or another server has identified the user. @throws {AppError} `PageExpired` */
    async proved(
      login: Login,
      proof: { userId: number; method: string; login: string | null },
      from: Queryable = db,
    ): Promise<Login> {
      if (!(await store.proveFlow(from, keyOf(login), proof))) throw new AppError('PageExpired', { what: 'login' })
      return { ...login, ...proof }
    },

    /** A page of this sign-in. */
    address: ({ id }: Login, page: string, more: Readonly<Record<string, string>> = {}): string =>
      `${basePath}/api/page/${page}?${new URLSearchParams({ flow: id, ...more })}`,

    /**
     * The user has passed a step: returns the address for a redirect of the browser with 303. It works once, for a minute, in this
     * browser.
     * @throws {AppError} `PageExpired`
     */
    async passed(login: Login, step: string, from: Queryable = db): Promise<string> {
      const [code, secret] = [newToken(), newToken()]
      const hashes = { codeHash: tokenHash(code), secretHash: tokenHash(secret) }
      if (!(await store.passStep(from, keyOf(login), { step, ...hashes, seconds: wayBack }))) {
        throw new AppError('PageExpired', { what: 'login' })
      }
      return basePath + authorizeAddress(login, { auth_method: 'action_code', action_code: code, secret })
    },

    /** The sign-in page for the same request of the client, for another way to sign in. */
    startAgain: (login: NewLogin): string => basePath + authorizeAddress(login, { auth_method: 'native' }),

    /**
     * The user gave a wrong answer. `null`: the page may be shown again. After the third the sign-in is over, and the
     * browser goes to the returned address: the sign-in page.
     */
    async failed(login: Login, from: Queryable = db): Promise<string | null> {
      const failures = await store.countFailure(from, keyOf(login))
      if (failures === null) throw new AppError('PageExpired', { what: 'login' })
      if (failures < mostFailures) return null
      await store.removeFlow(from, keyOf(login))
      return basePath + authorizeAddress(login, { auth_method: 'native', again: '1' })
    },

    /** Keeps data that a step needs on its next page: a challenge, a new secret. Replaces its earlier data. */
    note: (login: Login, step: string, note: unknown, from: Queryable = db): Promise<void> =>
      store.keepNote(from, keyOf(login), step, note),

    /** The sign-in behind the way back from a page; null when the pair is not valid, or no longer. */
    async useAction(browserHash: Buffer, code: string, secret: string): Promise<Login | null> {
      const id = newToken()
      const action = { codeHash: tokenHash(code), secretHash: tokenHash(secret), nextIdHash: tokenHash(id) }
      const found = await store.useAction(db, { ...action, browserHash })
      return found ? { ...found, id } : null
    },

    /** Ends a sign-in. False: another request was faster. */
    end: (from: Queryable, login: Login): Promise<boolean> => store.removeFlow(from, keyOf(login)),
  }
}

/** The sign-in page for the same request of the client, with further parameters. */
export function authorizeAddress(login: NewLogin, more: Readonly<Record<string, string>>): string {
  const { clientId, redirectUri, redirectUriGiven, state, scopes, codeChallenge } = login
  const parameters = new URLSearchParams({
    client_id: clientId,
    response_type: 'code',
    state,
    ...(redirectUriGiven ? { redirect_uri: redirectUri } : {}),
    ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
    ...(codeChallenge === null ? {} : { code_challenge: codeChallenge, code_challenge_method: 'S256' }),
    ...(isManaged(login) ? { action: 'security' } : {}),
    ...more,
  })
  return `/api/oauth2/auth?${parameters}`
}

/** The user agent of a session, for display. */
export function userAgentOf({ headers }: Pick<FastifyRequest, 'headers'>): string | null {
  return headers['user-agent']?.slice(0, 300) ?? null
}
