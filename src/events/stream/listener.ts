import type { WebSocket } from '@fastify/websocket'

/** The reasons why the service ends a stream, with the code of RFC 6455 that the client gets. */
const endings = {
  InvalidToken: 1008,
  ServiceUnavailable: 1001,
  TooManyStreams: 1013,
  TooSlow: 1013,
} as const

export type Ending = keyof typeof endings

/** Milliseconds that a client has for answering the closing frame. */
const farewell = 500

/** One open connection: frames are sent, received messages are dropped. */
export interface Listener {
  /** The key of the access token that opened it, and the address of the client. */
  readonly caller: HeldToken
  /** The caller whose share it counts for. */
  readonly who: string
  /** All events up to this one have been offered to it. */
  position: number
  /** Whether it reads from the log by itself, until it has reached the position of the others. */
  catchingUp: boolean
  readonly open: boolean
  /** Bytes that are not sent yet. */
  readonly waiting: number
  send(frame: Buffer): void
  /** Sends a ping; ends the connection if the last one was not answered. */
  probe(): void
  end(why: Ending): void
}

export interface HeldToken {
  readonly key: string
  readonly remoteAddr: string
}

/** `closed` is called once, when the connection has ended for any reason. */
export function createListener(
  socket: WebSocket,
  { caller, who, from }: { readonly caller: HeldToken; readonly who: string; readonly from: number },
  closed: () => void,
): Listener {
  let answered = true
  let open = true
  // Messages of clients are dropped at once, instead of being buffered until they are read.
  socket.on('message', () => {})
  socket.on('pong', () => {
    answered = true
  })
  socket.on('close', () => {
    open = false
    closed()
  })
  return {
    caller,
    who,
    position: from,
    catchingUp: false,
    get open() {
      return open
    },
    get waiting() {
      return socket.bufferedAmount
    },
    send(frame) {
      socket.send(frame, { binary: false })
    },
    probe() {
      if (!answered) socket.terminate()
      answered = false
      socket.ping()
    },
    end(why) {
      open = false
      socket.close(endings[why], why)
      setTimeout(() => socket.terminate(), farewell).unref()
    },
  }
}
