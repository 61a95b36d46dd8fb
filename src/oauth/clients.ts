import { timingSafeEqual } from 'node:crypto'
import type { BaseConfigService } from '../config/service.ts'
import type { OAuthClientConfig } from '../platform/config/config.ts'
import { AppError } from '../platform/errors.ts'
import { type Form, required } from '../platform/http/form.ts'
import { OAuthError } from '../platform/http/oauth-error.ts'
import { siteOf } from '../platform/limits/callers.ts'
import { createLimiter } from '../platform/limits/limiter.ts'
import type { Db } from '../platform/postgres/db.ts'
import { bcryptRule } from '../platform/values/client-secrets.ts'
import { identifierWord, type Throttle, tokenHash } from '../signin/service.ts'
import { verifyBcrypt } from './bcrypt.ts'

export interface OAuthClient {
  readonly id: string
  /** bcrypt hash; null: a public client. */
  readonly secretHash: string | null
  readonly redirectUris: readonly string[]
  /** Null: all. */
  readonly scopes: readonly string[] | null
  /** It must prove the possession of a code (PKCE). */
  readonly needsPkce: boolean
  /** A default client: any address of the service is its redirect URI. */
  readonly ownOrigin: boolean
  /** A default client without configuration: it is publicly known. */
  readonly builtIn: boolean
}

export interface ClientOptions {
  db: Db
  throttle: Pick<Throttle, 'clientSucceeded' | 'failed' | 'openForClient'>
  configured: readonly OAuthClientConfig[]
  baseConfig: BaseConfigService
  /** Words that may replace `svc` in the id of the web front end. */
  aliases: readonly string[]
}

/** The client with which administrators sign in to the console. */
export const consoleClient = `${identifierWord}-inspect`

export type OAuthClients = ReturnType<typeof createOAuthClients>

/** Secrets with a recent success, as sha256: bcrypt costs up to a second, and machines authenticate often. */
const rememberedSecrets = 1000

/**
 * The clients of this server: those of the configuration file, those of the base configuration, and the default ones, which are
 * public (CLIENT-001, -003, -004). The first client with a name counts.
 */
export function createOAuthClients({ db, throttle, configured, baseConfig, aliases }: ClientOptions) {
  const limiter = createLimiter({ concurrency: 1, maxWaiting: 200, maxWaitingOfShare: 5 })
  const remembered = new Map<string, Buffer>()
  const words = [identifierWord, ...aliases]
  const defaults = new Set(['web-client', consoleClient, ...words.map((word) => `${word}-web-frontend`)])

  function find(id: string): OAuthClient | null {
    const fromFile = configured.find((client) => client.id === id)
    if (fromFile) {
      const { secret: secretHash, redirectURIs: redirectUris, scopes, pkce } = fromFile
      const ownOrigin = defaults.has(id) && redirectUris.length === 0
      return {
        id,
        secretHash,
        redirectUris,
        scopes,
        needsPkce: secretHash === null && pkce === 'required',
        ownOrigin,
        builtIn: false,
      }
    }
    const row = baseConfig.get().oauth2.clients.find((client) => client.name === id)
    if (row) {
      const secretHash = row.secret || null
      const redirectUris = row.redirect_uris.map((uri) => uri.url)
      return {
        id,
        secretHash,
        redirectUris,
        scopes: null,
        needsPkce: secretHash === null,
        ownOrigin: false,
        builtIn: false,
      }
    }
    if (!defaults.has(id)) return null
    return { id, secretHash: null, redirectUris: [], scopes: null, needsPkce: true, ownOrigin: true, builtIn: true }
  }

  /**
   * A secret with a recent success costs nothing and waits for no other request: strangers cannot lock a client out by wrong
   * secrets.
   */
  async function secretFits(client: OAuthClient, secret: string, remoteAddr: string): Promise<boolean> {
    const { secretHash } = client
    // A hash with more rounds is not accepted anywhere (LIM-003): computing it would be an attack on ourselves.
    if (secretHash === null || bcryptRule(secretHash) !== null) return false
    const key = `${secretHash}`
    const digest = tokenHash(secret)
    const known = remembered.get(key)
    if (known && timingSafeEqual(known, digest)) return true
    // Each client has a separate share for each network, so guesses at one client's secret delay no other client.
    const share = JSON.stringify([siteOf(remoteAddr), client.id])
    const fits = await limiter
      .run(() => compare(client.id, secret, secretHash, remoteAddr), share)
      .catch((error) => {
        throw asOAuthError(error)
      })
    if (fits) {
      if (remembered.size >= rememberedSecrets) remembered.clear()
      remembered.set(key, digest)
    }
    return fits
  }

  /** One after the other: failures are counted exactly, however many requests come at once. */
  async function compare(id: string, secret: string, secretHash: string, remoteAddr: string): Promise<boolean> {
    const open = await throttle.openForClient(db, id, remoteAddr)
    const fits = await verifyBcrypt(secret, secretHash)
    if (fits) await throttle.clientSucceeded(db, open, id, remoteAddr)
    else await throttle.failed(db, open)
    return fits
  }

  return {
    find,

    /**
     * The client behind a token request: by HTTP Basic or by form fields, never both (OAUTH-018).
     * @throws {OAuthError} `invalid_client`, 401 when it came with HTTP Basic; 429 with `Retry-After` after too many wrong
     * secrets of this client from there.
     * @see RFC 6749 section 2.3.1
     */
    async authenticate(authorization: string | undefined, form: Form, remoteAddr: string): Promise<OAuthClient> {
      const basic = readBasic(authorization)
      if (basic && form.has('client_secret')) {
        throw new OAuthError('invalid_request', 'The client must authenticate in one way only.')
      }
      if (basic && form.has('client_id') && form.get('client_id') !== basic.id) {
        throw new OAuthError('invalid_request', 'The parameter client_id is not that of the Authorization header.')
      }
      const client = find(basic?.id ?? required(form, 'client_id'))
      const secret = basic?.secret || form.get('client_secret')
      const known =
        client && (client.secretHash === null ? secret === undefined : await fits(client, secret, remoteAddr))
      if (!client || !known) throw invalidClient(basic !== null)
      return client
    },
  }

  async function fits(client: OAuthClient, secret: string | undefined, remoteAddr: string): Promise<boolean> {
    return secret !== undefined && secretFits(client, secret, remoteAddr)
  }
}

function asOAuthError(error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== 'TooManyAttempts') return error
  const { status, parameters } = error
  const headers = { 'Retry-After': String(parameters.retry_after) }
  return new OAuthError('invalid_client', 'Too many secrets of this client were wrong.', { status, headers })
}

function invalidClient(viaHeader: boolean): OAuthError {
  const description = 'The client is unknown or its secret is wrong.'
  if (!viaHeader) return new OAuthError('invalid_client', description)
  return new OAuthError('invalid_client', description, {
    status: 401,
    headers: { 'WWW-Authenticate': 'Basic realm="oauth2"' },
  })
}

/** Id and secret of an `Authorization: Basic` header; both are form-encoded inside. */
function readBasic(authorization: string | undefined): { id: string; secret: string } | null {
  if (!authorization || !/^basic /i.test(authorization)) return null
  const text = Buffer.from(authorization.slice(6).trim(), 'base64').toString()
  const colon = text.indexOf(':')
  if (colon < 0) throw invalidClient(true)
  return { id: formDecode(text.slice(0, colon)), secret: formDecode(text.slice(colon + 1)) }
}

function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
