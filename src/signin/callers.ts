import type { FastifyRequest } from 'fastify'
import type { BaseConfigService } from '../config/service.ts'
import type { HeldToken } from '../events/service.ts'
import { harvestUserId, rootUserId } from '../people/model.ts'
import { covers, principalsOfUser, type RightsHooks, reachOf } from '../people/service.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import type { Db, Tx } from '../platform/postgres/db.ts'
import { browserHashesOf } from './browser-id.ts'
import { guestUserId } from './guest.ts'
import { tokenOf } from './request-token.ts'
import type { createSessionInfo } from './sessions/info.ts'
import type { Sessions } from './sessions/service.ts'

/** The system user for callers without a token (migration 0010). */
const deepLinkUserId = 2

/** Routes that a user with the duty to set a new password can still call. */
const routesBeforePasswordChange: ReadonlySet<string> = new Set([
  '/api/v1/user/session',
  '/api/v1/user/change_password',
])

interface CallersDeps {
  readonly db: Db
  readonly baseConfig: BaseConfigService
  readonly sessions: Sessions
  readonly sessionInfo: ReturnType<typeof createSessionInfo>
  readonly rights: RightsHooks
  /** Words that clients may use in place of `svc` in names of headers and cookies. */
  readonly aliases: readonly string[]
}

/** The actors behind requests and long-lived connections, and those of work that has no request. */
export function createCallers({ db, baseConfig, sessions, sessionInfo, rights, aliases }: CallersDeps) {
  /** The session behind a request. @throws {AppError} `InvalidToken`, also without a token (AUTH-010). */
  async function sessionOf(request: FastifyRequest) {
    const token = tokenOf(request, aliases)
    if (token === null) throw new AppError('InvalidToken')
    return sessions.resolve(token, () => browserHashesOf(request, aliases))
  }

  return {
    sessionOf,

    /** The session of the request's token, with its user. @throws {AppError} `InvalidToken`, also without a token (AUTH-010). */
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

    /** The part of a token that a long-lived connection keeps, to ask `callers` later; null: the request has no token. */
    held(request: FastifyRequest): HeldToken | null {
      const token = tokenOf(request, aliases)
      return token === null ? null : { key: sessions.keyOf(token), remoteAddr: request.ip }
    },

    /** The actors behind the tokens that are still valid; one statement for all that are not in memory. */
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

    /** The actor that a job, a deep link or a plugin acts as; `null` when there is no such user. */
    actorOfUser: sessions.actorOfUser,

    /** The actor of guests, if they are allowed; else `null`. */
    actorOfGuests: async (): Promise<Actor | null> =>
      baseConfig.get().login.guest ? sessions.actorOfUser(await guestUserId(db)) : null,

    /** The actor of callers without a token, if links to files without a token are allowed; else `null`. */
    actorOfLinks: async (): Promise<Actor | null> =>
      baseConfig.get().deep_link_access.enabled ? sessions.actorOfUser(deepLinkUserId) : null,

    /** The user with the rights of harvesters, at an address; null: harvesting is not allowed. */
    actorOfHarvests: (address = ''): Promise<Actor | null> => sessions.actorOfUser(harvestUserId, address),

    /**
     * The actors of the users, of those given, who may sign in now, and root in any case: things that were set up by root keep
     * working.
     */
    actorsOf: sessions.actorsWhoMayAct,

    /** The actor for work that no user started: the user `root`. */
    async systemActor(from?: Tx): Promise<Actor> {
      const root = await sessions.actorOfUser(rootUserId, '', from)
      if (!root) throw new Error('there is no user root')
      return root
    },

    /** A new access token for a receiver that calls back on behalf of a user; `null` when there is no such user. */
    async tokenForJob(userId: number): Promise<string | null> {
      if (!(await sessions.actorOfUser(userId))) return null
      const signIn = { userId, clientId: 'webhook', scopes: [], method: 'webhook', remoteAddr: '' }
      return (await sessions.open(signIn)).accessToken
    },

    /**
     * Whether the actor has all rights of the user, so that a program which acts for the user gives the actor no further rights.
     */
    async mayActAs(from: Tx, actor: Actor, userId: number): Promise<boolean> {
      if (actor.isRoot || actor.userId === userId) return true
      const other = await sessions.actorOfUser(userId, '', from)
      if (!other || other.isRoot || !covers(actor.systemRights, Object.fromEntries(other.systemRights))) return false
      return reachOf(actor, rights, from)(principalsOfUser(userId, other.groupIds))
    },

    /** The user with that reference who may sign in now; null when there is none. */
    async actorByReference(reference: string): Promise<Actor | null> {
      const { rows } = await db.query<{ id: number }>('select id from "user" where reference = $1', [reference])
      const id = rows[0]?.id
      return id === undefined ? null : ((await sessions.actorsWhoMayAct(db, [id])).get(id) ?? null)
    },
  }
}
