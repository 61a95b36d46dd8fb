import { OAuthError } from '../platform/http/oauth-error.ts'
import type { OAuthClient } from './clients.ts'

/** All scopes (CLIENT-005); `offline` requests a refresh token, the others are labels. */
export const scopes = ['offline', 'read', 'write'] as const

/**
 * The scopes that a request asks for; none when the parameter is missing (CLIENT-009).
 * @throws {OAuthError} `invalid_scope` for a scope that does not exist or is outside the client's set (CLIENT-008, -010).
 */
export function requestedScopes(text: string | undefined, client: OAuthClient): string[] {
  const asked = [...new Set((text ?? '').split(' ').filter((scope) => scope !== ''))]
  const allowed: readonly string[] = client.scopes ?? scopes
  const refused = asked.find((scope) => !allowed.includes(scope))
  if (refused !== undefined) {
    throw new OAuthError('invalid_scope', `The scope ${printable(refused)} is not available to this client.`)
  }
  return asked
}

/** Error descriptions hold printable ASCII only. @see RFC 6749 section 5.2 */
function printable(text: string): string {
  return text.replaceAll(/[^\x21\x23-\x5b\x5d-\x7e]/g, '?').slice(0, 100)
}
