import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError, badRequest, errorBody } from '../errors.ts'
import { unavailabilityBehind } from '../postgres/failures.ts'
import { type SchemaFailure, schemaRefusal } from './schema-refusal.ts'
import type { Surface } from './surface.ts'

/** Seconds for `Retry-After` when a resource is not available and no better value is known. */
const retryAfter = 2

/** Answers a failure in the form of the route's surface; an unknown address uses the surface `elsewhere`. */
export function createFailureHandler(elsewhere: Surface) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const known = toAppError(error)
    const { sendError, challenge } = request.routeOptions.config?.surface ?? elsewhere
    if (known.status >= 500) request.log.error({ request_id: request.id, err: error }, 'request failed')
    if (known.code === 'RequestTimeout') reply.header('connection', 'close')
    const { retry_after: wait = known.code === 'ServiceUnavailable' ? retryAfter : undefined } = known.parameters
    if (typeof wait === 'number') reply.header('Retry-After', wait)
    const asked = challenge[known.code]
    if (asked !== undefined) reply.header('WWW-Authenticate', asked)
    return sendError(known, request, reply)
  }
}

/** Input that is not HTTP, or has too large a head, never becomes a request; it still gets the error envelope. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
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

interface FastifyFailure {
  code?: string
  statusCode?: number
  message?: string
  validation?: SchemaFailure[]
  validationContext?: string
}

/** Every failure as an `AppError`; an unexpected failure becomes an `InternalError` without details for the client. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  const failure = error as FastifyFailure
  if (failure.validation) return schemaRefusal(failure.validation, failure.validationContext ?? 'request')
  if (failure.statusCode === 413) return new AppError('PayloadTooLarge', {}, { cause: error })
  if (failure.statusCode === 415) return new AppError('UnsupportedMediaType', {}, { cause: error })
  if (failure.statusCode === 503) return new AppError('ServiceUnavailable', {}, { cause: error })
  if (failure.statusCode !== undefined && failure.statusCode >= 400 && failure.statusCode < 500) {
    return new AppError('ServerGeneric', {}, { message: failure.message ?? 'bad request', cause: error })
  }
  return unavailabilityBehind(error) ?? new AppError('InternalError', {}, { cause: error })
}
