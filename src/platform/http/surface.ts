import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Actor } from '../actor.ts'
import type { ErrorCode } from '../catalogue.ts'
import type { AppError } from '../errors.ts'
import type { HttpApp } from './http.ts'

/**
 * One way to tell who calls: the caller; `null` when the request carries nothing of that kind.
 * @throws {AppError} `InvalidToken` when what it carries is no good.
 */
export type Authenticator = (request: FastifyRequest) => Promise<Actor | null>

/** What becomes of parameters and members that a route does not know, and of those that every route has. */
export interface ParameterRules {
  /** Learns what a route takes, and adds what all take. */
  learn(route: RouteOptions): void
  /** Before the body is read. @throws {AppError} */
  checkQuery(request: FastifyRequest, reply: FastifyReply): void
  /** Before the handler. @throws {AppError} */
  checkBody(request: FastifyRequest, reply: FastifyReply): void
  /** How the answer is kept and shown, by what was asked for. */
  present(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown>
}

/** What the description of the interface says of the failures of a surface. */
export interface SurfaceDescription {
  /** The JSON schema of an error's body. */
  readonly error: object
  /** What the statuses mean; without it they are those of the codes that a route may answer. */
  readonly failures?: Readonly<Record<number, string>>
  /** Failures that a protocol tells in a form of its own, beside those. */
  readonly further?: { readonly type: string; readonly texts: Readonly<Record<number, string>> }
}

/**
 * How a part of the HTTP interface speaks with its clients, whatever its routes do. Each scope of routes stands on one
 * (`onSurface`); the hooks of server.ts read it there.
 */
export interface Surface {
  readonly name: string
  /** Sends an error in the form of the surface; what all of them say in headers is said already. */
  readonly sendError: (error: AppError, request: FastifyRequest, reply: FastifyReply) => FastifyReply
  /** `WWW-Authenticate`, by the code of the error. */
  readonly challenge: Readonly<Partial<Record<ErrorCode, string>>>
  /** How callers may say who they are, asked in turn. */
  readonly authenticators: readonly Authenticator[]
  /** null: parameters mean what a route makes of them, and nothing else. */
  readonly parameters: ParameterRules | null
  /** Whose pages may read the answers: those of the configured origins, or all, without credentials. */
  readonly origins: 'configured' | 'any'
  /** Headers of an answer to OPTIONS: what a protocol wants to tell of itself there. */
  readonly optionsHeaders: Readonly<Record<string, string>>
  /** null: the routes are not in the description of the interface. */
  readonly description: SurfaceDescription | null
}

declare module 'fastify' {
  interface FastifyInstance {
    /** On which the routes of this scope stand. */
    readonly surface: Surface
  }
  interface FastifyContextConfig {
    /** Filled in here: that of the scope. */
    surface?: Surface
  }
}

/** Registers routes on a surface, in a scope of their own. */
export async function onSurface(
  app: HttpApp,
  surface: Surface,
  register: (scope: HttpApp) => void | Promise<void>,
): Promise<void> {
  await app.register(async (scope: HttpApp) => {
    scope.decorate('surface', surface)
    await register(scope)
  })
}
