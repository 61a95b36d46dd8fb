import { type Static, Type } from 'typebox'
import { scopes } from './scopes.ts'

const texts = Type.Array(Type.String())

export const Metadata = Type.Object(
  {
    issuer: Type.String(),
    authorization_endpoint: Type.String(),
    token_endpoint: Type.String(),
    revocation_endpoint: Type.String(),
    introspection_endpoint: Type.String(),
    userinfo_endpoint: Type.String(),
    scopes_supported: texts,
    response_types_supported: texts,
    response_modes_supported: texts,
    grant_types_supported: texts,
    code_challenge_methods_supported: texts,
    token_endpoint_auth_methods_supported: texts,
    revocation_endpoint_auth_methods_supported: texts,
    introspection_endpoint_auth_methods_supported: texts,
    authorization_response_iss_parameter_supported: Type.Boolean(),
    ui_locales_supported: texts,
  },
  { title: 'AuthorizationServer' },
)

/** The metadata of the server, for programs that configure themselves. @see RFC 8414; RFC 9207 section 3 */
export function metadataOf(issuer: string): Static<typeof Metadata> {
  const at = (name: string): string => `${issuer}/api/oauth2/${name}`
  const ways = ['none', 'client_secret_basic', 'client_secret_post']
  return {
    issuer,
    authorization_endpoint: at('auth'),
    token_endpoint: at('token'),
    revocation_endpoint: at('revoke'),
    introspection_endpoint: at('introspect'),
    userinfo_endpoint: at('userinfo'),
    scopes_supported: [...scopes],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'client_credentials', 'password', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ways,
    revocation_endpoint_auth_methods_supported: ways,
    introspection_endpoint_auth_methods_supported: ways,
    authorization_response_iss_parameter_supported: true,
    ui_locales_supported: ['en', 'de'],
  }
}
