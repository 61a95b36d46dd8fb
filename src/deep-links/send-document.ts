import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { disposition } from '../files/service.ts'
import { isKnown } from './conditional.ts'
import type { Disposition } from './path.ts'
import type { Document } from './service.ts'

/** Kept, and asked for again each time: what a caller may see is another thing tomorrow. */
export const cacheControl = 'no-cache, must-revalidate'

const inert = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; media-src 'self'"

/** Answers with a document, or that the caller has it as it is. */
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
    // Pages say in themselves what they need; whatever sheets make of an object acts for nobody.
    ...(isPage ? { Vary: 'Accept-Language' } : { 'Content-Security-Policy': inert }),
    ...(wanted ? { 'Content-Disposition': disposition(wanted, name) } : {}),
  })
  if (isKnown(request.headers['if-none-match'], tag)) return reply.status(304).send()
  reply.header('Content-Type', contentType).header('Content-Length', bytes.length)
  return request.method === 'HEAD' ? reply.send() : reply.send(bytes)
}
