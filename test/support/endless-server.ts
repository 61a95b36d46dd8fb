import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

export interface EndlessServer extends AsyncDisposable {
  readonly port: number
  /** Bytes that were taken from it, or lie in buffers on the way. */
  readonly sent: () => number
  /** Connections that were ever opened. */
  readonly connections: () => number
}

/**
 * A server that speaks `beginning` as soon as something arrives, or at once, and then `piece` again and again, as quickly
 * as it is taken or every `pause` milliseconds.
 */
export async function startEndless(given: {
  readonly beginning?: string | Buffer
  readonly piece: string | Buffer
  readonly pause?: number
  readonly atOnce?: boolean
}): Promise<EndlessServer> {
  const sockets = new Set<Socket>()
  let [sent, connections] = [0, 0]
  async function serve(socket: Socket): Promise<void> {
    connections++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    if (!given.atOnce) await once(socket, 'data')
    socket.resume()
    socket.write(given.beginning ?? '')
    const piece = Buffer.from(given.piece)
    while (!socket.destroyed) {
      const goesOn = socket.write(piece)
      sent += piece.length
      if (given.pause) await new Promise((resolve) => setTimeout(resolve, given.pause))
      else if (!goesOn) await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {})
    }
  }
  const server: Server = createServer((socket) => void serve(socket).catch(() => socket.destroy()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    sent: () => sent,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The head of an answer of HTTP whose body ends with the connection. */
export const httpHead = (status = '200 OK', ...headers: string[]): string =>
  [`HTTP/1.1 ${status}`, 'content-type: application/json', ...headers, '', ''].join('\r\n')
