import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { AppError } from '../platform/errors.ts'
import { readParameters } from '../platform/http/form.ts'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { onSurface } from '../platform/http/surface.ts'
import { browserHashesOf, forPeople, type Pages, type Sessions, tokenOf } from '../signin/service.ts'
import type { Logout } from './logout.ts'
import { Metadata, metadataOf } from './metadata.ts'
import type { Refreshes } from './refreshes.ts'
import { noStore } from './surface.ts'
import { TokenResponse, tokenAnswer } from './token-answer.ts'
import type { TokenInfo } from './token-info.ts'

export interface FurtherRoutes {
  sessions: Sessions
  refreshes: Refreshes
  tokenInfo: TokenInfo
  logout: Logout
  pages: Pages
  issuer: string
  aliases: readonly string[]
}

const tags = ['oauth2']
const consumes = ['application/x-www-form-urlencoded']

const RefreshRequest = Type.Object(
  {
    refresh_token: Type.Optional(
      Type.Unknown({ description: 'The refresh token; without it the access token of the request is renewed.' }),
    ),
  },
  { additionalProperties: true },
)

const AnyForm = Type.Object({}, { additionalProperties: true })

/** A form without fields is often sent as no body at all. */
async function emptyBody(request: FastifyRequest): Promise<void> {
  request.body ??= {}
}

const UserInfo = Type.Object(
  { sub: Type.String({ description: 'login, else e-mail address, else id' }) },
  { additionalProperties: true, title: 'UserInfo' },
)

/** The routes beside token and authorization endpoint: information about users and about the server, refresh, logout. */
export async function registerFurtherOAuthRoutes(app: HttpApp, given: FurtherRoutes): Promise<void> {
  const { sessions, refreshes, tokenInfo, issuer, aliases } = given
  await registerLogout(app, given)

  app.get(
    '/.well-known/oauth-authorization-server',
    {
      schema: {
        tags,
        operationId: 'getAuthorizationServer',
        summary: 'What the authorization server is and can do',
        description: 'RFC 8414. Programs set themselves up by it.',
        response: { 200: Metadata },
      },
      config: { access: 'public', writes: false },
    },
    async () => metadataOf(issuer),
  )

  app.get(
    '/.well-known/openid-configuration',
    {
      schema: {
        tags,
        operationId: 'getOpenIdConfiguration',
        summary: 'The same, where clients of OpenID Connect look for it',
        description: 'They find the endpoints here. It names no id_token, since there is none.',
        response: { 200: Metadata },
      },
      config: { access: 'public', writes: false },
    },
    async () => metadataOf(issuer),
  )

  for (const method of ['GET', 'POST'] as const) {
    app.route({
      method,
      url: '/api/oauth2/userinfo',
      schema: {
        tags,
        operationId: method === 'GET' ? 'getUserInfo' : 'postUserInfo',
        summary: 'Who the user of the token is',
        description:
          '`sub`, and of the rest what the base configuration names in `openid.userinfo`. Without a valid token 401 `InvalidToken`.',
        response: { 200: UserInfo },
      },
      config: { access: 'session', writes: false },
      handler: async (request, reply) => {
        if (method === 'POST') reply.headers(noStore)
        return tokenInfo.userinfo(actorOf(request)) as Promise<{ sub: string }>
      },
    })
  }

  app.post(
    '/api/oauth2/refresh',
    {
      schema: {
        tags,
        operationId: 'refreshBrowserSession',
        summary: 'New tokens for a session of this browser',
        description:
          'For front ends in a browser: needs the cookie `svc-browser-id` to which the session is bound, and a refresh token in the form or the access token as on every request. A rejected token is 401 `InvalidToken`.',
        consumes,
        body: RefreshRequest,
        response: { 200: TokenResponse },
      },
      config: { access: 'public', writes: false, body: 'none', bodyOptional: true, errors: ['InvalidToken'] },
      preValidation: emptyBody,
    },
    async (request, reply) => {
      const form = readParameters(request.body)
      const issued = await refreshInBrowser(request, form.get('refresh_token'))
      reply.headers(noStore)
      return tokenAnswer(issued)
    },
  )

  async function refreshInBrowser(request: FastifyRequest, refreshToken: string | undefined) {
    const browserHashes = browserHashesOf(request, aliases)
    if (refreshToken !== undefined) {
      const clientId = await sessions.clientOfBoundRefresh(refreshToken)
      if (clientId === null) throw new AppError('InvalidToken')
      const issued = await refreshes.refresh({
        refreshToken,
        clientId,
        scopes: null,
        remoteAddr: request.ip,
        browserHashes,
      })
      if (!issued || typeof issued === 'string') throw new AppError('InvalidToken')
      return issued
    }
    const token = tokenOf(request, aliases)
    if (token === null) throw new AppError('InvalidToken')
    return refreshes.renew(token, await sessions.resolve(token, () => browserHashes), request.ip)
  }
}

/** At both addresses; RFC 6749 does not define one. */
async function registerLogout(app: HttpApp, { logout, pages }: FurtherRoutes): Promise<void> {
  await onSurface(app, { ...forPeople(pages, app.surface), name: 'sign-out' }, (scope) => {
    const config = { access: 'public', writes: false, body: 'none', bodyOptional: true, outlivesClient: true } as const
    const schema = {
      tags,
      summary: 'Sign out in this browser',
      description:
        'The browser no longer stays signed in, and the sessions that are bound to it end. Answers a page, or 204 to programs. A token that is bound to no browser ends by `/oauth2/revoke`. From a link of another site people are asked first.',
      response: {
        200: {
          description: 'For browsers: that it is done, or the question whether it is meant.',
          content: { 'text/html': { schema: Type.Unsafe<unknown>({ type: 'string' }) } },
        },
        204: Type.Unsafe<undefined>({ description: 'no content' }),
        303: Type.Unsafe<undefined>({ description: 'To where the browser signs out besides.' }),
      },
    }
    for (const [url, get, post] of [
      ['/api/oauth2/logout', 'logout', 'postLogout'],
      ['/logout', 'logoutHere', 'postLogoutHere'],
    ] as const) {
      const neverKept = 'what signs out is carried out each time'
      scope.get(url, { schema: { ...schema, operationId: get }, config: { ...config, neverKept } }, (request, reply) =>
        answer(request, reply, null),
      )
      scope.post(
        url,
        { schema: { ...schema, operationId: post, consumes, body: AnyForm }, config, preValidation: emptyBody },
        (request, reply) => answer(request, reply, request.body),
      )
    }

    async function answer(request: FastifyRequest, reply: FastifyReply, body: unknown): Promise<FastifyReply> {
      await logout(pages.visit(request, reply), body === null ? null : readParameters(body))
      return reply
    }
  })
}
