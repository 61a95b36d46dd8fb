import { once } from 'node:events'
import { WebSocket } from 'undici'
import type { Json } from './client.ts'

/** A client of the event stream on a real socket. */
export interface StreamClient {
  readonly socket: WebSocket
  /** Frames as they came, parsed. */
  readonly events: readonly Json[]
  readonly ids: () => number[]
  /** Code and reason of the end. */
  readonly ended: Promise<{ code: number; reason: string }>
  close(): Promise<void>
}

/** Resolves when the stream is open. @throws when it is refused. */
export async function openStream(
  base: string,
  { token, from, headers = {} }: { token?: string; from?: number; headers?: Record<string, string> } = {},
): Promise<StreamClient> {
  const url = `${base.replace('http', 'ws')}/api/v1/event/stream${from === undefined ? '' : `?from=${from}`}`
  const sent = token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` }
  const socket = new WebSocket(url, { headers: sent })
  const events: Json[] = []
  socket.addEventListener('message', ({ data }) => events.push(JSON.parse(String(data))))
  const ended = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.addEventListener('close', ({ code, reason }) => resolve({ code, reason }))
  })
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve())
    socket.addEventListener('error', () => reject(new Error('the stream is refused')))
  })
  return {
    socket,
    events,
    ids: () => events.map(({ event }) => event._id),
    ended,
    async close() {
      if (socket.readyState === WebSocket.CLOSED) return
      socket.close()
      await once(socket, 'close')
    },
  }
}
