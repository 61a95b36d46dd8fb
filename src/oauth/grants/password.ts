import type { BaseConfigService } from '../../config/service.ts'
import { AppError } from '../../platform/errors.ts'
import { required } from '../../platform/http/form.ts'
import { OAuthError } from '../../platform/http/oauth-error.ts'
import type { Sessions, SignIn } from '../../signin/service.ts'
import { requestedScopes } from '../scopes.ts'
import type { Grant } from './grant.ts'

const longestLogin = 500
const longestPassword = 1000

export interface PasswordGrantDependencies {
  signIn: SignIn
  sessions: Sessions
  baseConfig: BaseConfigService
}

/** @see RFC 6749 section 4.3 */
export function passwordGrant({ signIn, sessions, baseConfig }: PasswordGrantDependencies): Grant {
  return async ({ client, form, remoteAddr, device, browserHashes, userAgent }) => {
    const credentials = {
      login: required(form, 'username'),
      password: required(form, 'password'),
      clientId: client.id,
      remoteAddr,
      device,
      passwordOnly: !baseConfig.get().two_factor.allow_password_grant,
    }
    const scopes = requestedScopes(form.get('scope'), client)
    if (credentials.login.length > longestLogin || credentials.password.length > longestPassword) throw wrong()
    const signedIn = await signIn.verify(credentials).catch((error) => {
      throw asOAuthError(error)
    })
    if (!signedIn || 'refused' in signedIn) throw wrong()
    const { clientId } = credentials
    const { userId, method, login } = signedIn
    // Bound to the browser that sends it, if that browser has signed in on our page (SESS-007).
    const browserHash = browserHashes[0] ?? null
    const session = { userId, method, login: login ?? undefined, clientId, scopes, remoteAddr, userAgent, browserHash }
    const issued = await sessions.open(session, signedIn.remember)
    return { ...issued, device: signedIn.device }
  }
}

/** One answer for everything that is wrong with credentials or user: it must not reveal which logins exist. */
function wrong(more?: { status: number; headers: Record<string, string> }): OAuthError {
  return new OAuthError('invalid_grant', 'The user name or the password is wrong, or too many were wrong before.', more)
}

function asOAuthError(error: unknown): unknown {
  if (!(error instanceof AppError) || (error.code !== 'TooManyAttempts' && error.code !== 'QuotaExceeded')) return error
  return wrong({ status: error.status, headers: { 'Retry-After': String(error.parameters.retry_after) } })
}
