import type { Server } from 'node:http'
import { whenClosed } from '../limits/when-closed.ts'

/** Counts the requests in flight on a server, for a stop that lets them finish. */
export interface Traffic {
  readonly stopping: boolean
  /** From now on new requests are refused; resolves when the last one in flight is answered, or after the time. */
  drain(milliseconds: number): Promise<void>
}

export function trackTraffic(server: Server): Traffic {
  let inFlight = 0
  let stopping = false
  const empty = Promise.withResolvers<void>()
  const settle = (): void => {
    if (stopping && inFlight === 0) empty.resolve()
  }
  // Ahead of the framework's own listener: a request counts before any code of it runs.
  server.prependListener('request', (_request, response) => {
    inFlight++
    whenClosed(response, () => {
      inFlight--
      settle()
    })
  })
  return {
    get stopping() {
      return stopping
    },
    async drain(milliseconds) {
      stopping = true
      settle()
      const timer = setTimeout(empty.resolve, milliseconds)
      await empty.promise
      clearTimeout(timer)
    },
  }
}
