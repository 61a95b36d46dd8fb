/**
 * The authorization server: token requests and revocation. A *grant* is one way to get tokens; grants are in a table, one file
 * each.
 */

import type { BaseConfigService } from '../config/service.ts'
import { type Form, required } from '../platform/http/form.ts'
import { OAuthError } from '../platform/http/oauth-error.ts'
import type { Db } from '../platform/postgres/db.ts'
import type { AnonymousQuotas, Sessions, SignIn } from '../signin/service.ts'
import type { OAuthClients } from './clients.ts'
import type { Codes } from './codes.ts'
import { authorizationCodeGrant } from './grants/authorization-code.ts'
import { clientCredentialsGrant } from './grants/client-credentials.ts'
import type { Grant, Granted } from './grants/grant.ts'
import { passwordGrant } from './grants/password.ts'
import { refreshTokenGrant } from './grants/refresh-token.ts'
import type { Refreshes } from './refreshes.ts'

export { consoleClient } from './clients.ts'
export type { Codes } from './codes.ts'

export interface OAuthDependencies {
  db: Db
  baseConfig: BaseConfigService
  clients: OAuthClients
  codes: Codes
  sessions: Sessions
  refreshes: Refreshes
  signIn: SignIn
  strangers: AnonymousQuotas
}

export interface OAuthRequest {
  form: Form
  /** The `Authorization` header: HTTP Basic of a confidential client. */
  authorization: string | undefined
  remoteAddr: string
  /** The device token of the browser from an earlier sign-in. */
  device: string | null
  /** Hashes of the browser ids in the request. */
  browserHashes: readonly Buffer[]
  userAgent: string | null
}

export type OAuth = ReturnType<typeof createOAuth>

export function createOAuth(dependencies: OAuthDependencies) {
  const { db, baseConfig, clients, codes, sessions, refreshes, signIn, strangers } = dependencies
  const grants: ReadonlyMap<string, Grant> = new Map([
    ['authorization_code', authorizationCodeGrant({ codes })],
    ['password', passwordGrant({ signIn, sessions, baseConfig })],
    ['client_credentials', clientCredentialsGrant({ db, baseConfig, sessions, strangers })],
    ['refresh_token', refreshTokenGrant({ refreshes })],
  ])

  return {
    /** @throws {OAuthError} */
    async token({ form, authorization, ...from }: OAuthRequest): Promise<Granted> {
      const grantType = required(form, 'grant_type')
      const client = await clients.authenticate(authorization, form, from.remoteAddr)
      const grant = grants.get(grantType)
      if (!grant) throw new OAuthError('unsupported_grant_type', 'The server does not support this grant type.')
      return grant({ client, form, ...from })
    },

    /**
     * Ends the session of a token; an unknown token is no error. A client that names itself must authenticate and can end its own
     * sessions only; without `client_id`, having the token is enough, as for everything else with it.
     * @see RFC 7009
     */
    async revoke({
      form,
      authorization,
      remoteAddr,
    }: Pick<OAuthRequest, 'form' | 'authorization' | 'remoteAddr'>): Promise<void> {
      const token = required(form, 'token')
      const named = form.has('client_id') || /^basic /i.test(authorization ?? '')
      const client = named ? await clients.authenticate(authorization, form, remoteAddr) : null
      await sessions.revoke(token, client?.id ?? null, remoteAddr)
    },
  }
}
