import type { BaseConfigService } from '../config/service.ts'
import { subject } from '../people/service.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import { type Form, required } from '../platform/http/form.ts'
import { OAuthError } from '../platform/http/oauth-error.ts'
import type { Db } from '../platform/postgres/db.ts'
import type { Sessions } from '../signin/service.ts'
import type { OAuthClients } from './clients.ts'

export interface TokenInfoDependencies {
  db: Db
  baseConfig: BaseConfigService
  clients: OAuthClients
  sessions: Sessions
}

export type TokenInfo = ReturnType<typeof createTokenInfo>

/** The caller: a client with its id and secret, or a user with a token. */
export interface Asking {
  form: Form
  authorization: string | undefined
  /** The bearer token of the request; null: it has none. */
  token: string | null
  browserHashes: () => readonly Buffer[]
  remoteAddr: string
}

/** Information for others about a token, and about its user. */
export function createTokenInfo({ db, baseConfig, clients, sessions }: TokenInfoDependencies) {
  /** @throws {OAuthError} `invalid_client` for callers that do not identify themselves (decision 23). @see RFC 7662 section 2.1 */
  async function assertKnown({ form, authorization, token, browserHashes, remoteAddr }: Asking): Promise<void> {
    if (form.has('client_id') || /^basic /i.test(authorization ?? '')) {
      // A wrong client counts as unknown, however it was sent: here it is no part of a grant, where wrong form fields are a 400.
      const client = await clients.authenticate(authorization, form, remoteAddr).catch((error: unknown) => {
        if (error instanceof OAuthError && error.error === 'invalid_client' && error.status !== 429) return null
        throw error
      })
      // The default clients are publicly known, so they prove nothing.
      if (client && !client.builtIn) return
    } else if (token !== null) {
      const session = await sessions.resolve(token, browserHashes).catch((error: unknown) => {
        if (error instanceof AppError && error.code === 'InvalidToken') return null
        throw error
      })
      if (session) return
    }
    throw new OAuthError('invalid_client', 'The caller must be a configured client or a user with a valid token.', {
      status: 401,
      headers: { 'WWW-Authenticate': 'Basic realm="oauth2"' },
    })
  }

  return {
    /** @see RFC 7662 section 2.2 */
    async introspect(asking: Asking) {
      const token = required(asking.form, 'token')
      await assertKnown(asking)
      const found = await sessions.inspect(token)
      if (!found) return { active: false }
      return {
        active: true,
        scope: found.scopes.join(' '),
        client_id: found.clientId,
        sub: found.user.subject,
        exp: seconds(found.expiresAt),
        iat: seconds(found.issuedAt),
        ...(found.kind === 'a' ? { token_type: 'bearer' } : {}),
      }
    },

    /** `sub`, and those other claims that the base configuration allows. @throws {AppError} `InvalidToken` */
    async userinfo(actor: Actor): Promise<Record<string, unknown>> {
      const { rows } = await db.query<{
        subject: string
        email: string | null
        displayname: string
        confirmed: boolean
        profile: Record<string, unknown>
      }>(
        `select ${subject} as subject, u.email, u.email is not null and u.email_confirmed_at is not null as confirmed,
           u.generated_displayname as displayname, u.profile from "user" u where u.id = $1`,
        [actor.userId],
      )
      const [user] = rows
      if (!user) throw new AppError('InvalidToken')
      const known: Record<string, unknown> = {
        ...user.profile,
        displayname: user.displayname,
        email: user.email ?? '',
        // True for a user who has followed a link that was sent there; a new address must be confirmed again.
        email_verified: user.confirmed,
      }
      const told = baseConfig.get().openid.userinfo.map((name) => [name, known[name] ?? ''])
      return { sub: user.subject, ...Object.fromEntries(told) }
    },
  }
}

function seconds(date: Date): number {
  return Math.floor(date.getTime() / 1000)
}
