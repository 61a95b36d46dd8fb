import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { atPace } from '../../limits/pace.ts'
import { transfer } from '../../memory/buffer-ownership.ts'
import { declarationOf } from '../http.ts'

/**
 * Bodies of routes with `body: 'stream'`: the handler itself reads them, as they arrive and no faster than it can process them.
 * There is no time limit, and the handler decides on the size; only the pace of the client is checked.
 */
export function isStreamed(request: FastifyRequest): boolean {
  return declarationOf(request).body === 'stream'
}

/**
 * The body of such a route. It ends with an error when the client disconnects, or sends slower than the pace; time in which the
 * handler does not read does not count. A handler that stops reading leaves the connection open, so that it can be answered. The
 * chunks of a connection belong to the reader (`release`).
 */
export async function* streamedBody(request: FastifyRequest): AsyncGenerator<Buffer> {
  const source = request.body as Readable | undefined
  if (!source) return
  const pace = declarationOf(request).pace ?? { grace: 15, leastRate: 0 }
  const chunks = source.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
  const take = request.raw.socket instanceof Socket ? transfer : (chunk: Buffer) => chunk
  yield* atPace(
    () => nextOf(chunks, take),
    pace,
    () => new AppError('RequestTimeout'),
  )
}

async function nextOf(chunks: AsyncIterator<Buffer>, take: (chunk: Buffer) => Buffer): Promise<IteratorResult<Buffer>> {
  try {
    const next = await chunks.next()
    return next.done ? next : { done: false, value: take(next.value) }
  } catch (cause) {
    throw new AppError('ServerGeneric', {}, { message: 'The body ended too early.', cause })
  }
}
