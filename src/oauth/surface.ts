import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AppError } from '../platform/errors.ts'
import { OAuthError } from '../platform/http/oauth-error.ts'
import type { Surface } from '../platform/http/surface.ts'

export const noStore = { 'Cache-Control': 'no-store', Pragma: 'no-cache' } as const

/** The endpoints of RFC 6749: the error body differs from the envelope, and clients identify themselves in the request. */
export function oauthSurface(api: Surface): Surface {
  return {
    ...api,
    name: 'oauth',
    sendError,
    challenge: {},
    authenticators: [],
    description: { error: errorSchema, failures },
  }
}

function sendError(error: AppError, _request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, message: error_description } = error
  if (error instanceof OAuthError) {
    reply.headers({ ...error.headers, ...noStore })
    return reply.status(status).send({ error: error.error, error_description })
  }
  const name = status >= 500 ? 'server_error' : 'invalid_request'
  return reply.status(status).send({ error: name, error_description, code: error.code })
}

const errorSchema = {
  title: 'OAuthError',
  description: 'The request cannot be carried out (RFC 6749).',
  type: 'object',
  required: ['error'],
  properties: { error: { type: 'string' }, error_description: { type: 'string' }, code: { type: 'string' } },
}

const failures = {
  400: 'The request is refused (RFC 6749, section 5.2).',
  401: 'The client or the token is not known.',
  413: 'The request body is too large.',
  415: 'The request body is no form.',
  429: 'Too many failed attempts; try again later.',
  500: 'An internal error occurred.',
  503: 'The service is stopping or overloaded; try again.',
}
