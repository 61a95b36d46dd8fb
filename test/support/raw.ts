import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A request on a connection of its own, written by hand. */
export interface RawRequest {
  readonly socket: Socket
  /** Bytes of the request that have left. */
  readonly sent: () => number
  /** Resolves with all that was answered when the connection is closed. */
  readonly answer: Promise<string>
}

export interface RawOptions {
  port: number
  /** Address of the client, one of this machine. */
  from?: string
  method?: string
  path: string
  headers?: Record<string, string | number>
  /** The first part of the body; more can be written to the socket. */
  body?: string
}

export function sendRaw({ port, from, method = 'POST', path, headers = {}, body = '' }: RawOptions): RawRequest {
  const socket = connect({ port, host: '127.0.0.1', ...(from === undefined ? {} : { localAddress: from }) })
  const head = [`${method} ${path} HTTP/1.1`, 'Host: x', ...Object.entries(headers).map((pair) => pair.join(': '))]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  if (body.length > 0) socket.write(body)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => {})
  return {
    socket,
    sent: () => socket.bytesWritten - socket.writableLength,
    answer: new Promise((resolve) => socket.once('close', () => resolve(Buffer.concat(chunks).toString()))),
  }
}

/** Resolves with the first bytes that are answered, while the connection may stay open. */
export async function firstAnswer({ socket, answer }: RawRequest): Promise<string> {
  return Promise.race([
    answer,
    once(socket, 'data').then(
      ([chunk]) => String(chunk),
      () => answer,
    ),
  ])
}

export const statusOf = (answer: string): number => Number(answer.split(' ')[1])
