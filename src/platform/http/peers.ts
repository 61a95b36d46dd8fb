import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import { networkOf, quotaExceeded } from '../limits/callers.ts'
import { createConnectionShares } from '../limits/connection-shares.ts'
import type { Pace } from '../limits/pace.ts'
import { whenClosed } from '../limits/when-closed.ts'
import { joinSmallChunks } from './body/join-chunks.ts'
import { PiecesStream } from './json-answer.ts'

export interface PeerOptions {
  /** Connections at a time. */
  readonly most: number
  /** Connections of one network, and its unanswered requests. */
  readonly mostOfNetwork: number
  /** Whether an address is that of a proxy, which serves many clients. */
  readonly isProxy: (address: string) => boolean
  readonly pace: Pace
  /** Total bytes of answers that may wait for their clients. */
  readonly mostUntaken: number
}

/** Maximum number of unanswered requests of one connection: clients that send without waiting are rare. */
const mostPipelined = 32
/** Seconds after which a request of a client over its limit may find a place. */
const comeBackAfter = 1
/** Milliseconds without any progress after which a connection may be closed to make room. */
const stalled = 2000

interface Watched {
  /** The client of the last request, and whether it is a proxy: to look it up takes longer than all else here. */
  client: string
  isProxy: boolean
  /** Number of unanswered requests. */
  open: number
  /** Time of the last answer, or of the opening. */
  restsSince: number
  /** The start of the current pace measurement, and the bytes that the client had read then; null: there is nothing to read. */
  since: number | null
  takenThen: number
  /** Time at which the client last read some bytes. */
  movedAt: number
  takenLast: number
  /** Bytes of finished answers that it has not read completely. */
  held: number
}

/**
 * Limits connections: in number, in the requests that they hold open, and in the answers that wait in memory for their clients.
 * Connections of clients that read an answer more slowly than the pace are closed.
 */
export function guardPeers(server: Server, options: PeerOptions) {
  const { most, mostOfNetwork, isProxy, pace, mostUntaken } = options
  const connections = new Map<Socket, Watched>()
  const shares = createConnectionShares(options)
  /** Unanswered requests, by the network of their client. */
  const requests = new Map<string, number>()
  let untaken = 0

  server.maxConnections = most
  // Before any of the body arrives.
  server.prependListener('request', joinSmallChunks)
  server.on('connection', (socket: Socket) => {
    const restsSince = performance.now()
    const paceOf = { since: null, takenThen: 0, movedAt: 0, takenLast: 0 }
    const watched = { client: '', isProxy: false, open: 0, restsSince, ...paceOf, held: 0 }
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

  /** Whether the client has had its time and has read less than it must. */
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

  /** Closes the connections without progress for longest, until the answers fit again. */
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

  /** Clients behind a proxy share connections, so their requests are counted. False: the client has too many. */
  function countRequest(ip: string, { raw }: FastifyReply): boolean {
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

  /** Whether the client of a request is a proxy itself. */
  function isFromProxy(ip: string, watched: Watched | undefined): boolean {
    if (!watched) return isProxy(ip)
    if (watched.client !== ip) {
      watched.client = ip
      watched.isProxy = isProxy(ip)
    }
    return watched.isProxy
  }

  const timer = setInterval(look, 1000).unref()
  server.once('close', () => clearInterval(timer))

  return {
    /** A hook before all others. @throws {AppError} `ServiceUnavailable` when a client requests more than it reads. */
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
      const { ip } = request
      if (!isFromProxy(ip, watched) && !countRequest(ip, reply)) {
        done(quotaExceeded('svc.quotas.connections', mostOfNetwork, comeBackAfter))
        return
      }
      if (untaken > mostUntaken) makeRoom()
      if (untaken > mostUntaken) done(new AppError('ServiceUnavailable', { reason: 'too many answers are not taken' }))
      else done()
    },

    /** A hook before the answer: it counts until the client has read it. */
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

/** Bytes of an answer that is complete; an answer that is produced as it is read needs hardly any memory. */
function bytesOf(payload: unknown): number {
  if (typeof payload === 'string' || Buffer.isBuffer(payload)) return payload.length
  return payload instanceof PiecesStream ? payload.bytes : 0
}

/** Bytes that the client has not read; for an answer in progress, the bytes that the system has not accepted. */
function unsent(socket: Socket): number {
  const { writableLength } = socket
  if (writableLength === 0) return 0
  const handle = (socket as { _handle?: { writeQueueSize?: number; bytesWritten?: number } | null })._handle
  if (handle?.writeQueueSize === undefined || handle.bytesWritten === undefined) return writableLength
  return socket.bytesWritten - handle.bytesWritten + handle.writeQueueSize
}
