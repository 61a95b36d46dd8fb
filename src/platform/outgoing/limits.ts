import type { Socket } from 'node:net'
import type { Config } from '../config/config.ts'

/**
 * Limits for answers of other servers: identity providers, directories, webhooks, mail servers, stores of contents. A server with
 * an endless answer uses at most this memory and this time. Contents of files are streamed and have other limits (`download.ts`).
 */
export interface OutgoingLimits {
  /** Bytes of an answer that is read as a whole. */
  readonly answer: number
  /** Milliseconds for one exchange, from the connection to the last byte of the answer. */
  readonly time: number
}

export const usualLimits: OutgoingLimits = { answer: 4 * 1024 * 1024, time: 120_000 }

export function outgoingLimits({ outgoingAnswerLimit, outgoingTimeout }: OutgoingConfig): OutgoingLimits {
  return { answer: outgoingAnswerLimit, time: outgoingTimeout * 1000 }
}
export type OutgoingConfig = Pick<Config, 'outgoingAnswerLimit' | 'outgoingTimeout'>

export class AnswerTooLong extends Error {
  constructor(most: number) {
    super(`the answer is longer than ${most} bytes`)
  }
}

/** The chunks, as long as they are within the limit. @throws {AnswerTooLong} */
export async function* withinBytes<Chunk extends Uint8Array>(
  chunks: AsyncIterable<Chunk>,
  most: number,
): AsyncGenerator<Chunk> {
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.byteLength
    if (size > most) throw new AnswerTooLong(most)
    yield chunk
  }
}

/** The complete bytes. @throws {AnswerTooLong} */
export async function bytesWithin(chunks: AsyncIterable<Uint8Array>, most: number): Promise<Buffer<ArrayBuffer>> {
  const taken: Uint8Array[] = []
  for await (const chunk of withinBytes(chunks, most)) taken.push(chunk)
  return Buffer.concat(taken)
}

/** Milliseconds between two checks of the received bytes. */
const look = 20

/** Closes a connection that other code reads from, when more bytes than the limit have arrived. */
export function closedBeyond<S extends Socket>(socket: S, most: number): S {
  const timer = setInterval(() => {
    if (socket.bytesRead > most) socket.destroy(new AnswerTooLong(most))
  }, look).unref()
  socket.once('close', () => clearInterval(timer))
  return socket
}
