import type { Configuration } from 'openid-client'
import type { BaseConfig } from '../../../config/service.ts'
import { createOutgoingFetch, type OutgoingFetch } from '../../../platform/outgoing/fetch.ts'
import type { OutgoingLimits } from '../../../platform/outgoing/limits.ts'
import { opened } from '../../../platform/secrets/sealed-texts.ts'
import { attributeTemplate, type ValuesOf } from '../../../platform/values/attribute-templates.ts'
import { isRecord } from '../../../platform/values/records.ts'
import { knownProviders, reasonOf } from '../known-providers.ts'
import { attributesOf, DirectoryRefusal, DirectoryUnavailable, type Person, type Steps } from '../model.ts'

export type OpenIdProvider = BaseConfig['openid_connect']['providers'][number]

/** The data of a sign-in while its user is at the provider. */
export interface OpenIdChallenge {
  readonly nonce: string
  readonly verifier: string
}

export interface OpenIdProof {
  readonly person: Person
  readonly subject: string
  /** Identifies the sign-in at a sign-out there. */
  readonly idToken: string
}

/** Seconds for one answer of a provider; milliseconds for which its metadata is kept. */
const [timeout, kept] = [8, 10 * 60_000]
const mostNames = 1000

export type OpenId = ReturnType<typeof createOpenId>

/**
 * OpenID Connect 1.0, authorization code flow with PKCE (RFC 7636), `state`, `nonce` and `iss` (RFC 9207). Only addresses of the
 * configured issuer are requested: redirects are not followed.
 */
export function createOpenId({ redirectUri, limits }: { redirectUri: string; limits: OutgoingLimits }) {
  const fetch = createOutgoingFetch({ ...limits, time: Math.min(limits.time, timeout * 1000) })
  const open = knownProviders<OpenIdProvider, Configuration>({
    ttl: kept,
    keyOf: ({ issuer, client_id, client_secret }) => [issuer, client_id, JSON.stringify(client_secret)],
    ask: (provider) => discover(provider, fetch),
  })

  return {
    /** The target of the browser, and the data to keep until it is back. @throws {DirectoryUnavailable} */
    async begin(provider: OpenIdProvider, state: string): Promise<{ address: string; challenge: OpenIdChallenge }> {
      const client = await import('openid-client')
      const config = await open(provider)
      const challenge = { nonce: client.randomNonce(), verifier: client.randomPKCECodeVerifier() }
      const address = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: provider.scopes,
        state,
        nonce: challenge.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(challenge.verifier),
        code_challenge_method: 'S256',
      })
      return { address: address.href, challenge }
    },

    /**
     * The person who has come back with this query.
     * @throws {DirectoryUnavailable} when the provider cannot be reached; {DirectoryRefusal} when its answer proves nothing
     */
    async finish(
      provider: OpenIdProvider,
      query: string,
      state: string,
      { nonce, verifier }: OpenIdChallenge,
      steps: Steps,
    ): Promise<OpenIdProof> {
      const client = await import('openid-client')
      const config = await open(provider)
      try {
        const tokens = await client.authorizationCodeGrant(config, new URL(`${redirectUri}?${query}`), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        })
        const claims = tokens.claims()
        if (!claims || !tokens.id_token) throw new Error('there is no id_token')
        steps.note(`the provider has signed for ${claims.sub}; claims: ${Object.keys(claims).join(', ')}`)
        const more = config.serverMetadata().userinfo_endpoint
          ? await client.fetchUserInfo(config, tokens.access_token, claims.sub)
          : {}
        if (Object.keys(more).length > 0) steps.note(`claims of userinfo: ${Object.keys(more).join(', ')}`)
        // A signed claim comes before that of userinfo.
        const vouched = vouchedIn(provider, claims.email === undefined ? more : claims)
        const counts = (name: string) =>
          vouched === 'all' || !/^email$/i.test(name) || (name === 'email' && vouched.length > 0)
        const told = flattened({ ...more, ...claims }).filter(([name]) => counts(name))
        const attributes = attributesOf(told)
        const groupNames = namesOf(provider, attributes)
        steps.note(`names of groups: ${groupNames.join(', ') || 'none'}`)
        return { person: { attributes, groupNames, vouched }, subject: claims.sub, idToken: tokens.id_token }
      } catch (error) {
        throw new DirectoryRefusal('unproved', `The answer of the provider was not accepted: ${reasonOf(error)}`)
      }
    },

    /** Requests everything from the provider that a sign-in needs, and reports the answers. @throws {DirectoryUnavailable} */
    async check(provider: OpenIdProvider, steps: Steps): Promise<void> {
      try {
        const metadata = (await discover(provider, fetch)).serverMetadata()
        steps.note(`the issuer is ${metadata.issuer}`)
        const addresses = {
          'sign-ins go to': metadata.authorization_endpoint,
          'codes are redeemed at': metadata.token_endpoint,
          'claims are asked for at': metadata.userinfo_endpoint,
          'signing out goes to': metadata.end_session_endpoint,
        }
        for (const [what, address] of Object.entries(addresses)) steps.note(`${what} ${address ?? 'no address'}`)
        if (!metadata.authorization_endpoint || !metadata.token_endpoint || !metadata.jwks_uri) {
          throw new Error('the provider lacks an address for sign-ins, codes or keys')
        }
        steps.note(`keys for signatures: ${await countKeys(metadata.jwks_uri, fetch)}`)
        const { scopes_supported: supported } = metadata
        const missing = supported ? provider.scopes.split(' ').filter((scope) => !supported.includes(scope)) : []
        if (missing.length > 0) steps.note(`scopes that the provider does not name: ${missing.join(', ')}`)
        steps.note(`the redirect URI that the provider must know for ${provider.client_id} is ${redirectUri}`)
      } catch (error) {
        throw new DirectoryUnavailable(`The provider cannot be asked: ${reasonOf(error)}`)
      }
    },

    /** The address at which the browser signs out at the provider, too; null: the provider has no such address. */
    async end(provider: OpenIdProvider, idToken: string | null): Promise<string | null> {
      const client = await import('openid-client')
      const config = await open(provider)
      if (!config.serverMetadata().end_session_endpoint) return null
      return client.buildEndSessionUrl(config, idToken === null ? {} : { id_token_hint: idToken }).href
    },
  }
}

