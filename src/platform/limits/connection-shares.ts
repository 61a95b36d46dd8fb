import type { Socket } from 'node:net'
import { networkOf } from './callers.ts'

export interface ConnectionSharesOptions {
  /** Connections at a time. */
  readonly most: number
  /** Connections of one network. */
  readonly mostOfNetwork: number
  /** A proxy forwards many clients over its connections: it is not counted as a network. */
  readonly isProxy: (address: string) => boolean
}

export interface Connection {
  /** Number of unanswered requests. */
  open: number
  /** Time of the last answer, or of the opening. */
  restsSince: number
}

interface Holder {
  readonly isProxy: boolean
  readonly sockets: Map<Socket, Connection>
}

/** From this part of all connections on, idle connections are closed to make room. */
const crowded = 0.9

/**
 * Divides the connections among networks. A network has at most a share; beyond it, its connection that has been idle for longest
 * is closed, or else the new one. When the server becomes crowded, the network with most connections loses some first.
 */
export function createConnectionShares({ most, mostOfNetwork, isProxy }: ConnectionSharesOptions) {
  const holders = new Map<string, Holder>()
  let count = 0

  function forget(key: string, holder: Holder, socket: Socket): void {
    if (!holder.sockets.delete(socket)) return
    count--
    if (holder.sockets.size === 0) holders.delete(key)
  }

  function close(key: string, holder: Holder, socket: Socket): void {
    forget(key, holder, socket)
    socket.destroy()
  }

  /** The holders whose connections are closed first: those with most, proxies last. */
  function greediest(): [key: string, holder: Holder][] {
    return [...holders].sort(([, a], [, b]) => Number(a.isProxy) - Number(b.isProxy) || b.sockets.size - a.sockets.size)
  }

  function makeRoom(newest: Socket): void {
    while (count > most * crowded) {
      const closed = greediest().some(([key, holder]) => {
        const socket = longestResting(holder, newest)
        if (socket) close(key, holder, socket)
        return socket !== null
      })
      if (!closed) return
    }
  }

  return {
    /** False: there is no room for this connection, it is closed. */
    add(socket: Socket, connection: Connection): boolean {
      const address = socket.remoteAddress ?? ''
      const proxy = isProxy(address)
      const key = proxy ? `proxy ${address}` : networkOf(address)
      const holder = holders.get(key) ?? { isProxy: proxy, sockets: new Map<Socket, Connection>() }
      if (!proxy && holder.sockets.size >= mostOfNetwork) {
        const former = longestResting(holder, socket)
        if (!former) {
          socket.destroy()
          return false
        }
        close(key, holder, former)
      }
      holders.set(key, holder)
      holder.sockets.set(socket, connection)
      count++
      socket.once('close', () => forget(key, holder, socket))
      makeRoom(socket)
      return true
    },
  }
}

function longestResting({ sockets }: Holder, newest: Socket): Socket | null {
  let found: Socket | null = null
  let since = Number.POSITIVE_INFINITY
  for (const [socket, { open, restsSince }] of sockets) {
    if (open > 0 || socket === newest || restsSince >= since) continue
    found = socket
    since = restsSince
  }
  return found
}
