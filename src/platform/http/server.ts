import { randomUUID } from 'node:crypto'
import compress from '@fastify/compress'
import cors from '@fastify/cors'
import Fastify, { type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import type { Logger } from 'pino'
import { AppError } from '../errors.ts'
import { callerOf } from '../limits/callers.ts'
import { noDeadlineFor, RequestDeadline, withinDeadline } from '../limits/deadline.ts'
import type { Pace } from '../limits/pace.ts'
import type { Standstill } from '../postgres/standstill.ts'
import type { Foreground } from '../process/foreground.ts'
import { accessHook } from './access.ts'
import { drainUnread } from './body/drain.ts'
import { BodyGate } from './body/gate.ts'
import { limitsOf } from './body/limits.ts'
import { createBodyReader } from './body/reader.ts'
import { preventCaching } from './cache-headers.ts'
import { allowOf, createCrossOrigin } from './cross-origin.ts'
import { type DeclaredRoute, declarationsOf } from './declared-routes.ts'
import { answerBrokenRequest, createFailureHandler } from './error-responses.ts'
import { declarationOf, type HttpApp, statusHeader } from './http.ts'
import { guardPeers } from './peers.ts'
import { acceptedRequestId, pathOf, responseLogger } from './request-log.ts'
import { useLazyCompilers } from './schema-compilers.ts'
import { securityHeaders } from './security-headers.ts'
import type { ParameterRules, Surface } from './surface.ts'
import { traceRequests } from './tracing.ts'
import { trackTraffic } from './traffic.ts'
import { trustedProxies } from './trusted-proxies.ts'
import { methodsAt, unknownAddress } from './unknown-address.ts'

/** Seconds in which the head of a request must arrive. */
const headersTimeout = 30

export interface HttpOptions {
  log: Logger
  /** Largest request body in bytes (LIM-012). */
  bodyLimit: number
  /** Total bytes of memory for bodies, and for the values made of them. */
  bodyMemory: number
  /** Seconds in which a request must arrive. */
  requestTimeout: number
  /** Connections at a time. */
  maxConnections: number
  /** Connections of one network, and its unanswered requests. */
  maxConnectionsOfNetwork: number
  /** Total bytes of answers that may wait for their clients. */
  mostUntaken: number
  /** The lowest speed at which clients may send and read. */
  pace: Pace
  corsOrigins: readonly string[]
  /** Proxies whose `X-Forwarded-*` headers are trusted. */
  trustedProxies: readonly string[]
  /** Milliseconds for which one request may keep the database busy: when it only reads, and when it writes. */
  timeLimits: { readonly read: number; readonly write: number }
  /** Whether each request has a line in the log, whatever the level of the log is. */
  timings: () => boolean
  /** Whether a route that changes stored data is refused. */
  readOnly: (route: { readonly endsReadOnly?: boolean | undefined }) => boolean
  /** While it is active, requests are refused. */
  standstill: Pick<Standstill, 'word' | 'enter'>
  /** Counts requests that write, so that background work gives way. */
  foreground: Pick<Foreground, 'enter'>
  /** The surface of unknown addresses. */
  elsewhere: Surface
  /** Beginnings of paths that stand for others, such as `/WebDAV/` for `/api/v1/WebDAV/`. */
  aliases: Readonly<Record<string, string>>
}

/**
 * Builds the HTTP layer: everything that applies to all requests, and the hooks that read the surface and the declaration of a
 * route. Knows no capability and no protocol.
 */
export async function createHttp(options: HttpOptions): Promise<HttpApp> {
  const sendFailure = createFailureHandler(options.elsewhere)
  const upgrades = new Set<string>()
  const app = createFastify(options, { sendFailure, upgrades })
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
  learnRoutes(app, options, { declaredRoutes, upgrades })
  app.decorate('compileSchemas', useLazyCompilers(app))
  const crossOrigin = createCrossOrigin(options.corsOrigins)
  app.addHook('onRoute', crossOrigin.learn)
  app.addHook('onRequest', crossOrigin.onRequest)
  if (options.corsOrigins.length > 0) await app.register(cors, crossOrigin.cors)
  // Our own reader unpacks compressed bodies, since it limits the unpacked size.
  await app.register(compress, {
    global: true,
    globalDecompression: false,
    threshold: 4096,
    encodings: ['gzip', 'deflate'],
  })
  const bodies = createBodyReader({
    gate: new BodyGate({ capacity: options.bodyMemory }),
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
  app.decorateRequest('declaration')
  traceRequests(app)
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(securityHeaders).header('X-Request-Id', request.id)
    const { writes, alone } = declarationOf(request)
    const { read, write } = options.timeLimits
    const limit = writes ? write : read
    request.deadline = new RequestDeadline(reply.raw, limit, () => callerOf(request.actor, request.ip))
    if (traffic.stopping) {
      reply.header('Connection', 'close')
      throw new AppError('ServiceUnavailable')
    }
    const { word } = options.standstill
    if (word !== null) {
      reply.header(statusHeader, word)
      throw new AppError('ServiceUnavailable', {}, { message: `The instance does not answer for a while: ${word}.` })
    }
    if (writes) options.foreground.enter(reply.raw)
    if (writes && !alone) options.standstill.enter(reply.raw)
    done()
  })
  app.addHook('onRequest', peers.onRequest)
  // Before the body is read: a request for a missing or forbidden resource is refused early.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) throw notThere(request, reply)
    done()
  })
  app.addHook('onRequest', accessHook(options.readOnly))
  app.addHook('onRequest', (request, reply, done) => {
    rulesOf(request)?.checkQuery(request, reply)
    done()
  })
  app.addHook('onRequest', bodies.admit)
  app.addHook('preHandler', (request, reply, done) => {
    rulesOf(request)?.checkBody(request, reply)
    const { deadline } = request
    withinDeadline(declarationOf(request).outlivesClient ? noDeadlineFor(deadline.who) : deadline, done)
  })
  app.addHook('onSend', drainUnread(options.bodyLimit))
  app.addHook('onSend', peers.onSend)
  app.addHook('onSend', (request, reply, payload, done) => {
    const shown = rulesOf(request)?.present(request, reply, payload) ?? payload
    if (shown instanceof Promise) shown.then((value) => done(null, value), done)
    else done(null, shown)
  })
  app.addHook('onSend', preventCaching)
  app.addHook('onResponse', responseLogger(options.log, options.timings))
  app.setErrorHandler(sendFailure)
  app.setNotFoundHandler((request, reply) => {
    throw notThere(request, reply)
  })
  return app

  /** For a known address the answer lists its methods (RFC 9110, 15.5.6). */
  function notThere(request: FastifyRequest, reply: FastifyReply): AppError {
    const path = pathOf(request)
    const known = methodsAt(path, declaredRoutes)
    if (known.length > 0) reply.header('Allow', allowOf(known))
    return unknownAddress(request.method, path, declaredRoutes)
  }
}

