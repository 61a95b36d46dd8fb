import { AppError } from '../../platform/errors.ts'
import { required } from '../../platform/http/form.ts'
import { OAuthError } from '../../platform/http/oauth-error.ts'
import type { Codes } from '../codes.ts'
import { challengeOfVerifier } from '../pkce.ts'
import type { Grant } from './grant.ts'

/** @see RFC 6749 section 4.1.3; RFC 7636 section 4.5 */
export function authorizationCodeGrant({ codes }: { codes: Codes }): Grant {
  return async ({ client, form, remoteAddr, browserHashes }) => {
    const use = {
      code: required(form, 'code'),
      clientId: client.id,
      redirectUri: form.get('redirect_uri'),
      codeChallenge: challengeOfVerifier(form),
      browserHashes,
      remoteAddr,
    }
    const issued = await codes.redeem(use).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'InvalidToken') return null
      throw error
    })
    if (issued) return issued
    throw new OAuthError(
      'invalid_grant',
      'The code is unknown, expired or used, or not for this client, redirect_uri, code_verifier or browser.',
    )
  }
}
