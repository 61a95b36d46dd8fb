/**
 * Who is calling: users, groups, sessions, tokens. A *user* may sign in and acts; *groups* give users rights, system
 * groups by the type of the user. A *session* is one sign-in; its *tokens* prove it with each request. An *actor* is a
 * user within a request: what every service takes first.
 */
import type { FastifyRequest } from 'fastify'
import type { BaseConfigService } from '../config/service.ts'
import type { EventLog } from '../events/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { Bus } from '../platform/bus.ts'
import type { Config } from '../platform/config.ts'
import type { Db } from '../platform/db.ts'
import { AppError } from '../platform/errors.ts'
import { tokenOf } from './carriers.ts'
import { createOAuthClients } from './oauth/clients.ts'
import { createOAuth } from './oauth/service.ts'
import { createPasswords } from './passwords.ts'
import { ensureRoot } from './root.ts'
import { createSessions } from './sessions/service.ts'
import { createSignIn } from './sign-in.ts'
import { createThrottle } from './throttle.ts'

export interface AuthDependencies {
  config: Pick<Config, 'rootPassword' | 'identifierAliases' | 'oauthClients'>
  db: Db
  bus: Bus
  events: EventLog
  baseConfig: BaseConfigService
  clock?: () => Date
}

export type Auth = ReturnType<typeof createAuth>

/** Routes that a user who must set a new password can still call. */
const routesBeforePasswordChange: ReadonlySet<string> = new Set([
  '/api/v1/user/session',
  '/api/v1/user/change_password',
])

export function createAuth({ config, db, bus, events, baseConfig, clock }: AuthDependencies) {
  const time = clock ? { clock } : {}
  const passwords = createPasswords()
  const throttle = createThrottle({ limits: () => baseConfig.get().password.blockclient })
  const sessions = createSessions({ db, bus, events, baseConfig, ...time })
  const signIn = createSignIn({ db, events, passwords, throttle, sessions, ...time })
  const aliases = config.identifierAliases
  const clients = createOAuthClients({ configured: config.oauthClients, baseConfig, aliases })
  const oauth = createOAuth({ clients, sessions, signIn })

  return {
    sessions,
    oauth,

    /**
     * The caller of a request; `null` when it carries no token.
     * @throws {AppError} `InvalidToken` when the token is rejected (AUTH-004, AUTH-006); `PasswordChangedRequired`
     * while the user has to set a new password first.
     */
    async authenticate(request: FastifyRequest): Promise<Actor | null> {
      const token = tokenOf(request, aliases)
      if (token === null) return null
      const session = await sessions.resolve(token)
      if (
        session.access.user.requirePasswordChange &&
        !routesBeforePasswordChange.has(request.routeOptions.url ?? '')
      ) {
        throw new AppError('PasswordChangedRequired')
      }
      return sessions.actorOf(session, request.ip)
    },

    /** Gives root its password; returns one to print when it was made up. */
    ensureRoot: (): Promise<string | null> => ensureRoot({ db, passwords, sessions }, config.rootPassword),

    /** The actor that a job, a deep link or a plugin acts as; `null` when there is no such user. */
    actorOfUser: sessions.actorOfUser,

    close: () => sessions.close(),
  }
}
