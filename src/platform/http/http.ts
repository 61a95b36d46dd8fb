import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import compress from '@fastify/compress'
import cors from '@fastify/cors'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
  type RawServerDefault,
  type RouteOptions,
} from 'fastify'
import type { Logger } from 'pino'
import type { Actor } from '../actor.ts'
import type { ErrorCode } from '../catalogue.ts'
import { AppError, badRequest, type ErrorBody, errorBody } from '../errors.ts'
import { callerOf as shareOf } from '../limits/callers.ts'
import { type Deadline, noDeadlineFor, RequestDeadline, withinDeadline } from '../limits/deadline.ts'
import type { Pace } from '../limits/pace.ts'
import { unavailabilityBehind } from '../postgres/failures.ts'
import type { Standstill } from '../postgres/standstill.ts'
import { withoutSecrets } from '../secrets/secret-forms.ts'
import { scrubbed, scrubPath, scrubText, secretsIn } from '../secrets/secrets.ts'
import { drainUnread } from './body/drain.ts'
import { BodyGate } from './body/gate.ts'
import { type BodyLimits, type BodySize, limitsOf } from './body/limits.ts'
import { checkBodyNames, learnBodyNames } from './body/names.ts'
import { createBodyReader } from './body/reader.ts'
import { allowOf, createCrossOrigin } from './cross-origin.ts'
import { guardPeers } from './peers.ts'
import { checkQueryNames, learnQueryNames, prettyJson } from './query-names.ts'
import { useLazyCompilers } from './schema-compilers.ts'
import { securityHeaders } from './security-headers.ts'
import { type NeededRight, requireRight } from './system-right.ts'
import { type Traffic, trackTraffic } from './traffic.ts'
import { trustedProxies } from './trusted-proxies.ts'
import { methodsAt, unknownAddress } from './unknown-address.ts'

/**
 * What a route needs from its caller, declared beside its path in `config` and enforced here by one hook:
 * `public` never looks at a token; `optional` serves callers without a user and treats a rejected token as none;
 * `user` needs a valid token; `session` is `user`, but answers `InvalidToken` also when no token was sent (AUTH-010).
 */
export type Access = 'public' | 'optional' | 'user' | 'session'

/**
 * One way to tell who calls: the caller; `null` when the request carries nothing of that kind.
 * @throws {AppError} `InvalidToken` when what it carries is no good.
 */
export type Authenticator = (request: FastifyRequest) => Promise<Actor | null>

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
    /** How its callers may say who they are, asked in turn; where nothing is said, as everywhere (`HttpOptions`). */
    authenticators?: readonly Authenticator[]
    /** The route changes stored data: refused with `ReadOnlyMode` while the instance is read-only. */
    writes?: boolean
    /** Answers errors as RFC 6749 bodies (`error`, `error_description`) in place of the envelope. */
    oauthErrors?: boolean
    /** Codes that a client may get from this route besides those that follow from the rest of its declaration. */
    errors?: readonly ErrorCode[]
    /** The body may be left out. */
    bodyOptional?: boolean
    /**
     * How much the body may be (body/limits.ts): `one` where the schema has a body, else `none`. `stream`: the handler
     * takes it as it comes, of any type (streamed-body.ts).
     */
    body?: BodySize | 'stream'
    /** Numbers of the body that no double holds are kept as their text (exact-json.ts): for who knows of them. */
    exactNumbers?: boolean
    /** How slowly clients may send: filled in here. */
    pace?: Pace
    /** The same as numbers: filled in here. */
    bodyLimits?: BodyLimits
    /** The system right without which nobody is served: asked for before the body is read. */
    systemRight?: NeededRight
    /** Nobody else is served while it works (standstill.ts): it is not waited for. */
    alone?: boolean
    /** What it does is done to its end, whether the client waits for it or not: what counts wrong passwords. */
    outlivesClient?: boolean
  }
  interface FastifySchema {
    operationId?: string
    summary?: string
    description?: string
    tags?: readonly string[]
    consumes?: readonly string[]
    /** Not part of the interface, so not of its description either. */
    hide?: boolean
  }
  interface FastifyRequest {
    actor: Actor | null
    /** Ends with the client and after the time that a request may keep the database busy. */
    deadline: Deadline
  }
  interface FastifyInstance {
    /** Requests in flight; `drain` it before `close`. */
    readonly traffic: Traffic
    /** All routes with what they declare, in the order of registration. */
    readonly declaredRoutes: readonly DeclaredRoute[]
    /** Compiles the schemas of all routes, which else happens on first use. @throws {Error} on a wrong one. */
    readonly compileSchemas: () => void
  }
}

