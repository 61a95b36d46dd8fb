import type { FastifyCorsOptions } from '@fastify/cors'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { declarationOf } from './http.ts'
import { type KnownRoute, methodsAt, unknownAddress } from './unknown-address.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The plugin for the configured origins ignores the route: filled in here. */
    cors?: false
  }
}

interface RouteOfOptions extends KnownRoute {
  readonly anyOrigin: boolean
  readonly headers: Readonly<Record<string, string>>
}

/** Headers of answers that pages of other origins may read. */
const exposedHeaders = [
  'X-Request-Id',
  'X-Svc-Error',
  'X-Svc-Error-Code',
  'X-Svc-Cache-ID',
  'X-Svc-Status',
  'X-Svc-Ignored',
  'X-Svc-Query-Notes',
  'X-Svc-Truncated',
  'X-Svc-File-Id',
  'Location',
  'Tus-Extension',
  'Tus-Resumable',
  'Tus-Version',
  'Upload-Expires',
  'Upload-Length',
  'Upload-Offset',
]

/**
 * Hooks that answer OPTIONS with the methods of an address (RFC 9110, 9.3.7) and the preflights of browsers, and the options for
 * `@fastify/cors`, so that pages of the configured origins can read answers. `learn` must run before all routes.
 */
export function createCrossOrigin(origins: readonly string[]) {
  const routes: RouteOfOptions[] = []
  const methods: string[] = []

  function learn(route: RouteOptions): void {
    const { origins: whose, optionsHeaders: headers = {} } = route.config?.surface ?? {}
    const anyOrigin = whose === 'any'
    // These routes set the one header that they need: the plugin would name the caller's origin and allow credentials.
    if (anyOrigin) route.config = { ...route.config, cors: false }
    for (const method of [route.method].flat()) {
      if (method === 'OPTIONS') continue
      routes.push({ method, url: route.url, anyOrigin, headers })
      if (!methods.includes(method)) methods.push(method)
    }
  }

  function onRequest(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
    const { surface } = declarationOf(request)
    if (surface?.origins === 'any') reply.header('Access-Control-Allow-Origin', '*')
    // A surface may handle OPTIONS itself; a preflight is always answered here.
    if (request.method !== 'OPTIONS' || (surface !== undefined && !isPreflight(request))) done()
    else answer(request, reply, done)
  }

  function answer(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
    const path = request.url.split('?', 1)[0] ?? ''
    const found = methodsAt(path, routes)
    if (found.length === 0) {
      done(unknownAddress('OPTIONS', path, routes))
      return
    }
    reply.header('Allow', allowOf(found))
    for (const { headers } of found) reply.headers(headers)
    const open = found.some(({ anyOrigin }) => anyOrigin)
    if (origins.length > 0 && isPreflight(request) && !open) {
      done()
      return
    }
    if (open) reply.headers(openPreflight(request, found))
    // Some browsers wait for a body when there is no `Content-Length`.
    reply.status(204).header('Content-Length', '0').send()
  }

  const cors: FastifyCorsOptions = {
    origin: origins.includes('*') ? true : [...origins],
    credentials: !origins.includes('*'),
    // Read at each preflight, so that routes registered later are included.
    methods,
    exposedHeaders,
  }
  return { learn, onRequest, cors }
}

/** `Allow` names OPTIONS, too: every known address has it. */
export function allowOf(found: readonly KnownRoute[]): string {
  return [...new Set([...found.map(({ method }) => method), 'OPTIONS'])].join(', ')
}

function isPreflight({ headers }: FastifyRequest): boolean {
  return headers.origin !== undefined && headers['access-control-request-method'] !== undefined
}

function openPreflight({ headers }: FastifyRequest, found: readonly KnownRoute[]): Record<string, string> {
  const asked = headers['access-control-request-headers']
  return {
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Allow-Methods': allowOf(found),
    ...(asked === undefined ? {} : { 'Access-Control-Allow-Headers': asked }),
  }
}
