import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { readForm } from '../platform/http/form.ts'
import type { HttpApp } from '../platform/http/http.ts'
import { onSurface } from '../platform/http/surface.ts'
import { browserHashesOf, deviceOf, keepDevice, tokenOf, userAgentOf } from '../signin/service.ts'
import type { OAuth } from './service.ts'
import { noStore, oauthSurface } from './surface.ts'
import { TokenResponse, tokenAnswer } from './token-answer.ts'
import type { TokenInfo } from './token-info.ts'

const parameter = (description: string) => Type.Optional(Type.Unknown({ description }))

/** Parameters by name; readForm checks them, since RFC 6749 has special rules for repeated and empty ones. */
const TokenRequest = Type.Object(
  {
    grant_type: parameter('`authorization_code`, `client_credentials`, `password` or `refresh_token`.'),
    client_id: parameter('The client; also by HTTP Basic.'),
    client_secret: parameter('Its secret, as it is; also by HTTP Basic. Public clients have none.'),
    code: parameter('Grant `authorization_code`: the code, which is used up.'),
    redirect_uri: parameter('Grant `authorization_code`: the same as in the authorization request, if it had one.'),
    code_verifier: parameter('Grant `authorization_code`: what `code_challenge` was made from (RFC 7636).'),
    username: parameter('Grant `password`: login or e-mail of the user.'),
    password: parameter('Grant `password`: the password of the user.'),
    refresh_token: parameter('Grant `refresh_token`: the refresh token, which is used up.'),
    scope: parameter('Scopes separated by spaces: `offline`, `read`, `write`.'),
  },
  { additionalProperties: true },
)

const RevokeRequest = Type.Object(
  {
    token: parameter('The access token or refresh token.'),
    token_type_hint: parameter('`access_token` or `refresh_token`; both are looked for whatever it says.'),
    client_id: parameter('The client, where it is known; also by HTTP Basic.'),
    client_secret: parameter('Its secret, where it has one; also by HTTP Basic.'),
  },
  { additionalProperties: true },
)

const IntrospectRequest = Type.Object(
  {
    token: parameter('The access token or refresh token to look at.'),
    token_type_hint: parameter('`access_token` or `refresh_token`; both are looked for whatever it says.'),
    client_id: parameter('The configured client that asks; also by HTTP Basic.'),
    client_secret: parameter('Its secret, where it has one; also by HTTP Basic.'),
  },
  { additionalProperties: true },
)

const Introspection = Type.Object(
  {
    active: Type.Boolean(),
    scope: Type.Optional(Type.String()),
    client_id: Type.Optional(Type.String()),
    sub: Type.Optional(Type.String({ description: 'login, else e-mail address, else id of the user' })),
    exp: Type.Optional(Type.Integer({ description: 'seconds since 1970' })),
    iat: Type.Optional(Type.Integer({ description: 'seconds since 1970' })),
    token_type: Type.Optional(Type.String({ description: '`bearer` for access tokens' })),
  },
  { title: 'Introspection' },
)

const NoContent = Type.Unsafe<undefined>({ description: 'no content' })

const Failure = Type.Object({ error: Type.String(), error_description: Type.String() }, { additionalProperties: true })

/** The OAuth2 endpoints. */
export async function registerOAuthRoutes(
  app: HttpApp,
  { oauth, tokenInfo, aliases }: { oauth: OAuth; tokenInfo: TokenInfo; aliases: readonly string[] },
): Promise<void> {
  await onSurface(app, oauthSurface(app.surface), (scope) => {
    const tags = ['oauth2']
    // Callers have not signed in yet, so they may not send much. A failed sign-in counts, even if the client disconnects.
    const config = {
      access: 'public',
      writes: false,
      body: 'none',
      outlivesClient: true,
    } as const
    const consumes = ['application/x-www-form-urlencoded']

    scope.post(
      '/api/oauth2/token',
      {
        schema: {
          tags,
          operationId: 'createToken',
          summary: 'Issue tokens',
          description:
            'RFC 6749: the grants `authorization_code`, `client_credentials` (a guest, where the base configuration allows it), `password` and `refresh_token`. A code is used once; a second use ends the session that came of the first. A refresh token comes only with the scope `offline`. After too many wrong passwords from one network the login is blocked there: 429 with `Retry-After`; browsers in which the user has signed in before (cookie `svc-device`) are not concerned. Wrong secrets of a client are counted in the same way, by client and network.',
          consumes,
          body: TokenRequest,
          response: { 200: TokenResponse, 400: Failure, 429: Failure },
        },
        config,
      },
      async (request, reply) => {
        const form = readForm(request.headers['content-type'], request.body)
        const { authorization } = request.headers
        const issued = await oauth.token({
          form,
          authorization,
          remoteAddr: request.ip,
          device: deviceOf(request),
          browserHashes: browserHashesOf(request, aliases),
          userAgent: userAgentOf(request),
        })
        reply.headers(noStore)
        const { device } = issued
        if (device) keepDevice(reply as FastifyReply, device)
        return tokenAnswer(issued)
      },
    )

    scope.post(
      '/api/oauth2/revoke',
      {
        schema: {
          tags,
          operationId: 'revokeToken',
          summary: 'End the session of a token',
          description: 'RFC 7009: signs out. An unknown token is no failure.',
          consumes,
          body: RevokeRequest,
          response: { 200: NoContent, 400: Failure, 429: Failure },
        },
        config,
      },
      async (request, reply) => {
        const form = readForm(request.headers['content-type'], request.body)
        await oauth.revoke({ form, authorization: request.headers.authorization, remoteAddr: request.ip })
        return reply.status(200).headers(noStore).send(undefined)
      },
    )

    scope.post(
      '/api/oauth2/introspect',
      {
        schema: {
          tags,
          operationId: 'introspectToken',
          summary: 'What is behind a token',
          description:
            'RFC 7662, for a configured client (`client_id`, with its secret if it has one) or a user with a token. `active` is false for a token that is unknown, expired, revoked or used, or whose user may not sign in.',
          consumes,
          body: IntrospectRequest,
          response: { 200: Introspection, 400: Failure, 401: Failure, 429: Failure },
        },
        config,
      },
      async (request, reply) => {
        const form = readForm(request.headers['content-type'], request.body)
        reply.headers(noStore)
        return tokenInfo.introspect({
          form,
          authorization: request.headers.authorization,
          token: tokenOf(request, aliases),
          browserHashes: () => browserHashesOf(request, aliases),
          remoteAddr: request.ip,
        })
      },
    )
  })
}
