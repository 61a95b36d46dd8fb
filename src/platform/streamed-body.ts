import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { AppError } from './errors.ts'
import type { Pace } from './pace.ts'

/**
 * Bodies of routes with `body: 'stream'`: the handler itself takes them, as they arrive and no faster than it can use
 * them. They have no end in time and none in size but what the handler says; only a client that is slow counts as such.
 */
export function isStreamed(request: FastifyRequest): boolean {
  return request.routeOptions.config.body === 'stream'
}

/**
 * The body of such a route. It ends with an error when the client goes away, or sends slower than the pace; time in which
 * nobody asks for more does not count. Whoever stops reading leaves the connection as it is, so that it can be answered.
 */
export async function* streamedBody(request: FastifyRequest): AsyncGenerator<Buffer> {
  const source = request.body as Readable | undefined
  if (!source) return
  const pace = request.routeOptions.config.pace ?? { grace: 15, leastRate: 0 }
  const chunks = source.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
  const watch = watchWaiting(pace)
  try {
    for (;;) {
      const next = await watch.whileWaiting(nextOf(chunks))
      if (next.done) return
      watch.arrived(next.value.length)
      yield next.value
    }
  } finally {
    watch.stop()
  }
}

async function nextOf(chunks: AsyncIterator<Buffer>): Promise<IteratorResult<Buffer>> {
  try {
    return await chunks.next()
  } catch (cause) {
    throw new AppError('ServerGeneric', {}, { message: 'The body ended too early.', cause })
  }
}

/** Counts the time in which the client is waited for, and what comes in it. */
function watchWaiting({ grace, leastRate }: Pace) {
  const patience = grace * 1000
  let waited = 0
  let bytes = 0
  let timer: NodeJS.Timeout | undefined
  return {
    async whileWaiting<T>(arrival: Promise<T>): Promise<T> {
      if (leastRate === 0) return arrival
      const slow = Promise.withResolvers<never>()
      const since = performance.now()
      const look = (): void => {
        if (bytes < leastRate * grace) {
          slow.reject(new AppError('RequestTimeout'))
          return
        }
        waited = 0
        bytes = 0
        timer = setTimeout(look, patience)
      }
      timer = setTimeout(look, Math.max(0, patience - waited))
      try {
        return await Promise.race([arrival, slow.promise])
      } finally {
        clearTimeout(timer)
        waited += performance.now() - since
      }
    },
    arrived(length: number): void {
      bytes += length
    },
    stop: () => clearTimeout(timer),
  }
}