export type HttpApp = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, Logger, TypeBoxTypeProvider>

export interface DeclaredRoute {
  readonly method: string
  readonly url: string
  readonly access: Access
  readonly writes: boolean
  readonly systemRight: NeededRight | undefined
}

/** Says in one word how the service is. */
export const statusHeader = 'X-Svc-Status'

/** Seconds in which the head of a request must have arrived. */
const headersTimeout = 30

export interface HttpOptions {
  log: Logger
  /** Largest request body in bytes (LIM-012). */
  bodyLimit: number
  /** Seconds in which a request must have arrived. */
  requestTimeout: number
  /** Connections at a time. */
  maxConnections: number
  /** Of one network, and its requests that are not answered. */
  maxConnectionsOfNetwork: number
  /** Bytes of answers that may wait together until their clients take them. */
  mostUntaken: number
  /** How slowly clients may send and take. */
  pace: Pace
  corsOrigins: readonly string[]
  /** Proxies whose `X-Forwarded-*` headers are believed. */
  trustedProxies: readonly string[]
  /** Milliseconds that one request may keep the database busy, when it only reads and when it writes. */
  timeLimits: { readonly read: number; readonly write: number }
  readOnly: () => boolean
  /** While something goes on there, requests are refused. */
  standstill: Pick<Standstill, 'word' | 'enter'>
  /** For routes that declare none of their own. */
  authenticators: readonly Authenticator[]
  /** Names of the headers that can say who is calling. */
  carriers: readonly string[]
  /** The answer to a person whose browser asked for an address that nothing has; null: a program gets the envelope. */
  unknownAddressPage?: (request: FastifyRequest, reply: FastifyReply, error: AppError) => FastifyReply | null
}

/** The actor of a route whose access is `user` or `session`: there always is one. */
export function actorOf(request: FastifyRequest): Actor {
  if (!request.actor) throw new AppError('UserRequired')
  return request.actor
}

