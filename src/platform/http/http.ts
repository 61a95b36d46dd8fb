import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyContextConfig, FastifyInstance, FastifyRequest, RawServerDefault } from 'fastify'
import type { Logger } from 'pino'
import type { Actor } from '../actor.ts'
import type { ErrorCode } from '../catalogue.ts'
import { AppError } from '../errors.ts'
import type { Deadline } from '../limits/deadline.ts'
import type { Pace } from '../limits/pace.ts'
import type { BodyLimits, BodySize } from './body/limits.ts'
import type { NeededRight } from './system-right.ts'
import type { Traffic } from './traffic.ts'

/**
 * The access of a route, declared beside its path in `config` and enforced by one hook (access.ts): `public` never looks at a
 * token; `optional` serves callers without a user and treats a rejected token as none; `user` needs a valid token; `session` is
 * `user`, but answers `InvalidToken` also when no token was sent (AUTH-010).
 */
export type Access = 'public' | 'optional' | 'user' | 'session'

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
    /** The route changes stored data: refused with `ReadOnlyMode` while the instance is read-only. */
    writes?: boolean
    /** The route can end the read-only mode, where its setting can be changed: it refuses all other changes itself. */
    endsReadOnly?: boolean | undefined
    /** Error codes of this route, in addition to those that follow from the rest of its declaration. */
    errors?: readonly ErrorCode[]
    /** The body may be left out. */
    bodyOptional?: boolean
    /**
     * The size class of the body (body/limits.ts): `one` where the schema has a body, else `none`. `stream`: the handler reads it
     * as it arrives, of any type (body/streamed.ts).
     */
    body?: BodySize | 'stream'
    /** Numbers of the body that do not fit into a double are kept as their text (exact-json.ts): for handlers that support this. */
    exactNumbers?: boolean
    /** The lowest speed at which clients may send: filled in here. */
    pace?: Pace
    /** The limits of the body: filled in here. */
    bodyLimits?: BodyLimits
    /** The system right that callers need: checked before the body is read. */
    systemRight?: NeededRight
    /**
     * The route makes all processes stand still, so no other request is served while it works (standstill.ts), and it is not
     * counted among the writing requests whose end is awaited.
     */
    alone?: boolean
    /** Its work is finished even if the client disconnects: for routes that count wrong passwords. */
    outlivesClient?: boolean
  }
  interface FastifySchema {
    operationId?: string
    summary?: string
    description?: string
    tags?: readonly string[]
    consumes?: readonly string[]
  }
  interface FastifyRequest {
    actor: Actor | null
    /** Ends when the client disconnects, and after the time for which a request may keep the database busy. */
    deadline: Deadline
    /** Read by `declarationOf`. */
    declaration?: FastifyContextConfig
  }
  interface FastifyInstance {
    /** Requests in flight; `drain` it before `close`. */
    readonly traffic: Traffic
    /** Compiles the schemas of all routes, which otherwise happens on first use. @throws {Error} for an invalid one. */
    readonly compileSchemas: () => void
  }
}

export type HttpApp = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, Logger, TypeBoxTypeProvider>

/** The actor of a route whose access is `user` or `session`: it always has one. */
export function actorOf(request: FastifyRequest): Actor {
  if (!request.actor) throw new AppError('UserRequired')
  return request.actor
}

/**
 * The declaration of the route of a request. The hooks read it a dozen times for each request, and `routeOptions` makes an object
 * each time.
 */
export function declarationOf(request: FastifyRequest): FastifyContextConfig {
  request.declaration ??= request.routeOptions.config
  return request.declaration
}

/** The state of the service, in one word. */
export const statusHeader = 'X-Svc-Status'
