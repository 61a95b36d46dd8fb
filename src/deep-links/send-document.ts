import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { disposition } from '../files/service.ts'
import { isKnown } from './conditional.ts'
import type { Disposition } from './path.ts'
import type { Document } from './service.ts'

/** Cached, but checked again each time: the rights of a caller may change. */
export const cacheControl = 'no-cache, must-revalidate'

const inert = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; media-src 'self'"

/** Answers with a document, or that the caller's copy is still valid. */
export function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  { bytes, contentType, name, isPage }: Document,
  wanted: Disposition | null,
): FastifyReply {
  const tag = `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"`
  reply.headers({
    ETag: tag,
    'Cache-Control': cacheControl,
    'Cross-Origin-Resource-Policy': 'cross-origin',
    'X-Content-Type-Options': 'nosniff',
    // Pages contain their own policy; the output of style sheets must not run scripts.
    ...(isPage ? { Vary: 'Accept-Language' } : { 'Content-Security-Policy': inert }),
    ...(wanted ? { 'Content-Disposition': disposition(wanted, name) } : {}),
  })
  if (isKnown(request.headers['if-none-match'], tag)) return reply.status(304).send()
  reply.header('Content-Type', contentType).header('Content-Length', bytes.length)
  return request.method === 'HEAD' ? reply.send() : reply.send(bytes)
}
