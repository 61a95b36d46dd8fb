/** Error codes of RFC 6749 section 5.2, RFC 6750 and RFC 7009. */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'temporarily_unavailable'

/** A failure of an OAuth2 endpoint: answered as `error`, `error_description` in place of the envelope (OAUTH-021). */
export class OAuthError extends Error {
  readonly code: OAuthErrorCode
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: OAuthErrorCode,
    description: string,
    { status = 400, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
  ) {
    super(description)
    this.name = 'OAuthError'
    this.code = code
    this.status = status
    this.headers = headers
  }
}
