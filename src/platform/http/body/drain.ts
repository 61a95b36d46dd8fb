import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Milliseconds in which the rest of an unread body must arrive, and then those for sending the answer. */
const patience = 10_000
const lingering = 1000

/** Announced bytes of the body; Infinity when the length is unknown. */
export function bodyBytes({ headers }: Pick<IncomingMessage, 'headers'>): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY
  return Number(headers['content-length'] ?? 0)
}

/**
 * As a hook before the answer: an unread body (of a refused request, or of a GET) is received and dropped, up to that many bytes.
 * Most clients read the answer only after they have sent everything, and if the connection were closed before, they would see a
 * broken connection instead of the answer. With a longer or slower body the answer is sent and the connection closed.
 */
export function drainUnread(mostBytes: number) {
  return (
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    done: (error: Error | null, payload?: unknown) => void,
  ): void => {
    // Requests without a connection (tests, jobs) have no rest to receive.
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
  // A client that disconnects now does not need the answer.
  request.on('error', () => {})
  request.resume()
}
