import type { FastifyRequest } from 'fastify'
import { beginSpan, isTracing, type OpenSpan, withinSpan } from '../tracing/spans.ts'
import type { HttpApp } from './http.ts'

/** Header with the trace of a request (W3C Trace Context, 3.2). */
const parentHeader = 'traceparent'

/** A span for each request, named by the pattern of its route: addresses may contain secrets. */
export function traceRequests(app: HttpApp): void {
  const open = new WeakMap<FastifyRequest, OpenSpan>()
  app.addHook('onRequest', (request, _reply, done) => {
    const span = isTracing() ? beginSpan(() => factsOf(request)) : undefined
    if (!span) return done()
    open.set(request, span)
    withinSpan(span, done)
  })
  // After the body is read, the async context from before is lost, so it is set again.
  app.addHook('preHandler', (request, _reply, done) => {
    const span = open.get(request)
    if (span) withinSpan(span, done)
    else done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const span = open.get(request)
    if (span) {
      span.set({ 'http.response.status_code': reply.statusCode })
      if (reply.statusCode >= 500) span.fail(`${reply.statusCode}`)
      span.end()
    }
    done()
  })

  function factsOf(request: FastifyRequest) {
    const route = request.routeOptions.url ?? 'none'
    const header = request.headers[parentHeader]
    return {
      name: `${request.method} ${route}`,
      kind: 'server' as const,
      attributes: { 'http.request.method': request.method, 'http.route': route, 'strongroom.request_id': request.id },
      // A trusted proxy forwards the trace context of its caller.
      caller: typeof header === 'string' && (request.ips?.length ?? 0) > 1 ? header : undefined,
    }
  }
}