/** Builds the HTTP layer: validation, access, read-only guard, error envelope, headers. Knows no capability. */
export async function createHttp(options: HttpOptions): Promise<HttpApp> {
  const upgrades = new Set<string>()
  const app: HttpApp = Fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: options.bodyLimit,
    routerOptions: { maxParamLength: 4096 },
    trustProxy: [...options.trustedProxies],
    // A logger for each request would look for secrets in its id each time: the id is logged where something is logged.
    childLoggerFactory: (log) => log,
    genReqId: (request) => acceptedRequestId(request.headers['x-request-id']) ?? crypto.randomUUID(),
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, useDefaults: true, allErrors: false } },
    forceCloseConnections: 'idle',
    // Whoever reads a body sees to its end (body/reader.ts): files may take longer than any other request.
    requestTimeout: 0,
    frameworkErrors: (error, request, reply) => {
      reply.header('X-Request-Id', request.id)
      sendError(error, request, reply as FastifyReply)
    },
    clientErrorHandler: answerBrokenRequest,
    http: {
      // Others offer to go on with another protocol in a request that is to be answered whether that is taken or not.
      shouldUpgradeCallback: ({ headers, url = '' }) =>
        headers.upgrade?.toLowerCase() === 'websocket' && upgrades.has(url.split('?', 1)[0] ?? ''),
      // GET /search carries a whole search request in its query.
      maxHeaderSize: 64 * 1024,
      headersTimeout: Math.min(headersTimeout, options.requestTimeout) * 1000,
      connectionsCheckingInterval: 1000,
    },
  })
  const traffic = trackTraffic(app.server)
  const peers = guardPeers(app.server, {
    most: options.maxConnections,
    mostOfNetwork: options.maxConnectionsOfNetwork,
    isProxy: trustedProxies(options.trustedProxies),
    pace: options.pace,
    mostUntaken: options.mostUntaken,
  })
  app.decorate('traffic', traffic)
  const declaredRoutes: DeclaredRoute[] = []
  app.decorate('declaredRoutes', declaredRoutes)
  app.addHook('onRoute', (route) => {
    declaredRoutes.push(...declarationsOf(route))
  })
  app.addHook('onRoute', (route) => {
    if (route.wsHandler) upgrades.add(route.url)
  })
  app.addHook('onRoute', learnQueryNames)
  app.addHook('onRoute', (route) => {
    const size = route.config?.body ?? (route.schema?.body === undefined ? 'none' : 'one')
    const limits = size === 'stream' ? {} : { bodyLimits: limitsOf(size, options.bodyLimit) }
    route.config = { ...route.config, ...limits, pace: options.pace }
  })
  app.addHook('onRoute', learnBodyNames)
  app.decorate('compileSchemas', useLazyCompilers(app))
  const crossOrigin = createCrossOrigin(options.corsOrigins)
  app.addHook('onRoute', crossOrigin.learn)
  app.addHook('onRequest', crossOrigin.onRequest)
  if (options.corsOrigins.length > 0) await app.register(cors, crossOrigin.cors)
  // Packed bodies are unpacked by our own reader, which knows how much that may become.
  await app.register(compress, {
    global: true,
    globalDecompression: false,
    threshold: 4096,
    encodings: ['gzip', 'deflate'],
  })
  const bodies = createBodyReader({
    gate: new BodyGate({ capacity: 3 * options.bodyLimit }),
    pace: options.pace,
    arrival: options.requestTimeout,
  })
  // Plain text is no body of any endpoint: it would reach the schema as one long string.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', bodies.json)
  app.addContentTypeParser('application/x-www-form-urlencoded', bodies.form)
  app.addContentTypeParser('*', bodies.other)
  app.decorateRequest('actor', null)
  app.decorateRequest('deadline')
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(securityHeaders).header('X-Request-Id', request.id)
    const { read, write } = options.timeLimits
    const limit = request.routeOptions.config.writes ? write : read
    request.deadline = new RequestDeadline(reply.raw, limit, () => shareOf(request.actor, request.ip))
    if (traffic.stopping) {
      reply.header('Connection', 'close')
      throw new AppError('ServiceUnavailable')
    }
    const { word } = options.standstill
    if (word !== null) {
      reply.header(statusHeader, word)
      throw new AppError('ServiceUnavailable', {}, { message: `The instance does not answer for a while: ${word}.` })
    }
    const { writes, alone } = request.routeOptions.config
    if (writes && !alone) options.standstill.enter(reply.raw)
  })
  app.addHook('onRequest', peers.onRequest)
  // Before the body: whoever asks for what does not exist, or may not ask, sends it in vain.
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404) throw notThere(request, reply)
  })
  app.addHook('onRequest', accessHook(options))
  app.addHook('onRequest', checkQueryNames)
  app.addHook('onRequest', bodies.admit)
  app.addHook('preHandler', checkBodyNames)
  app.addHook('preHandler', (request, _reply, done) => {
    const { deadline } = request
    withinDeadline(request.routeOptions.config.outlivesClient ? noDeadlineFor(deadline.who) : deadline, done)
  })
  app.addHook('onSend', drainUnread(options.bodyLimit))
  app.addHook('onSend', peers.onSend)
  app.addHook('onSend', cacheHeaders(options.carriers))
  app.addHook('onSend', prettyJson)
  app.addHook('onResponse', responseLogger(options.log))
  app.setErrorHandler((error, request, reply) => {
    const nowhere = error instanceof AppError && error.code === 'UnknownEndpointMethod'
    return (nowhere && options.unknownAddressPage?.(request, reply, error)) || sendError(error, request, reply)
  })
  app.setNotFoundHandler((request, reply) => {
    throw notThere(request, reply)
  })
  return app

  /** A known address says which methods it has (RFC 9110, 15.5.6). */
  function notThere(request: FastifyRequest, reply: FastifyReply): AppError {
    const path = pathOf(request)
    const known = methodsAt(path, declaredRoutes)
    if (known.length > 0) reply.header('Allow', allowOf(known))
    return unknownAddress(request.method, path, declaredRoutes)
  }
}

