import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Milliseconds in which the rest of a body that nobody reads must have come, and then those for taking the answer. */
const patience = 10_000
const lingering = 1000

/** Bytes of the body as announced; Infinity when only its end tells. */
export function bodyBytes({ headers }: Pick<FastifyRequest, 'headers'>): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY
  return Number(headers['content-length'] ?? 0)
}

/**
 * As a hook before the answer: a body that nobody reads (a refused request's, a GET's) is received and forgotten, up to
 * that many bytes. Most clients read the answer only after they have sent everything, and if the connection were closed
 * before, they would see a broken connection in place of it. What is longer or slow gets the answer and is cut off.
 */
export function drainUnread(mostBytes: number) {
  return (
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    done: (error: Error | null, payload?: unknown) => void,
  ): void => {
    // Requests that never came over a connection (tests, jobs) have nothing to come.
    if (bodyBytes(request) > 0 && request.raw.complete === false && reply.statusCode !== 408) {
      // The framework closes connections after a failure in a body.
      reply.removeHeader('connection')
      drain(request.raw, reply.raw, mostBytes)
    }
    done(null, payload)
  }
}

function drain(request: IncomingMessage, response: ServerResponse, mostBytes: number): void {
  const { socket } = request
  let left = mostBytes
  const cutOff = (): void => {
    request.pause()
    clearTimeout(timer)
    const close = (): void => {
      socket.end()
      setTimeout(() => socket.destroy(), lingering).unref()
    }
    if (response.writableFinished) close()
    else response.once('finish', close)
  }
  const timer = setTimeout(cutOff, patience).unref()
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0 && left + chunk.length >= 0) cutOff()
  })
  request.once('close', () => clearTimeout(timer))
  // Whoever goes away now has no answer to miss.
  request.on('error', () => {})
  request.resume()
}
