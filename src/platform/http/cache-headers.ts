import type { FastifyReply, FastifyRequest } from 'fastify'

const notKept = 'no-store, no-cache'
/** OK, partial content, not modified. */
const keptAnswers = [200, 206, 304]

/** A hook before the answer: caches must not store answers without a `Cache-Control` header. */
export function preventCaching(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: (error: Error | null, payload: unknown) => void,
): void {
  if (request.method === 'GET' && !reply.hasHeader('Cache-Control')) reply.header('Cache-Control', notKept)
  done(null, payload)
}

/**
 * Query `cache_seconds` works on any GET endpoint (SEARCH-006). An answer for a caller may only be cached by that caller. An answer
 * to a caller without a token is cached publicly, with `Vary` on the headers that identify a caller (`requestTokens`), so that a
 * cache does not give it to other callers.
 */
export function applyCacheSeconds(
  request: FastifyRequest,
  reply: FastifyReply,
  requestTokens: readonly string[],
): void {
  const asked = (request.query as Record<string, unknown> | undefined)?.cache_seconds
  if (request.method !== 'GET' || asked === undefined) return
  // Files set their own cache time, which the request may override; `no-store` is never overridden.
  if (String(reply.getHeader('Cache-Control')).startsWith('no-store')) return
  const seconds = Number(asked)
  const cacheable = keptAnswers.includes(reply.statusCode) && Number.isSafeInteger(seconds) && seconds > 0
  if (cacheable) varyBy(reply, requestTokens)
  const kept = isForAnybody(request, requestTokens) ? 'public' : 'private'
  reply.header('Cache-Control', cacheable ? `max-age=${seconds}, ${kept}` : notKept)
}

/** The request contains no credentials, valid or invalid. */
function isForAnybody({ actor, headers, query }: FastifyRequest, requestTokens: readonly string[]): boolean {
  const said = requestTokens.some((name) => headers[name.toLowerCase()] !== undefined)
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