/** @throws {Error} when a route of ours does not declare who may call it and whether it writes. */
function declarationsOf({ method, url, config }: RouteOptions): DeclaredRoute[] {
  const methods = [method].flat()
  // Made by the framework and its plugins: HEAD beside each GET, the preflight of CORS.
  if (methods.every((one) => one === 'HEAD' || one === 'OPTIONS')) return []
  const { access, writes, systemRight } = config ?? {}
  if (access === undefined || writes === undefined) throw new Error(`${methods} ${url} declares no access or writes`)
  return methods.map((one) => ({ method: one, url, access, writes, systemRight }))
}

function accessHook(options: HttpOptions) {
  return async (request: FastifyRequest): Promise<void> => {
    const { access, writes, systemRight, authenticators = options.authenticators } = request.routeOptions.config
    if (access === undefined || access === 'public') {
      if (writes && options.readOnly()) throw new AppError('ReadOnlyMode')
      return
    }
    try {
      request.actor = await callerOf(request, authenticators)
    } catch (error) {
      if (access !== 'optional' || !(error instanceof AppError) || error.code !== 'InvalidToken') throw error
    }
    if (!request.actor && access === 'session') throw new AppError('InvalidToken')
    if (!request.actor && access === 'user') throw new AppError('UserRequired')
    if (writes && options.readOnly()) throw new AppError('ReadOnlyMode')
    if (systemRight) requireRight(request.actor, systemRight)
  }
}

/** The caller by the first way that the request uses: what it carries for another one is not looked at. */
async function callerOf(request: FastifyRequest, authenticators: readonly Authenticator[]): Promise<Actor | null> {
  for (const authenticate of authenticators) {
    const actor = await authenticate(request)
    if (actor) return actor
  }
  return null
}

/**
 * Query `cache_seconds` works on any GET endpoint (SEARCH-006); everything else is not to be stored by caches. What is made for
 * a caller may be kept by that caller alone; what was answered to nobody is given to nobody else by a cache that looks at
 * the headers which say who is calling.
 */
function cacheHeaders(carriers: readonly string[]) {
  return async (request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> => {
    if (request.method !== 'GET') return payload
    const own = reply.getHeader('Cache-Control')
    const asked = (request.query as Record<string, unknown> | undefined)?.cache_seconds
    // Files say themselves how long they keep, which the caller may know better; what is nobody else's stays so.
    if (own !== undefined && (asked === undefined || String(own).startsWith('no-store'))) return payload
    const seconds = Number(asked)
    const cacheable = keptAnswers.includes(reply.statusCode) && Number.isSafeInteger(seconds) && seconds > 0
    if (cacheable) varyBy(reply, carriers)
    const kept = isForAnybody(request, carriers) ? 'public' : 'private'
    reply.header('Cache-Control', cacheable ? `max-age=${seconds}, ${kept}` : notKept)
    return payload
  }
}

/** The request says nothing of who is calling, well or badly. */
function isForAnybody({ actor, headers, query }: FastifyRequest, carriers: readonly string[]): boolean {
  const said = carriers.some((name) => headers[name.toLowerCase()] !== undefined)
  return actor === null && !said && (query as Record<string, unknown> | null)?.access_token === undefined
}

function varyBy(reply: FastifyReply, names: readonly string[]): void {
  const before = reply.getHeader('Vary')
  const known =
    before === undefined
      ? []
      : String(before)
          .split(',')
          .map((name) => name.trim())
  const has = new Set(known.map((name) => name.toLowerCase()))
  reply.header('Vary', [...known, ...names.filter((name) => !has.has(name.toLowerCase()))].join(', '))
}

const notKept = 'no-store, no-cache'
/** Whole, in part, or as the cache has it. */
const keptAnswers = [200, 206, 304]

/** One line per request. It has no place for secrets but its path. */
function responseLogger(lines: Logger) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    lines.info(
      {
        request_id: request.id,
        method: request.method,
        path: scrubPath(pathOf(request)),
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        user: request.actor?.login,
      },
      'request',
    )
  }
}

