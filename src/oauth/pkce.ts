import { hash } from 'node:crypto'
import type { Form } from '../platform/http/form.ts'
import { OAuthError } from '../platform/http/oauth-error.ts'
import type { OAuthClient } from './clients.ts'

/**
 * The challenge of an authorization request; null when the client need not send one and does not.
 * @throws {OAuthError} `invalid_request`; `plain` is refused, also when it is implied by a missing method.
 * @see RFC 7636 section 4.3
 */
export function challengeOf(form: Form, client: OAuthClient): string | null {
  const challenge = form.get('code_challenge')
  const method = form.get('code_challenge_method')
  if (challenge === undefined) {
    if (method !== undefined) throw new OAuthError('invalid_request', 'The parameter code_challenge is missing.')
    if (client.needsPkce) {
      throw new OAuthError('invalid_request', 'This client must send code_challenge and code_challenge_method=S256.')
    }
    return null
  }
  if (method !== 'S256') throw new OAuthError('invalid_request', 'The parameter code_challenge_method must be S256.')
  if (!/^[\w-]{43}$/.test(challenge)) {
    throw new OAuthError('invalid_request', 'The parameter code_challenge must be the base64url of a SHA-256.')
  }
  return challenge
}

/** The challenge for the verifier of a token request; null when it has none. */
export function challengeOfVerifier(form: Form): string | null {
  const verifier = form.get('code_verifier')
  if (verifier === undefined) return null
  if (!/^[\w.~-]{43,128}$/.test(verifier)) {
    throw new OAuthError(
      'invalid_request',
      'The parameter code_verifier must have 43 to 128 of the allowed characters.',
    )
  }
  return hash('sha256', verifier, 'base64url')
}
