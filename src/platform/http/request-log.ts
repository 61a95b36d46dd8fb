import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { scrubPath } from '../secrets/secrets.ts'

/** One line per request; `always`: whatever the level of the log is. Only its path can contain secrets. */
export function responseLogger(lines: Logger, always: () => boolean) {
  const withoutLevel = lines.child({}, { level: 'info' })
  return (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const log = always() ? withoutLevel : lines
    log.info(
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
    done()
  }
}

/** The path without its query string, which may contain a token. */
export function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? ''
}

/** The id that a client gives its request, if it is valid for logs. */
export function acceptedRequestId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[\w.-]{1,64}$/.test(header) ? header : undefined
}
