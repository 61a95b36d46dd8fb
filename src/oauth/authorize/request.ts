import type { FastifyRequest } from 'fastify'
import { type Form, required } from '../../platform/http/form.ts'
import { OAuthError } from '../../platform/http/oauth-error.ts'
import type { OAuthClient, OAuthClients } from '../clients.ts'
import { challengeOf } from '../pkce.ts'
import type { Destination, Redirects } from '../redirects.ts'
import { requestedScopes } from '../scopes.ts'

/** An authorization request whose client and redirect URI are already checked. */
export interface AuthorizeRequest {
  readonly client: OAuthClient
  readonly destination: Destination
  readonly state: string
  readonly scopes: readonly string[]
  readonly codeChallenge: string | null
  /** `auth_method`, in the order in which the methods are tried. */
  readonly methods: readonly string[]
  /** The user manages their own second factors before continuing. */
  readonly managed: boolean
}

/** Characters. */
const [shortestState, longestState] = [8, 4000]

/**
 * Reads an authorization request (RFC 6749, 4.1.1). Errors are answered here, by a 400 (OAUTH-011): no browser is redirected with
 * an error, since the request may not be the client's own.
 * @throws {OAuthError}
 */
export function readAuthorizeRequest(
  form: Form,
  request: FastifyRequest,
  { clients, redirects }: { clients: OAuthClients; redirects: Redirects },
): AuthorizeRequest {
  const client = clients.find(required(form, 'client_id'))
  if (!client) throw new OAuthError('invalid_client', 'The client is not known.')
  const destination = redirects.destination(client, form.get('redirect_uri'), request)
  const responseType = required(form, 'response_type')
  if (responseType !== 'code') {
    throw new OAuthError('unsupported_response_type', 'The parameter response_type must be code.')
  }
  const state = required(form, 'state')
  if (state.length < shortestState || state.length > longestState) {
    throw new OAuthError(
      'invalid_request',
      `The parameter state must have ${shortestState} to ${longestState} characters.`,
    )
  }
  const scopes = requestedScopes(form.get('scope'), client)
  const codeChallenge = challengeOf(form, client)
  const action = form.get('action')
  if (action !== undefined && action !== 'security') {
    throw new OAuthError('invalid_request', 'The parameter action must be security.')
  }
  const managed = action === 'security'
  return { client, destination, state, scopes, codeChallenge, managed, methods: methodsOf(form.get('auth_method')) }
}

function methodsOf(text = 'auto'): string[] {
  const methods = text
    .split(',')
    .map((method) => method.trim())
    .filter((method) => method !== '')
  return methods.length > 0 ? [...new Set(methods)] : ['auto']
}
