import { AppError } from '../errors.ts'

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

/**
 * A failure with a code in RFC 6749: OAuth2 endpoints answer it as `error`, `error_description` (OAUTH-021), other endpoints in
 * their own form, with the code among the parameters.
 */
export class OAuthError extends AppError {
  readonly error: OAuthErrorCode
  readonly headers: Readonly<Record<string, string>>
  readonly #status: number

  constructor(
    error: OAuthErrorCode,
    message: string,
    { status = 400, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
  ) {
    super('ServerGeneric', { error }, { message })
    this.name = 'OAuthError'
    this.error = error
    this.headers = headers
    this.#status = status
  }

  override get status(): number {
    return this.#status
  }
}
