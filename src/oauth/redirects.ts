import type { FastifyRequest } from 'fastify'
import { OAuthError } from '../platform/http/oauth-error.ts'
import { matchesOrigin, redirectUriRule } from '../platform/values/redirect-uris.ts'
import type { OAuthClient } from './clients.ts'

/** The final target of the browser in a sign-in: already checked. */
export interface Destination {
  readonly uri: string
  /** It was in the request: then the token request must contain the same one. */
  readonly given: boolean
  /** It has the origin of the service. */
  readonly sameOrigin: boolean
}

export interface RedirectOptions {
  externalUrl: string
  /** Patterns of other origins. */
  allowed: readonly string[]
}

export type Redirects = ReturnType<typeof createRedirects>

/** The addresses to which a browser may be sent. No redirect happens without this check. */
export function createRedirects({ externalUrl, allowed }: RedirectOptions) {
  const external = new URL(externalUrl).origin

  /** The address in the client's request is only trusted for loopback: no other person can be led there. */
  function isOwn(address: URL, request: Pick<FastifyRequest, 'protocol' | 'host'>): boolean {
    if (address.origin === external) return true
    return isLoopback(address.hostname) && address.origin === `${request.protocol}://${request.host}`
  }

  return {
    /** Whether an origin (header `Origin`) is that of the service. */
    isOwnOrigin: (origin: string, request: Pick<FastifyRequest, 'protocol' | 'host'>): boolean => {
      const parsed = URL.parse(origin)
      return parsed !== null && isOwn(parsed, request)
    },

    /**
     * The redirect URI of a request: exactly one of those that the client has registered (RFC 9700, 2.1), which may be left out
     * when there is one only (OAUTH-004). The default clients have none and may name any address of the service. Another origin
     * must be allowed in addition (CLIENT-014).
     * @throws {OAuthError} `invalid_request`; the browser must not be sent anywhere.
     */
    destination(client: OAuthClient, given: string | undefined, request: FastifyRequest): Destination {
      const { redirectUris } = client
      const uri = given ?? (redirectUris.length === 1 ? redirectUris[0] : undefined)
      if (uri === undefined) {
        throw new OAuthError(
          'invalid_request',
          'The parameter redirect_uri is missing: the client has not exactly one.',
        )
      }
      const expected = redirectUriRule(uri)
      if (expected !== null) throw new OAuthError('invalid_request', `The parameter redirect_uri must be ${expected}.`)
      if (!client.ownOrigin && !redirectUris.includes(uri)) {
        throw new OAuthError('invalid_request', 'The redirect_uri is not one that is registered for the client.')
      }
      const address = new URL(uri)
      const sameOrigin = isOwn(address, request)
      if (!sameOrigin && !allowed.some((pattern) => matchesOrigin(pattern, address))) {
        throw new OAuthError(
          'invalid_request',
          'The origin of the redirect_uri is not in svc.services.webapp.loginAllowRedirects.',
        )
      }
      return { uri, given: given !== undefined, sameOrigin }
    },
  }
}

/** `localhost` and the addresses of the machine itself (RFC 6761, RFC 5735, RFC 4291). */
const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname)

/** The address with parameters added; its existing parameters stay as they are. */
export function withParameters(uri: string, parameters: Readonly<Record<string, string>>): string {
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(parameters)}`
}
