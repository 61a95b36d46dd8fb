import type { Surface } from '../platform/http/surface.ts'
import { beginning, end, errorElement, secondsOf } from './markup.ts'
import { ProtocolError, type ProtocolErrorCode } from './protocol-error.ts'

export const xmlType = 'text/xml; charset=utf-8'

/** Failures that the protocol can tell; all others have the envelope of the interface. */
const codes: Readonly<Record<string, ProtocolErrorCode>> = {
  ServerGeneric: 'badArgument',
  PayloadTooLarge: 'badArgument',
  UnsupportedMediaType: 'badArgument',
  InternalError: 'internalServerError',
}

/**
 * Harvesters speak the protocol: no tokens, errors as XML, and arguments that mean what the protocol says. Pages of any origin
 * may read the answers, which are the same for everybody.
 */
export function harvestSurface(api: Surface, baseUrl: string): Surface {
  return {
    ...api,
    name: 'oai',
    sendError(error, request, reply) {
      const code = codes[error.code]
      if (code === undefined) return api.sendError(error, request, reply)
      const failure = new ProtocolError(code, error.message)
      const text = `${beginning({ at: secondsOf(new Date()), baseUrl, request: null })}\n${errorElement(failure)}\n${end}`
      return reply.status(failure.status).header('Content-Type', xmlType).send(text)
    },
    challenge: {},
    authenticators: [],
    parameters: null,
    origins: 'any',
    description: {
      error: {
        title: 'HarvestError',
        description: 'An error as the protocol has it, or the envelope of the interface.',
      },
      failures: {
        400: 'The request is refused; harvesting is switched off (JSON).',
        429: 'Too many requests wait; try again.',
        500: 'An internal error occurred.',
        503: 'The service is not ready; try again.',
      },
    },
  }
}
