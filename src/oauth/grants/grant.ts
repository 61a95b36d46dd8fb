import type { Form } from '../../platform/http/form.ts'
import type { IssuedTokens } from '../../signin/service.ts'
import type { OAuthClient } from '../clients.ts'

/** A token request whose client has been authenticated. */
export interface GrantRequest {
  readonly client: OAuthClient
  readonly form: Form
  readonly remoteAddr: string
  /** The device token of the browser from an earlier sign-in. */
  readonly device: string | null
  /** Hashes of the browser ids in the request. */
  readonly browserHashes: readonly Buffer[]
  readonly userAgent: string | null
}

export interface Granted extends IssuedTokens {
  /** The device token for the browser to keep from this sign-in. */
  readonly device?: string
}

/**
 * One way to get tokens (`grant_type`): checks its own parameters and issues.
 * @throws {OAuthError}
 */
export type Grant = (request: GrantRequest) => Promise<Granted>
