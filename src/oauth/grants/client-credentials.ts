import type { BaseConfigService } from '../../config/service.ts'
import { AppError } from '../../platform/errors.ts'
import { OAuthError } from '../../platform/http/oauth-error.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { type AnonymousQuotas, guestUserId, type Sessions } from '../../signin/service.ts'
import { requestedScopes } from '../scopes.ts'
import type { Grant } from './grant.ts'

export interface ClientCredentialsOptions {
  db: Db
  baseConfig: BaseConfigService
  sessions: Sessions
  strangers: AnonymousQuotas
}

/**
 * A token of the anonymous user, where guests are allowed. There is no refresh token: the client can ask again with its
 * credentials.
 * @see RFC 6749 section 4.4
 */
export function clientCredentialsGrant({ db, baseConfig, sessions, strangers }: ClientCredentialsOptions): Grant {
  return async ({ client, form, remoteAddr, browserHashes, userAgent }) => {
    const scopes = requestedScopes(form.get('scope'), client).filter((scope) => scope !== 'offline')
    if (!baseConfig.get().login.guest) {
      throw new OAuthError(
        'unauthorized_client',
        'Guests are not allowed: login.guest of the base configuration is off.',
      )
    }
    await strangers.admit(remoteAddr).catch(refuse)
    return sessions.open({
      userId: await guestUserId(db),
      clientId: client.id,
      scopes,
      method: 'anonymous',
      remoteAddr,
      userAgent,
      browserHash: browserHashes[0] ?? null,
    })
  }
}

function refuse(error: unknown): never {
  if (!(error instanceof AppError) || error.code !== 'QuotaExceeded') throw error
  const { status, parameters, message } = error
  const headers = { 'Retry-After': String(parameters.retry_after) }
  throw new OAuthError('temporarily_unavailable', message, { status, headers })
}
