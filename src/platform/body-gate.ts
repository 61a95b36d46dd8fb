import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from './errors.ts'

/** Bytes up to which a body is let in at once: most requests have less, and thousands of these fit into memory. */
const small = 64 * 1024

export interface BodyGateOptions {
  /** Bytes of bodies that may be in memory at the same time. */
  readonly capacity: number
  /** What a body without a length is taken for: the largest one that is accepted, in bytes. */
  readonly largestBody: number
  /** Milliseconds that a request waits for its turn before it is refused. */
  readonly patience?: number
}

interface Waiting {
  readonly bytes: number
  readonly enter: () => void
}

/**
 * Keeps the bodies of all requests together within the memory of the process: a large body waits, unread, until those
 * before it are answered. As a hook it stands behind the check of the caller, so that strangers take no place.
 */
export function bodyGate({ capacity, largestBody, patience = 60_000 }: BodyGateOptions) {
  let free = capacity
  /** In the order of their arrival, so that the largest ones come in too. */
  const waiting: Waiting[] = []

  function leave(bytes: number): void {
    free += bytes
    for (let next = waiting[0]; next && next.bytes <= free; next = waiting[0]) {
      waiting.shift()
      free -= next.bytes
      next.enter()
    }
  }

  /** @returns false when there was no place in time, or the caller has gone. */
  async function enter(bytes: number, reply: FastifyReply): Promise<boolean> {
    if (waiting.length === 0 && bytes <= free) {
      free -= bytes
      return true
    }
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const entry = { bytes, enter: () => resolve(true) }
    waiting.push(entry)
    const giveUp = (): void => {
      const place = waiting.indexOf(entry)
      if (place !== -1) waiting.splice(place, 1)
      resolve(false)
      leave(0)
    }
    const timer = setTimeout(giveUp, patience).unref()
    reply.raw.once('close', giveUp)
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      reply.raw.off('close', giveUp)
    }
  }

  async function admit(bytes: number, reply: FastifyReply): Promise<void> {
    if (!(await enter(bytes, reply))) throw new AppError('ServiceUnavailable', { reason: 'too many large requests' })
    if (reply.raw.closed) leave(bytes)
    else reply.raw.once('close', () => leave(bytes))
  }

  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    const bytes = lengthOf(request) ?? largestBody
    // What is too large is refused without being read.
    if (bytes <= small || bytes > largestBody) done()
    else admit(bytes, reply).then(() => done(), done)
  }
}

/** Bytes of the body; null when they are only known at its end. */
function lengthOf({ headers }: FastifyRequest): number | null {
  if (headers['transfer-encoding'] !== undefined) return null
  return Number(headers['content-length'] ?? 0)
}
