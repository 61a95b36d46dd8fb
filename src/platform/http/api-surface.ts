import type { FastifyRequest } from 'fastify'
import { type AppError, type ErrorBody, errorBody } from '../errors.ts'
import { withoutSecrets } from '../secrets/secret-forms.ts'
import { scrubbed, scrubText, secretsIn } from '../secrets/secrets.ts'
import { checkBodyNames, learnBodyNames } from './body/names.ts'
import { applyCacheSeconds } from './cache-headers.ts'
import { checkQueryNames, learnQueryNames, prettyJson } from './query-names.ts'
import type { ParameterRules, Surface } from './surface.ts'

export interface ApiOptions extends Pick<Surface, 'authenticators'> {
  /** Names of the headers that can identify the caller. */
  readonly requestTokens: readonly string[]
}

/** The surface of the interface: the error envelope, bearer tokens, and parameters that have their effect, are named or refused. */
export function apiSurface({ authenticators, requestTokens }: ApiOptions): Surface {
  return {
    name: 'api',
    sendError: (error, request, reply) => reply.status(error.status).send(cleanBody(error, request)),
    // RFC 6750, section 3: without an error when no token was sent.
    challenge: {
      UserRequired: 'Bearer realm="api"',
      InvalidToken: 'Bearer realm="api", error="invalid_token"',
    },
    authenticators,
    parameters: parameterRules(requestTokens),
    origins: 'configured',
    optionsHeaders: {},
    description: { error: errorSchema },
  }
}

function parameterRules(requestTokens: readonly string[]): ParameterRules {
  return {
    learn(route) {
      learnQueryNames(route)
      learnBodyNames(route)
    },
    checkQuery: checkQueryNames,
    checkBody: checkBodyNames,
    present(request, reply, payload) {
      applyCacheSeconds(request, reply, requestTokens)
      return prettyJson(request, reply, payload)
    },
  }
}

/** Shorter values cannot be tokens of ours, and may be words. */
const shortestToken = 20

/** Errors are copied into logs and bug reports: their quotes of a request must not contain its secrets. */
function cleanBody(error: AppError, { id, headers, query }: FastifyRequest): ErrorBody {
  const sent = [...secretsIn(headers), ...secretsIn(query)]
  const clean = withoutSecrets(sent.filter(({ length }) => length >= shortestToken))
  return scrubbed(errorBody(error, id), (text) => scrubText(clean(text)))
}

export const errorSchema = {
  title: 'Error',
  description: 'The request cannot be carried out; nothing was changed.',
  type: 'object',
  required: ['code', 'package', 'realm', 'statuscode', 'error', 'message', 'parameters'],
  properties: {
    code: { type: 'string', description: 'The error code, for programs; see the list of errors.' },
    package: { type: 'string' },
    realm: { type: 'string' },
    statuscode: { type: 'integer' },
    error: { type: 'string', description: 'The error text, for people.' },
    message: { type: 'string', description: 'The same text as error.' },
    parameters: { type: 'object', additionalProperties: true, description: 'The values in the text.' },
    request_id: { type: 'string', description: 'The id under which the log has this request.' },
  },
}
