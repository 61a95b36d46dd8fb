import type { WebSocket } from '@fastify/websocket'

/** Why a stream is ended by us, with the code of RFC 6455 that the client is told. */
const endings = {
  InvalidToken: 1008,
  ServiceUnavailable: 1001,
  TooManyStreams: 1013,
  TooSlow: 1013,
} as const

export type Ending = keyof typeof endings

/** Milliseconds that a client has to answer the closing frame. */
const farewell = 500

/** One open connection: frames go out, what comes in is dropped. */
export interface Listener {
  /** The access token that it was opened with, as its key, and the address that it came from. */
  readonly caller: HeldToken
  /** Whose share it counts for. */
  readonly who: string
  /** Everything up to this event has been offered to it. */
  position: number
  /** It reads from the log by itself until it has come as far as the others. */
  catchingUp: boolean
  readonly open: boolean
  /** Bytes that it has not taken. */
  readonly waiting: number
  send(frame: Buffer): void
  /** Asks whether somebody is there; ends the connection of one that has not answered the last time. */
  probe(): void
  end(why: Ending): void
}

export interface HeldToken {
  readonly key: string
  readonly remoteAddr: string
}

/** `closed` is told once, when the connection has ended for whatever reason. */
export function createListener(
  socket: WebSocket,
  { caller, who, from }: { readonly caller: HeldToken; readonly who: string; readonly from: number },
  closed: () => void,
): Listener {
  let answered = true
  let open = true
  // What clients send is dropped: not even kept until somebody would read it.
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
