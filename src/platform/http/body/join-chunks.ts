import type { IncomingMessage } from 'node:http'
import { bodyBytes } from './drain.ts'

/** Chunks with fewer bytes are joined. */
const small = 1024
/** Bytes of the buffer in which they are joined. */
const room = 16 * 1024

/**
 * Joins small chunks of a body that arrive together. A client may send single bytes as chunks (RFC 9112, 7.1): Node makes a
 * buffer of each, which takes some 300 bytes, and counts one. Bodies of 50 connections took 800 MB, and the service ended.
 */
export function joinSmallChunks(request: IncomingMessage): void {
  // Most requests have no body.
  if (bodyBytes(request) === 0) return
  const push = request.push.bind(request)
  /** The first small chunk itself, or a buffer with room for more. */
  let waiting: Buffer | null = null
  let filled = 0

  function flush(): void {
    if (!waiting) return
    const chunk = waiting.subarray(0, filled)
    waiting = null
    filled = 0
    push(chunk)
  }

  function join(chunk: Buffer): void {
    if (waiting && filled + chunk.length > room) flush()
    if (!waiting) {
      waiting = chunk
      filled = chunk.length
      // Not in the next tick, which comes between two chunks.
      setImmediate(flush)
      return
    }
    if (waiting.length < room) {
      const roomy = Buffer.allocUnsafeSlow(room)
      waiting.copy(roomy, 0, 0, filled)
      waiting = roomy
    }
    filled += chunk.copy(waiting, filled)
  }

  request.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (!Buffer.isBuffer(chunk) || chunk.length >= small) {
      flush()
      return push(chunk, encoding)
    }
    join(chunk)
    return request.readableLength + filled < request.readableHighWaterMark
  }
}
