import { AppError } from '../../platform/errors.ts'
import { required } from '../../platform/http/form.ts'
import { OAuthError } from '../../platform/http/oauth-error.ts'
import type { Refreshes, Stopped } from '../refreshes.ts'
import { requestedScopes } from '../scopes.ts'
import type { Grant } from './grant.ts'

const stopped: Readonly<Record<Stopped, string>> = {
  gone: 'The directory of the user no longer has them: the session has ended.',
  refused: 'The directory of the user does not let them in.',
  stale: 'It is too long ago that the provider of the user has said who it is: they must sign in there anew.',
}

/**
 * The refresh token is used up and replaced. Fewer scopes than before may be requested; without `offline` among them the session
 * gets no further refresh token.
 * @see RFC 6749 section 6
 */
export function refreshTokenGrant({ refreshes }: { refreshes: Refreshes }): Grant {
  return async ({ client, form, remoteAddr, browserHashes }) => {
    const refreshToken = required(form, 'refresh_token')
    const scopes = form.has('scope') ? requestedScopes(form.get('scope'), client) : null
    const request = { refreshToken, clientId: client.id, scopes, remoteAddr, browserHashes }
    const issued = await refreshes.refresh(request).catch((error) => {
      if (error instanceof AppError && 'scope' in error.parameters) {
        throw new OAuthError('invalid_scope', 'The session was not granted all of these scopes.')
      }
      throw error
    })
    if (!issued) throw new OAuthError('invalid_grant', 'The refresh token is unknown, expired, used or revoked.')
    if (typeof issued === 'string') throw new OAuthError('invalid_grant', stopped[issued])
    return issued
  }
}
