import { errorSchema } from '../platform/http/api-surface.ts'
import type { Surface } from '../platform/http/surface.ts'
import { errorDocument, secondsOf } from './markup.ts'
import { ProtocolError } from './protocol-error.ts'

export const xmlType = 'text/xml; charset=utf-8'

/**
 * Harvesters use the protocol: no tokens, errors as XML, and arguments as the protocol defines them. Errors outside the
 * protocol have the envelope of the interface. Pages of any origin may read the answers, which are the same for all
 * callers.
 */
export function harvestSurface(api: Surface, baseUrl: string): Surface {
  return {
    ...api,
    name: 'oai',
    sendError(error, request, reply) {
      if (error.code !== 'InternalError') return api.sendError(error, request, reply)
      const failure = new ProtocolError('internalServerError', error.message)
      const text = errorDocument({ at: secondsOf(new Date()), baseUrl, request: null }, failure)
      return reply.status(failure.status).header('Content-Type', xmlType).send(text)
    },
    challenge: {},
    authenticators: [],
    parameters: null,
    origins: 'any',
    description: {
      error: errorSchema,
      further: {
        type: 'text/xml',
        texts: {
          400: 'What the protocol refuses: `badArgument`, `badVerb`, `badResumptionToken`, `cannotDisseminateFormat`.',
          404: '`idDoesNotExist`: there is no such record.',
          500: '`internalServerError`: the answer could not be made.',
        },
      },
    },
  }
}