interface FastifyParts {
  readonly sendFailure: ReturnType<typeof createFailureHandler>
  /** Addresses at which a connection may become a WebSocket. */
  readonly upgrades: ReadonlySet<string>
}

function createFastify(options: HttpOptions, { sendFailure, upgrades }: FastifyParts): HttpApp {
  const aliases = Object.entries(options.aliases)
  return Fastify({
    loggerInstance: withoutChildren(options.log),
    rewriteUrl: ({ url = '/' }) => {
      for (const [beginning, path] of aliases) if (url.startsWith(beginning)) return path + url.slice(beginning.length)
      return url
    },
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: options.bodyLimit,
    routerOptions: { maxParamLength: 4096 },
    trustProxy: [...options.trustedProxies],
    genReqId: (request) => acceptedRequestId(request.headers['x-request-id']) ?? randomUUID(),
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, useDefaults: true, allErrors: false } },
    forceCloseConnections: 'idle',
    // The reader of a body limits its time (body/reader.ts): files may take longer than any other request.
    requestTimeout: 0,
    frameworkErrors: (error, request, reply) => {
      reply.header('X-Request-Id', request.id)
      sendFailure(error, request, reply as FastifyReply)
    },
    clientErrorHandler: answerBrokenRequest,
    http: {
      // Other clients offer a protocol upgrade in a request that must be answered whether the upgrade is accepted or not.
      shouldUpgradeCallback: ({ headers, url = '' }) =>
        headers.upgrade?.toLowerCase() === 'websocket' && upgrades.has(url.split('?', 1)[0] ?? ''),
      // GET /search has a whole search request in its query.
      maxHeaderSize: 64 * 1024,
      headersTimeout: Math.min(headersTimeout, options.requestTimeout) * 1000,
      connectionsCheckingInterval: 1000,
    },
  })
}

/**
 * The logger of the layer is that of all its requests. A logger for each request would scan its id for secrets each time: so the id
 * is only added where a line is logged. From a `childLoggerFactory`, Fastify checks at each request that it gets a logger.
 */
function withoutChildren(log: Logger): Logger {
  const child = (...options: Parameters<Logger['child']>) => {
    const only = log.child(...options)
    return Object.assign(only, { child: () => only })
  }
  return Object.assign(Object.create(log), { child })
}

interface Learned {
  readonly declaredRoutes: DeclaredRoute[]
  readonly upgrades: Set<string>
}

/** Completes the declaration of each route when it is registered. */
function learnRoutes(app: HttpApp, options: HttpOptions, { declaredRoutes, upgrades }: Learned): void {
  app.addHook('onRoute', function (route) {
    // The surface of the scope in which the route is registered.
    const { surface } = this
    const size = route.config?.body ?? (route.schema?.body === undefined ? 'none' : 'one')
    const limits = size === 'stream' ? {} : { bodyLimits: limitsOf(size, options.bodyLimit) }
    route.config = { ...route.config, surface, ...limits, pace: options.pace }
    declaredRoutes.push(...declarationsOf(route))
    if (route.wsHandler) upgrades.add(route.url)
    surface?.parameters?.learn(route)
  })
}

const rulesOf = (request: FastifyRequest): ParameterRules | null | undefined =>
  declarationOf(request).surface?.parameters
