import type { Form } from '../../platform/http/form.ts'
import type { IssuedTokens } from '../../signin/service.ts'
import type { OAuthClient } from '../clients.ts'

/** A token request whose client has been authenticated. */
export interface GrantRequest {
  readonly client: OAuthClient
  readonly form: Form
  readonly remoteAddr: string
  /** What the browser keeps from an earlier sign-in. */
  readonly device: string | null
  /** Of the browser ids that came with it. */
  readonly browserHashes: readonly Buffer[]
  readonly userAgent: string | null
}

export interface Granted extends IssuedTokens {
  /** What the browser is to keep from this sign-in. */
  readonly device?: string
}

/**
 * One way to get tokens (`grant_type`): checks its own parameters and issues.
 * @throws {OAuthError}
 */
export type Grant = (request: GrantRequest) => Promise<Granted>