/** The path without its query string, which may carry a token. */
function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? ''
}

function acceptedRequestId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[\w.-]{1,64}$/.test(header) ? header : undefined
}

/** Seconds after which to ask again what is not available now, where nothing better is known. */
const retryAfter = 2

/** How a caller is asked for a token. @see RFC 6750 section 3: without an error where none was sent. */
const challenges: ReadonlyMap<string, string> = new Map([
  ['UserRequired', 'Bearer realm="api"'],
  ['InvalidToken', 'Bearer realm="api", error="invalid_token"'],
])

function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const known = toAppError(error)
  if (known.code === 'RequestTimeout') reply.header('connection', 'close')
  if (known.code === 'TooManyAttempts') reply.header('Retry-After', String(known.parameters.retry_after))
  if (known.status >= 500) request.log.error({ request_id: request.id, err: error }, 'request failed')
  const { retry_after: wait = known.code === 'ServiceUnavailable' ? retryAfter : undefined } = known.parameters
  if (typeof wait === 'number') reply.header('Retry-After', wait)
  if (request.routeOptions.config?.oauthErrors) return reply.status(known.status).send(oauthBody(known))
  const challenge = challenges.get(known.code)
  if (challenge !== undefined) reply.header('WWW-Authenticate', challenge)
  return reply.status(known.status).send(cleanBody(known, request))
}

/** Shorter ones are no tokens of ours, and may be words. */
const shortestToken = 20

/** Errors go into logs and bug reports: what they quote of a request is without its secrets. */
function cleanBody(error: AppError, { id, headers, query }: FastifyRequest): ErrorBody {
  const sent = [...secretsIn(headers), ...secretsIn(query)]
  const clean = withoutSecrets(sent.filter(({ length }) => length >= shortestToken))
  return scrubbed(errorBody(error, id), (text) => scrubText(clean(text)))
}

/** What is not HTTP, or too large a head, never becomes a request; it gets the envelope all the same. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const [status, reason, message] = brokenRequest(error.code)
  const body = JSON.stringify({ ...errorBody(badRequest(message)), statuscode: status })
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

function brokenRequest(code: string | undefined): [number, string, string] {
  if (code === 'HPE_HEADER_OVERFLOW') return [431, 'Request Header Fields Too Large', 'The request head is too large.']
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'Request Timeout', 'The request took too long to arrive.']
  return [400, 'Bad Request', 'The request is not HTTP.']
}

function oauthBody(error: AppError): { error: string; error_description: string; code: string } {
  const name = error.status >= 500 ? 'server_error' : 'invalid_request'
  return { error: name, error_description: error.message, code: error.code }
}

interface FastifyFailure {
  code?: string
  statusCode?: number
  message?: string
  validation?: { instancePath: string; message?: string; params?: Record<string, unknown> }[]
  validationContext?: string
}

/** Every failure as an `AppError`; what nobody foresaw is an `InternalError` that tells the client nothing. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  const failure = error as FastifyFailure
  if (failure.validation) {
    const first = failure.validation[0]
    const place = `${failure.validationContext ?? 'request'}${first?.instancePath ?? ''}`
    return badRequest(`${place} ${first?.message ?? 'is wrong'}`, { name: place, ...first?.params })
  }
  if (failure.statusCode === 413) return new AppError('PayloadTooLarge', {}, { cause: error })
  if (failure.statusCode === 415) return new AppError('UnsupportedMediaType', {}, { cause: error })
  if (failure.statusCode === 503) return new AppError('ServiceUnavailable', {}, { cause: error })
  if (failure.statusCode !== undefined && failure.statusCode >= 400 && failure.statusCode < 500) {
    return new AppError('ServerGeneric', {}, { message: failure.message ?? 'bad request', cause: error })
  }
  return unavailabilityBehind(error) ?? new AppError('InternalError', {}, { cause: error })
}