/**
 * The address that the provider has verified, which it states in the same place (OpenID Connect Core, 5.1); some providers write
 * that as a text. An unverified address may have been entered by anybody.
 */
function vouchedIn(
  { trust_email }: OpenIdProvider,
  { email, email_verified }: Readonly<Record<string, unknown>>,
): Person['vouched'] {
  if (trust_email && email_verified !== false && email_verified !== 'false') return 'all'
  const verified = email_verified === true || email_verified === 'true'
  return verified && typeof email === 'string' ? [email] : []
}

async function discover(
  { issuer, client_id, client_secret }: OpenIdProvider,
  fetch: OutgoingFetch,
): Promise<Configuration> {
  const client = await import('openid-client')
  const authentication = client_secret === '' ? client.None() : undefined
  const plain = issuer.startsWith('http:')
  const secret = opened(client_secret, `The client secret for ${issuer}`) || undefined
  return client.discovery(new URL(issuer), client_id, secret, authentication, {
    timeout,
    // Also for later requests.
    [client.customFetch]: (address, { body, ...init }) => fetch(address, { ...init, body: body ?? null }),
    // Without the first option the id_token is trusted because it was received by TLS; with it, because of its signature by a key
    // of the provider.
    execute: [client.enableNonRepudiationChecks, ...(plain ? [client.allowInsecureRequests] : [])],
  })
}

function namesOf({ groupmapping }: OpenIdProvider, attributes: ValuesOf): string[] {
  return [...new Set(groupmapping.flatMap(({ group }) => attributeTemplate(group).expandAll(attributes, mostNames)))]
}

/** Claims as attributes: lists have several values, members of objects are `address.country`. */
function flattened(claims: Readonly<Record<string, unknown>>, prefix = ''): [string, string[]][] {
  return Object.entries(claims).flatMap(([name, value]): [string, string[]][] => {
    if (isRecord(value)) {
      return prefix === '' ? flattened(value, `${name}.`) : []
    }
    const values = [value].flat().filter((one) => ['string', 'number', 'boolean'].includes(typeof one))
    return values.length === 0 ? [] : [[prefix + name, values.map(String)]]
  })
}

async function countKeys(address: string, fetch: OutgoingFetch): Promise<number> {
  const response = await fetch(address)
  if (!response.ok) throw new Error(`the address of the keys answers ${response.status}`)
  const { keys } = (await response.json()) as { keys?: unknown }
  if (!Array.isArray(keys) || keys.length === 0) throw new Error('the provider has no keys for signatures')
  return keys.length
}
