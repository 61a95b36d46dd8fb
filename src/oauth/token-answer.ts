import { type Static, Type } from 'typebox'
import type { IssuedTokens } from '../signin/service.ts'

export const TokenResponse = Type.Object(
  {
    access_token: Type.String(),
    token_type: Type.Literal('bearer'),
    expires_in: Type.Integer({ description: 'seconds' }),
    scope: Type.String({ description: 'the scopes granted, separated by spaces' }),
    refresh_token: Type.Optional(Type.String({ description: 'only with scope offline' })),
  },
  { title: 'Token' },
)

/** @see RFC 6749 section 5.1 */
export function tokenAnswer(issued: IssuedTokens): Static<typeof TokenResponse> {
  return {
    access_token: issued.accessToken,
    token_type: 'bearer',
    expires_in: issued.expiresIn,
    scope: issued.scopes.join(' '),
    ...(issued.refreshToken === null ? {} : { refresh_token: issued.refreshToken }),
  }
}
