import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import { networkOf, quotaExceeded } from '../limits/callers.ts'
import { createConnectionShares } from '../limits/connection-shares.ts'
import type { Pace } from '../limits/pace.ts'
import { whenClosed } from '../limits/when-closed.ts'
import { PiecesStream } from './json-answer.ts'

export interface PeerOptions {
  /** Connections at a time. */
  readonly most: number
  /** Connections of one network, and its requests that are not answered. */
  readonly mostOfNetwork: number
  /** Whether an address is that of a proxy: it speaks for many. */
  readonly isProxy: (address: string) => boolean
  readonly pace: Pace
  /** Bytes of answers that may wait for their clients together. */
  readonly mostUntaken: number
}

/** Requests of one connection that may be unanswered at a time: clients that send on without waiting are rare. */
const mostPipelined = 32
/** Seconds after which a request of somebody who has too many may find its place. */
const comeBackAfter = 1
/** Milliseconds without any progress after which a connection may be given up for others. */
const stalled = 2000

interface Watched {
  /** Requests that are not answered. */
  open: number
  /** When the last one was answered, or when it was opened. */
  restsSince: number
  /** When the look at its pace began, and what the client had taken then; null: there is nothing to take. */
  since: number | null
  takenThen: number
  /** When the client last took something. */
  movedAt: number
  takenLast: number
  /** Bytes of finished answers that it has not taken to their end. */
  held: number
}

/**
 * Connections have an end in number, in the requests that they hold open, and in the answers that wait in memory until
 * their clients take them. Clients that take an answer slower than the pace are cut off.
 */
export function guardPeers(server: Server, options: PeerOptions) {
  const { most, mostOfNetwork, isProxy, pace, mostUntaken } = options
  const connections = new Map<Socket, Watched>()
  const shares = createConnectionShares(options)
  /** Requests that are not answered, by the network of their client. */
  const requests = new Map<string, number>()
  let untaken = 0

  server.maxConnections = most
  server.on('connection', (socket: Socket) => {
    const restsSince = performance.now()
    const watched = { open: 0, restsSince, since: null, takenThen: 0, movedAt: 0, takenLast: 0, held: 0 }
    if (!shares.add(socket, watched)) return
    connections.set(socket, watched)
    socket.once('close', () => connections.delete(socket))
  })

  function look(): void {
    const now = performance.now()
    for (const [socket, watched] of connections) {
      if (!isLate(socket, watched, now)) continue
      socket.destroy()
    }
  }

  /** Whether the client has had its time and has taken less than it must. */
  function isLate(socket: Socket, watched: Watched, now: number): boolean {
    const waiting = unsent(socket)
    const taken = socket.bytesWritten - waiting
    if (taken !== watched.takenLast || waiting === 0) watched.movedAt = now
    watched.takenLast = taken
    if (waiting === 0) {
      watched.since = null
      return false
    }
    if (watched.since === null) {
      watched.since = now
      watched.takenThen = taken
      return false
    }
    const seconds = (now - watched.since) / 1000
    if (seconds < pace.grace) return false
    const late = taken - watched.takenThen < pace.leastRate * seconds
    watched.since = now
    watched.takenThen = taken
    return late
  }

  /** Gives up the connections that have not moved for longest, until the answers fit again. */
  function makeRoom(): void {
    look()
    const now = performance.now()
    const idle = [...connections]
      .filter(([socket, { movedAt, held }]) => held > 0 && unsent(socket) > 0 && now - movedAt > stalled)
      .sort(([, a], [, b]) => a.movedAt - b.movedAt)
    let left = untaken
    for (const [socket, { held }] of idle) {
      if (left <= mostUntaken) return
      left -= held
      socket.destroy()
    }
  }

  /** Behind a proxy a client has no connections of its own, but requests. False: it has too many. */
  function countRequest({ ip }: FastifyRequest, { raw }: FastifyReply): boolean {
    if (isProxy(ip)) return true
    const network = networkOf(ip)
    const before = requests.get(network) ?? 0
    if (before >= mostOfNetwork) return false
    requests.set(network, before + 1)
    whenClosed(raw, () => {
      const left = (requests.get(network) ?? 1) - 1
      if (left > 0) requests.set(network, left)
      else requests.delete(network)
    })
    return true
  }

  const timer = setInterval(look, 1000).unref()
  server.once('close', () => clearInterval(timer))

  return {
    /** As a hook before everything else. @throws {AppError} `ServiceUnavailable` when a client asks for more than it takes. */
    onRequest(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
      const watched = connections.get(request.raw.socket)
      if (watched) {
        watched.open++
        whenClosed(reply.raw, () => {
          watched.open--
          watched.restsSince = performance.now()
        })
        if (watched.open > mostPipelined) {
          done(new AppError('ServiceUnavailable', { reason: 'too many requests at once on one connection' }))
          return
        }
      }
      if (!countRequest(request, reply)) {
        done(quotaExceeded('svc.quotas.connections', mostOfNetwork, comeBackAfter))
        return
      }
      if (untaken > mostUntaken) makeRoom()
      if (untaken > mostUntaken) done(new AppError('ServiceUnavailable', { reason: 'too many answers are not taken' }))
      else done()
    },

    /** As a hook before the answer: it counts until the client has taken it. */
    onSend(
      request: FastifyRequest,
      reply: FastifyReply,
      payload: unknown,
      done: (error: Error | null, payload?: unknown) => void,
    ): void {
      const bytes = bytesOf(payload)
      const watched = connections.get(request.raw.socket)
      if (bytes > 0 && watched) {
        untaken += bytes
        watched.held += bytes
        whenClosed(reply.raw, () => {
          untaken -= bytes
          watched.held -= bytes
        })
      }
      done(null, payload)
    },
  }
}

/** Bytes of an answer that is finished; one that is made while it is taken holds hardly any. */
function bytesOf(payload: unknown): number {
  if (typeof payload === 'string' || Buffer.isBuffer(payload)) return payload.length
  return payload instanceof PiecesStream ? payload.bytes : 0
}

/** Bytes that the client has not taken; of one that is just being written, what the system has not accepted. */
function unsent(socket: Socket): number {
  const { writableLength } = socket
  if (writableLength === 0) return 0
  const handle = (socket as { _handle?: { writeQueueSize?: number; bytesWritten?: number } | null })._handle
  if (handle?.writeQueueSize === undefined || handle.bytesWritten === undefined) return writableLength
  return socket.bytesWritten - handle.bytesWritten + handle.writeQueueSize
}
