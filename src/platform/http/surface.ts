import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Actor } from '../actor.ts'
import type { ErrorCode } from '../catalogue.ts'
import type { AppError } from '../errors.ts'
import type { HttpApp } from './http.ts'

/**
 * One authentication method. Returns the caller; `null` when the request has no credentials of this kind.
 * @throws {AppError} `InvalidToken` when the credentials are invalid.
 */
export type Authenticator = (request: FastifyRequest) => Promise<Actor | null>

/** The handling of parameters and members that a route does not know, and of those that every route has. */
export interface ParameterRules {
  /** Collects the parameters of a route, and adds the common ones. */
  learn(route: RouteOptions): void
  /** Before the body is read. @throws {AppError} */
  checkQuery(request: FastifyRequest, reply: FastifyReply): void
  /** Before the handler. @throws {AppError} */
  checkBody(request: FastifyRequest, reply: FastifyReply): void
  /** Formats the answer, and sets its caching, as the request asks for; a promise only where it has to wait. */
  present(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown
}

/** The description of a surface's failures in the description of the interface. */
export interface SurfaceDescription {
  /** The JSON schema of an error's body. */
  readonly error: object
  /** The meanings of the statuses; absent: those of the codes that a route may answer. */
  readonly failures?: Readonly<Record<number, string>>
  /** Failures that a protocol reports in another format, besides those. */
  readonly further?: { readonly type: string; readonly texts: Readonly<Record<number, string>> }
}

/**
 * The protocol of a part of the HTTP interface with its clients, independent of its routes. Each scope of routes has one
 * (`onSurface`); the hooks of server.ts read it there.
 */
export interface Surface {
  readonly name: string
  /** Sends an error in the form of the surface; the common headers are already set. */
  readonly sendError: (error: AppError, request: FastifyRequest, reply: FastifyReply) => FastifyReply
  /** `WWW-Authenticate`, by the code of the error. */
  readonly challenge: Readonly<Partial<Record<ErrorCode, string>>>
  /** The authentication methods, tried in turn. */
  readonly authenticators: readonly Authenticator[]
  /** null: only the route itself interprets parameters. */
  readonly parameters: ParameterRules | null
  /** The origins whose pages may read the answers: the configured origins, or all, without credentials. */
  readonly origins: 'configured' | 'any'
  /** Additional headers of an answer to OPTIONS that a protocol requires. */
  readonly optionsHeaders: Readonly<Record<string, string>>
  /** null: the routes are not in the description of the interface. */
  readonly description: SurfaceDescription | null
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The surface of the routes in this scope. */
    readonly surface: Surface
  }
  interface FastifyContextConfig {
    /** Filled in here: the surface of the scope. */
    surface?: Surface
  }
}

/** Registers routes on a surface, in a separate scope. */
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
